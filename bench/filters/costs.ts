/**
 * CPU per request of routes with filters. In: how often and how long. Out: the rounds of each route, in
 * blocks that one process measured, and a table of what each costs beside a plain one.
 *
 * In a round each route has its turn, another one first each time; the process is started anew after
 * every few rounds, as two starts of the same program differ by a per cent or two.
 *
 * With `--together` there are two processes, and each turn of a route runs beside one of the plain route
 * in the other process: whatever else the machine does then affects both alike.
 */
import { join } from "node:path";
import { formatAddress } from "../../shared/net/address.ts";
import { compare, judge, type Verdict } from "../comparison.ts";
import { runWrk } from "../loads/wrk.ts";
import { cpu, median, number, ratios, type Round, type Table } from "../report.ts";
import { addressOf, type FilterProxy, verifyRoute } from "./proxy.ts";
import { COST_ROUTES, type CostRoute, hostOf } from "./routes.ts";

export interface CostSchedule {
  readonly rounds: number;
  /** Of the process. */
  readonly starts: number;
  /** Of a turn. */
  readonly seconds: number;
  /** Of each route, before anything counts. */
  readonly warmUp: number;
  /** Each turn beside one of the plain route. */
  readonly together: boolean;
}

/** Rounds of each start. */
export interface RouteRounds {
  readonly name: string;
  readonly blocks: readonly (readonly Round[])[];
  /** The rounds of the plain route that these are compared with. */
  readonly plain: readonly (readonly Round[])[];
}

/** As `h1-small`. */
const CONNECTIONS = 32;

/** @param routes The first one is what the others are compared with. @param start the proxy, anew. */
export async function measureCosts(
  schedule: CostSchedule,
  routes: readonly CostRoute[],
  start: () => Promise<FilterProxy>,
  folder: string,
  say: (doing: string) => void,
): Promise<readonly RouteRounds[]> {
  const { rounds, starts, seconds, warmUp, together } = schedule;
  const [plain] = routes;
  const all = routes.map((route) => ({ route, blocks: [] as Round[][], plain: [] as Round[][] }));
  let done = 0;
  for (const count of shares(rounds, starts)) {
    const proxies: FilterProxy[] = [];
    try {
      while (proxies.length < (together ? 2 : 1)) proxies.push(await start());
      for (const { route, ...measured } of all) {
        say(`warming up ${route.name}`);
        for (const proxy of proxies) await measureRoute(proxy, route, warmUp, folder);
        measured.blocks.push([]);
        measured.plain.push([]);
      }
      for (let round = 0; round < count; round++, done++) {
        for (let turn = 0; turn < all.length; turn++) {
          const { route, ...measured } = all[(done + turn) % all.length];
          // It is measured beside each of the others.
          if (together && route === plain) continue;
          say(`round ${done + 1} of ${rounds}: ${route.name}`);
          // Each process has the route as often as the plain one.
          const [own, other] = done % 2 === 0 ? proxies : proxies.toReversed();
          // The same request, of which only the filters differ.
          const same = { ...plain, headers: route.headers };
          const beside = together ? measureRoute(other, same, seconds, folder, "beside") : null;
          const [ofRoute, ofPlain] = await Promise.all([
            measureRoute(own, route, seconds, folder),
            beside,
          ]);
          measured.blocks.at(-1)!.push(ofRoute);
          if (ofPlain !== null) measured.plain.at(-1)!.push(ofPlain);
        }
      }
      for (const proxy of proxies) for (const { route } of all) await verifyRoute(proxy, route);
    } finally {
      for (const { child } of proxies) await child.stop();
    }
  }
  const [first, second] = all;
  const ofPlain = together ? second.plain : first.blocks;
  return all.map(({ route, blocks, plain: beside }) =>
    route === plain
      ? { name: route.name, blocks: ofPlain, plain: ofPlain }
      : { name: route.name, blocks, plain: together ? beside : ofPlain }
  );
}

/** Rounds of each start: as equal as they can be, and at least one. */
export function shares(rounds: number, starts: number): number[] {
  const count = Math.min(rounds, starts);
  return Array.from(
    { length: count },
    (_, i) => Math.floor(rounds * (i + 1) / count) - Math.floor(rounds * i / count),
  );
}

/**
 * Throws where a single request fails or is refused.
 * @param label another one for each load at the same time.
 */
async function measureRoute(
  proxy: FilterProxy,
  route: CostRoute,
  seconds: number,
  folder: string,
  label = "route",
): Promise<Round> {
  const { child } = proxy;
  const { name, path, headers } = route;
  const before = child.usage();
  const { count, errors, ...result } = await runWrk({
    url: `http://${formatAddress(addressOf(proxy, route))}${path}`,
    headers: [["Host", hostOf(name)], ...headers],
    ...{ connections: CONNECTIONS, seconds, lua: "" },
  }, join(folder, `${name}-${label}.lua`));
  const after = child.usage();
  if (count === 0 || errors > 0) throw new Error(`${name}: ${count} responses, ${errors} errors`);
  return {
    ...result,
    user: (after.user - before.user) / count,
    system: (after.system - before.system) / count,
    ...{ memory: after.memory, heldBytes: null, restCpu: null, errors },
  };
}

const VERDICTS: Readonly<Record<Verdict, string>> = {
  within: "met",
  over: "MISSED",
  open: "not shown",
};

/** A row for each route, with the ratio to the first one, its 95 % interval, and the target. */
export function costTable(all: readonly RouteRounds[]): Table {
  const [first] = all;
  const rows = all.map(({ name, blocks, plain }) => {
    const rounds = blocks.flat();
    const bound = COST_ROUTES.find((route) => route.name === name)?.bound ?? null;
    const cost = [
      name,
      number(median(rounds.map(cpu))),
      number(median(rounds.map(({ user }) => user))),
      number(median(rounds.map(({ system }) => system))),
    ];
    if (name === first.name) return [...cost, "", "", "", ""];
    const comparison = compare(blocks.map((block, i) => ratios(block, plain[i])));
    const { median: ratio, low, high } = comparison;
    return [
      ...cost,
      ratio.toFixed(3),
      `${low.toFixed(3)}–${high.toFixed(3)}`,
      bound === null ? "" : `≤ ${bound.toFixed(2)}`,
      bound === null ? "" : VERDICTS[judge(comparison, bound)],
    ];
  });
  const head = ["route", "CPU µs/request", "user", "system", "× plain", "95 %", "target", ""];
  return [head, ...rows];
}
