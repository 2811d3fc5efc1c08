/**
 * CPU per request of routes with filters. In: how often and how long. Out: the rounds of each route, in
 * blocks that one process measured, and a table of what each costs beside a plain one.
 *
 * In a round each route has its turn, another one first each time; the process is started anew after
 * every few rounds, as two starts of the same program differ by a per cent or two.
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
}

/** Rounds of each start. */
export interface RouteRounds {
  readonly name: string;
  readonly blocks: readonly (readonly Round[])[];
}

/** As `h1-small`. */
const CONNECTIONS = 32;

/** @param start the proxy, anew. */
export async function measureCosts(
  { rounds, starts, seconds, warmUp }: CostSchedule,
  start: () => Promise<FilterProxy>,
  folder: string,
  say: (doing: string) => void,
): Promise<readonly RouteRounds[]> {
  const all = COST_ROUTES.map((route) => ({ route, blocks: [] as Round[][] }));
  let done = 0;
  for (const count of shares(rounds, starts)) {
    const proxy = await start();
    try {
      for (const { route, blocks } of all) {
        say(`warming up ${route.name}`);
        await measureRoute(proxy, route, warmUp, folder);
        blocks.push([]);
      }
      for (let round = 0; round < count; round++, done++) {
        for (let turn = 0; turn < all.length; turn++) {
          const { route, blocks } = all[(done + turn) % all.length];
          say(`round ${done + 1} of ${rounds}: ${route.name}`);
          blocks.at(-1)!.push(await measureRoute(proxy, route, seconds, folder));
        }
      }
      for (const { route } of all) await verifyRoute(proxy, route);
    } finally {
      await proxy.child.stop();
    }
  }
  return all.map(({ route, blocks }) => ({ name: route.name, blocks }));
}

/** Rounds of each start: as equal as they can be, and at least one. */
export function shares(rounds: number, starts: number): number[] {
  const count = Math.min(rounds, starts);
  return Array.from(
    { length: count },
    (_, i) => Math.floor(rounds * (i + 1) / count) - Math.floor(rounds * i / count),
  );
}

/** Throws where a single request fails or is refused. */
async function measureRoute(
  proxy: FilterProxy,
  route: CostRoute,
  seconds: number,
  folder: string,
): Promise<Round> {
  const { child } = proxy;
  const { name, path, headers } = route;
  const before = child.usage();
  const { count, errors, ...result } = await runWrk({
    url: `http://${formatAddress(addressOf(proxy, route))}${path}`,
    headers: [["Host", hostOf(name)], ...headers],
    ...{ connections: CONNECTIONS, seconds, lua: "" },
  }, join(folder, `${name}.lua`));
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
  const [plain] = all;
  const rows = all.map(({ name, blocks }) => {
    const rounds = blocks.flat();
    const bound = COST_ROUTES.find((route) => route.name === name)?.bound ?? null;
    const cost = [
      name,
      number(median(rounds.map(cpu))),
      number(median(rounds.map(({ user }) => user))),
      number(median(rounds.map(({ system }) => system))),
    ];
    if (name === plain.name) return [...cost, "", "", "", ""];
    const comparison = compare(blocks.map((block, i) => ratios(block, plain.blocks[i])));
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
