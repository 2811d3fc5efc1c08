/**
 * Many routes. In: how many. Out: the hosts and paths that every proxy is given, those after a
 * change, and the requests that meet each of them once.
 */
import type { Case } from "./model.ts";

export interface BenchRoute {
  readonly host: string;
  /** A prefix by whole segments; the backend answers to it and to whatever is below. */
  readonly path: string;
}

/** Paths on each host, so that both tables grow: 100,000 routes are 10,000 hosts. */
const PATHS = 10;

/**
 * So many different routes, host by host; of a single one the host is never compared: proxies take
 * it as `*` and `/`.
 */
export function routesOf(count: number): BenchRoute[] {
  return Array.from({ length: count }, (_, index) => ({
    host: `h${Math.floor(index / PATHS)}.bench.test`,
    path: `/small/p${index % PATHS}`,
  }));
}

/**
 * The same after so many changes of one route: beside those that requests are for there is one more,
 * which each change moves to another host. So every request has an answer at any time, and whether a
 * change is in force can be seen.
 */
export function routesAt(count: number, turn: number): BenchRoute[] {
  const routes = routesOf(count);
  const { host } = movingRoute(count, turn);
  const last = routes.findLastIndex((route) => route.host === host);
  return routes.toSpliced(last + 1, 0, movingRoute(count, turn));
}

/** Where the one stands that moves. */
export function movingRoute(count: number, turn: number): BenchRoute {
  const hosts = Math.ceil(count / PATHS);
  return { host: `h${(turn * stepFor(hosts)) % hosts}.bench.test`, path: "/small/moving" };
}

/**
 * One request to each route of a case, or to as many as it says, in an order in which neighbours in
 * the configuration stand far apart: a proxy must find each as if by itself. Empty where a case says
 * neither.
 */
export function requestsOf(
  { routes, requests = routes }: Pick<Case, "routes" | "requests">,
): BenchRoute[] {
  if (requests === undefined) return [];
  const all = routesOf(requests);
  const step = stepFor(all.length);
  return all.map((_, index) => all[(index * step) % all.length]);
}

/** Near the golden section of `count`, and with no divisor in common, so that none is left out. */
function stepFor(count: number): number {
  let step = Math.max(1, Math.round(count * 0.618));
  while (greatestDivisor(step, count) > 1) step++;
  return step;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
