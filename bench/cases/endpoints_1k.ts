/** What choosing among many endpoints costs, with a pool of connections for each. */
import { H1_SMALL } from "./h1_small.ts";
import type { Case } from "../model.ts";

export const ENDPOINTS_1K: Case = {
  ...H1_SMALL,
  name: "endpoints-1k",
  about: "h1-small to a Service of 1,000 endpoints, each an address of its own",
  endpoints: 1000,
  baseline: H1_SMALL,
};
