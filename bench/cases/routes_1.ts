/** The load of the cases with many routes on a proxy that has one: what those are compared with. */
import { H1_SMALL } from "./h1_small.ts";
import type { Case } from "../model.ts";

export const ROUTES_1: Case = {
  ...H1_SMALL,
  name: "routes-1",
  about: "h1-small with a list of requests, of one host and path",
  routes: 1,
};
