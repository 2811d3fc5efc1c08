/** What a request costs when its route has 9,999 neighbours. */
import { H1_SMALL } from "./h1_small.ts";
import { ROUTES_1 } from "./routes_1.ts";
import type { Case } from "../model.ts";

export const ROUTES_10K: Case = {
  ...H1_SMALL,
  name: "routes-10k",
  about: "h1-small over 10,000 routes in turn: 1,000 hosts of 10 paths",
  routes: 10_000,
  baseline: ROUTES_1,
};
