/**
 * What floods do to others. In: how often and how long. Out: of a plain route that gets requests at a
 * constant rate, the latencies beside each flood, beside a busy core, and alone; and what the floods get.
 *
 * A flood of wrong logins keeps one thread busy, and whoever sends a flood needs time of the machine, too. So
 * a plain route is compared with its control: the same requests to the plain route, beside a program that
 * does nothing but use one core. What a flood costs beyond that is the filters' own.
 */
import { join } from "node:path";
import { Child } from "../child.ts";
import { compare, judge } from "../comparison.ts";
import { runOpenLoop } from "../loads/open_loop.ts";
import { median, number, type Table } from "../report.ts";
import { SpokenProgram } from "../spoken.ts";
import type { LoadResult, Meter } from "../model.ts";
import type { Flow, FlowReport, StatusReport } from "./flood_load.ts";
import type { FilterProxy } from "./proxy.ts";
import { EVIL_PATH, hostOf, LOGIN, OTHER_USER } from "./routes.ts";

export interface FloodSchedule {
  readonly rounds: number;
  /** Of the plain load, in each round beside each flood. */
  readonly seconds: number;
  /** Of the plain load: requests a second. */
  readonly rate: number;
}

type Flood = "wrong logins" | "evil regex";
type Control = "logins without filter" | "paths without filter";
type Scenario = "alone" | "busy core" | Flood | Control;

export const SCENARIOS: readonly Scenario[] = [
  ...["alone", "busy core", "wrong logins", "logins without filter"] as const,
  ...["evil regex", "paths without filter"] as const,
];

const CONTROLS: Readonly<Record<Flood, Control>> = {
  "wrong logins": "logins without filter",
  "evil regex": "paths without filter",
};

function isFlood(scenario: Scenario): scenario is Flood {
  return Object.hasOwn(CONTROLS, scenario);
}

export interface FloodRound {
  readonly plain: LoadResult;
  readonly flows: readonly FlowReport[];
}

export type FloodRounds = Readonly<Record<Scenario, readonly FloodRound[]>>;

/** Requests a second. */
const LOGIN_RATE = 200;
const KNOWN_RATE = 20;
const REGEX_RATE = 100;

/** Addresses that guess: enough to fill the queue, of which each may have a small part. */
const GUESSERS = 50;

/** Of the plain load. */
const CONNECTIONS = 32;

/** From when a flood begins until what counts begins, in ms: until queues are full. */
const SETTLING = 1000;

const FLOOD_LOAD = new URL("flood_load.ts", import.meta.url).pathname;

/** In each round each scenario once, another one first each time. */
export async function measureFloods(
  { rounds, seconds, rate }: FloodSchedule,
  proxy: FilterProxy,
  folder: string,
  say: (doing: string) => void,
): Promise<FloodRounds> {
  const all: Record<Scenario, FloodRound[]> = {
    ...{ "alone": [], "busy core": [], "wrong logins": [], "logins without filter": [] },
    ...{ "evil regex": [], "paths without filter": [] },
  };
  say("warming up");
  await plainLoad(proxy, Math.max(1, Math.min(5, seconds)), rate, folder);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < SCENARIOS.length; turn++) {
      const scenario = SCENARIOS[(round + turn) % SCENARIOS.length];
      say(`round ${round + 1} of ${rounds}: ${scenario}`);
      all[scenario].push(
        await beside(scenario, proxy, folder, () => plainLoad(proxy, seconds, rate, folder)),
      );
    }
  }
  return all;
}

async function beside(
  scenario: Scenario,
  { address }: FilterProxy,
  folder: string,
  measure: () => Promise<LoadResult>,
): Promise<FloodRound> {
  // Both controls have it, though regular expressions keep no core busy.
  const busy = scenario === "alone" || isFlood(scenario)
    ? null
    : Child.start(["sh", "-c", "while :; do :; done"]);
  try {
    const flows = FLOWS[scenario];
    return flows.length === 0
      ? { plain: await settled(scenario, measure), flows: [] }
      : await besideFlows(flows, address, folder, measure);
  } finally {
    await busy?.stop();
  }
}

async function settled<T>(scenario: Scenario, measure: () => Promise<T>): Promise<T> {
  if (scenario !== "alone") await settle();
  return await measure();
}

async function besideFlows(
  flows: readonly Flow[],
  address: FilterProxy["address"],
  folder: string,
  measure: () => Promise<LoadResult>,
): Promise<FloodRound> {
  const file = join(folder, "flood.json");
  await Deno.writeTextFile(file, JSON.stringify({ port: address.port, flows }));
  const flood = new SpokenProgram([
    ...[Deno.execPath(), "run", "--quiet", `--allow-read=${file}`, "--allow-ffi"],
    ...[FLOOD_LOAD, file],
  ]);
  try {
    await flood.line();
    await settle();
    const plain = await measure();
    await flood.hush();
    // It waits for all that are in the proxy's queue, so that the next one finds it empty.
    return { plain, flows: JSON.parse(await flood.line()) };
  } catch (error) {
    flood.kill();
    throw error;
  } finally {
    await flood.gone();
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLING));
}

