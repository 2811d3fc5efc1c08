/** What a line in the log costs for each request. */
import { H1_SMALL } from "./h1_small.ts";
import type { Case } from "../model.ts";

export const ACCESS_LOG: Case = {
  ...H1_SMALL,
  name: "access-log",
  about: "h1-small with a line of the access log for each request",
  accessLog: true,
  baseline: H1_SMALL,
};
