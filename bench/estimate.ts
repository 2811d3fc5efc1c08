/** How long a run takes. In: cases, peers, the schedule. Out: minutes, about. */
import { type Schedule, takesPart, warmUpOf } from "./measure.ts";
import type { Case, Peer } from "./model.ts";

/** To start a proxy and check its answers, and to start and end a load each time, in seconds. */
const START = 0.5;
const EACH = 0.1;

/** Rounds that do not count: saturation, where there is a pace. */
function extraRounds({ pace }: Case): number {
  return pace === undefined ? 0 : 2;
}

/** Until 10,000 connections are open, and the memory of a proxy has settled, in seconds. */
const REST = 40;

/** Whole minutes, up. */
export function estimate(
  cases: readonly Case[],
  peers: readonly Peer[],
  { rounds, seconds }: Schedule,
): number {
  const sum = cases.reduce((all, what) => {
    const proxies = peers.filter((peer) => takesPart(peer, what)).length *
      (what.baseline === undefined ? 1 : 2);
    const times = Math.min(rounds, what.mostRounds ?? Infinity) + extraRounds(what);
    const rest = what.unit === "connection" && what.held !== undefined ? REST : 0;
    // It rests after warming up as well, before what it needs without many connections is known.
    return all +
      proxies * (START + warmUpOf(what, seconds) + rest + times * (seconds + EACH + rest));
  }, 0);
  return Math.ceil(sum / 60);
}
