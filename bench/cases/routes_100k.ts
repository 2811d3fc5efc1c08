/** What a request costs when its route has 99,999 neighbours. */
import { H1_SMALL } from "./h1_small.ts";
import { ROUTES_1 } from "./routes_1.ts";
import type { Case } from "../model.ts";

export const ROUTES_100K: Case = {
  ...H1_SMALL,
  name: "routes-100k",
  about: "h1-small over 100,000 routes in turn: 10,000 hosts of 10 paths",
  routes: 100_000,
  baseline: ROUTES_1,
};
