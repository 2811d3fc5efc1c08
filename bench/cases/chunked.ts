/** The cost of an answer that comes in small pieces, whose length nobody knows: a page as it is made. */
import { H1_SMALL } from "./h1_small.ts";
import type { Case } from "../model.ts";

export const CHUNKED: Case = {
  ...H1_SMALL,
  name: "chunked",
  about: "GET, 200 with 64 chunks of 1 KiB, each written by itself, HTTP/1.1",
  path: "/chunked",
};