/** Throws where a single request fails. */
async function plainLoad(
  { address }: FilterProxy,
  seconds: number,
  rate: number,
  folder: string,
): Promise<LoadResult> {
  const meter: Meter = { begin: () => {}, rest: () => Promise.resolve(), end: () => {} };
  const requests = [{ host: hostOf("plain"), path: "/small" }];
  const plan = {
    ...{ port: address.port, tls: null, connections: CONNECTIONS, isNewEach: false },
    ...{ seconds, rate, requests },
  };
  const result = await runOpenLoop(plan, join(folder, "plain.plan.json"), {}, meter);
  if (result.errors > 0) throw new Error(`the plain route: ${result.errors} errors`);
  return result;
}

function requestText(host: string, path: string, client: string, authorization?: string): string {
  const line = authorization === undefined ? "" : `Authorization: ${authorization}\r\n`;
  return `GET ${path} HTTP/1.1\r\nHost: ${hostOf(host)}\r\nX-Forwarded-For: ${client}\r\n${line}` +
    "Connection: close\r\n\r\n";
}

const WRONG_LOGINS: Flow = {
  name: "wrong logins",
  rate: LOGIN_RATE,
  requests: Array.from({ length: 1000 }, (_, i) => {
    const login = `Basic ${btoa(`${OTHER_USER}:guess ${i}`)}`;
    return requestText("basic-auth", "/small", `10.9.0.${1 + i % GUESSERS}`, login);
  }),
};

const KNOWN_USER: Flow = {
  name: "known user",
  rate: KNOWN_RATE,
  requests: [requestText("basic-auth", "/small", "10.9.1.1", LOGIN)],
};

const EVIL_REGEX: Flow = {
  name: "evil regex",
  rate: REGEX_RATE,
  requests: [requestText("evil", EVIL_PATH, "10.9.0.1")],
};

/** The same requests to the route without filters. */
function withoutFilter({ name, rate, requests }: Flow, host: string): Flow {
  const plain = requests.map((text) =>
    text.replace(`Host: ${hostOf(host)}`, `Host: ${hostOf("plain")}`)
  );
  return { name: `${name}, plain`, rate, requests: plain };
}

const FLOWS: Readonly<Record<Scenario, readonly Flow[]>> = {
  "alone": [],
  "busy core": [],
  "wrong logins": [WRONG_LOGINS, KNOWN_USER],
  "logins without filter": [WRONG_LOGINS, KNOWN_USER].map((flow) =>
    withoutFilter(flow, "basic-auth")
  ),
  "evil regex": [EVIL_REGEX],
  "paths without filter": [withoutFilter(EVIL_REGEX, "evil")],
};

/** What the p99 of a plain route may be at most, of that beside the control of the flood. */
const BOUND = 2;

/** Latencies of the plain route: a row for each scenario. */
export function plainTable(rounds: FloodRounds): Table {
  const p99 = (scenario: Scenario) => rounds[scenario].map(({ plain }) => plain.p99);
  const over = (flood: Flood, base: Scenario) => {
    const those = p99(base);
    return compare([p99(flood).map((one, i) => one / those[i])]);
  };
  const rows = SCENARIOS.map((scenario) => {
    const all = rounds[scenario].map(({ plain }) => plain);
    const cells = [
      scenario,
      number(median(all.map(({ perSecond }) => perSecond))),
      number(median(all.map((one) => one.p50))),
      number(median(p99(scenario))),
    ];
    if (!isFlood(scenario)) return [...cells, "", "", "", ""];
    const comparison = over(scenario, CONTROLS[scenario]);
    const interval = `${comparison.low.toFixed(2)}–${comparison.high.toFixed(2)}`;
    const verdict = { within: "met", over: "MISSED", open: "not shown" }[judge(comparison, BOUND)];
    return [
      ...cells,
      over(scenario, "busy core").median.toFixed(2),
      ...[comparison.median.toFixed(2), interval, `≤ ${BOUND}: ${verdict}`],
    ];
  });
  const head = ["plain route beside", "requests/s", "p50 ms", "p99 ms", "p99 × busy core"];
  return [[...head, "× control", "95 %", "target"], ...rows];
}

/** What floods get: a row for each status of each flow, over all rounds. */
export function flowTable(rounds: FloodRounds): Table {
  const reports = SCENARIOS.flatMap((scenario) => rounds[scenario].flatMap(({ flows }) => flows));
  const names = [...new Set(reports.map(({ name }) => name))];
  const rows = names.flatMap((name) => {
    const own = reports.filter((report) => report.name === name);
    const failed = own.reduce((sum, report) => sum + report.failed, 0);
    const statuses = own.flatMap((report) => report.statuses);
    const known = [...new Set(statuses.map(({ status }) => status))].sort((a, b) => a - b);
    const row = (status: number) => {
      const those = statuses.filter((each) => each.status === status);
      const sum = (of: (each: StatusReport) => number) =>
        those.reduce((total, each) => total + of(each), 0);
      return [
        ...[name, String(status), String(sum(({ count }) => count))],
        String(sum(({ retryAfter }) => retryAfter)),
        number(median(those.map(({ p50 }) => p50))),
        number(median(those.map(({ p99 }) => p99))),
        number(Math.max(...those.map(({ max }) => max))),
      ];
    };
    const broken = failed === 0 ? [] : [[name, "none", String(failed), "", "", "", ""]];
    return [...known.map(row), ...broken];
  });
  const head = ["flood", "status", "responses", "Retry-After", "p50 ms", "p99 ms", "longest ms"];
  return [head, ...rows];
}
