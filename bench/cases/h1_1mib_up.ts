/** The cost of bytes from a client to a backend. */
import { H1_DOWN } from "./h1_1mib_down.ts";
import type { Case } from "../model.ts";

export const H1_UP: Case = {
  ...H1_DOWN,
  name: "h1-1mib-up",
  about: "POST of 1 MiB, 200 with 6 bytes, HTTP/1.1",
  path: "/upload",
  uploadBytes: 1024 * 1024,
};
