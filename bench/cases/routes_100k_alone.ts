/**
 * What of `routes-100k` the routes alone cost: beside the same requests to a proxy that has one route.
 * `routes-1` asks for one host and path, so its neighbour also pays for requests that differ: for
 * strings that cannot be used again, and for a list of 100,000 that the load reads beside it.
 */
import { ROUTES_1 } from "./routes_1.ts";
import { ROUTES_100K } from "./routes_100k.ts";
import type { Case } from "../model.ts";

export const ROUTES_100K_ALONE: Case = {
  ...ROUTES_100K,
  name: "routes-100k-alone",
  about: "routes-100k, beside the same requests to one route",
  baseline: {
    ...ROUTES_1,
    about: "h1-small with the requests of routes-100k, to one route",
    requests: 100_000,
  },
};
