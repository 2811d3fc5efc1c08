/** What a thousand slow clients cost the others: CPU per request, and latency. */
import { TRICKLERS } from "../besides/tricklers.ts";
import { H1_SMALL } from "./h1_small.ts";
import type { Case } from "../model.ts";

export const SLOW_CLIENTS: Case = {
  ...H1_SMALL,
  name: "slow-clients",
  about: "GET, 200 with 6 bytes, HTTP/1.1, beside 1,000 clients that trickle",
  baseline: H1_SMALL,
  beside: TRICKLERS,
};
