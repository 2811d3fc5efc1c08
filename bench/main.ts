/**
 * `deno task bench`. In: cases and peers. Out: one table a case with CPU per request beside the
 * peers', measured in alternating rounds in the same run; on standard error, how far it is.
 */
import { runCommand } from "./command.ts";
import { runAgainst } from "./against.ts";
import { CASES } from "./case.ts";
import { estimate } from "./estimate.ts";
import { loadFor, missingLoad } from "./load.ts";
import { describeMachine, disturbance } from "./machine.ts";
import { measure, type Schedule, takesPart } from "./measure.ts";
import { type BenchOptions, parseBenchOptions, QUICK_PEERS } from "./options.ts";
import { PEERS } from "./peer.ts";
import { writePerformancePage } from "./performance_page.ts";
import { errorsOf, formatText, notesOf, OURS, type PeerRounds, tableOf } from "./report.ts";
import {
  type CaseResults,
  describeCase,
  describeSchedule,
  RESULTS_FOLDER,
  saveResults,
} from "./results.ts";
import { type Surroundings } from "./start.ts";
import { withSurroundings } from "./surroundings.ts";
import type { Case, Peer } from "./model.ts";

/** Where the run is and what it is made of, the same for all cases. */
interface Run {
  readonly options: BenchOptions;
  readonly machine: string;
  /** What to think of before the figures, or null. */
  readonly disturbed: string | null;
  readonly versions: ReadonlyMap<Peer, string>;
  readonly schedule: Schedule;
  readonly surroundings: Surroundings;
}

/** Throws, at its end, where something could not be measured or was answered with errors. */
async function main(options: BenchOptions): Promise<void> {
  const begin = performance.now();
  const cases = await findCases(options);
  const seconds = Math.max(1, Math.round(options.duration / 1000));
  const { against, pairs, pairsPerStart, together, bound } = options;
  if (against !== undefined) {
    // It is there to fail: what was not measured must not pass.
    if (cases.length < options.cases.length) throw new Error("not all cases can be measured");
    const ratio = bound === undefined ? null : Number(bound);
    const compared = { against, pairs, pairsPerStart, seconds, together, bound: ratio };
    return await runAgainst(cases, compared, options.json);
  }
  const versions = await findPeers(options, cases);
  if (versions.size === 0 || cases.length === 0) return;
  const machine = await describeMachine();
  const schedule = { rounds: options.rounds, seconds };
  console.log(`${machine}; median of ${describeSchedule(schedule)}`);
  for (const [peer, version] of versions) console.log(`  ${peer.name}: ${version}`);
  const disturbed = disturbance();
  if (disturbed !== null) console.log(disturbed);
  console.error(`about ${estimate(cases, [...versions.keys()], schedule)} min`);
  const results: CaseResults[] = [];
  const failures: string[] = [];
  await withSurroundings(async (surroundings) => {
    const run = { options, machine, disturbed, versions, schedule, surroundings };
    for (const [at, what] of cases.entries()) {
      const prefix = `[${at + 1}/${cases.length} ${what.name}]`;
      const say = (doing: string) => console.error(`${clock(begin)} ${prefix} ${doing}`);
      try {
        results.push(await runCase(what, run, say, failures));
      } catch (error) {
        failures.push((error as Error).message);
        say(`failed: ${(error as Error).message}`);
      }
    }
  });
  if (options.json !== undefined) {
    await Deno.writeTextFile(options.json, `${JSON.stringify(results, null, 2)}\n`);
  }
  if (options.write) {
    for (const path of await writePerformancePage()) console.error(`wrote ${path}`);
  }
  if (failures.length > 0) throw new Error(`\n${failures.join("\n")}`);
}

/** One case's table, and its file where results are kept. Throws where there is nothing to tell. */
async function runCase(
  what: Case,
  { options, machine, disturbed, versions, schedule, surroundings }: Run,
  say: (doing: string) => void,
  failures: string[],
): Promise<CaseResults> {
  const peers = [...versions.keys()].filter((peer) => takesPart(peer, what));
  if (peers.length === 0) throw new Error(`${what.name}: nobody here can do it`);
  const rounds = Math.min(schedule.rounds, what.mostRounds ?? Infinity);
  const measured = await measure(what, peers, { ...schedule, rounds }, surroundings, say);
  failures.push(...measured.leftOut);
  if (measured.peers.length === 0) throw new Error(`${what.name}: no proxy could be measured`);
  const names = new Set(measured.peers.map(({ peer }) => peer));
  const found = await loadFor(what).find();
  const results: CaseResults = {
    case: what.name,
    about: describeCase(what),
    unit: what.unit,
    connections: what.connections,
    streams: what.streams,
    baseline: what.baseline?.about ?? null,
    pace: what.pace ?? null,
    rate: measured.rate,
    date: new Date().toISOString().slice(0, 10),
    machine,
    disturbance: disturbed,
    schedule: { ...schedule, rounds },
    load: found.kind === "found" ? found.version : "",
    versions: Object.fromEntries(
      [...versions].flatMap(([{ name }, version]) => names.has(name) ? [[name, version]] : []),
    ),
    peers: measured.peers,
  };
  const rate = measured.rate === null ? "" : `; ${measured.rate} requests/s offered to each`;
  console.log(`\n${what.name}: ${results.about}${rate}\n${formatText(tableOf(results))}`);
  for (const note of notesOf(measured.peers)) console.log(`note: ${note}`);
  const wrong = measured.peers.filter((one) => isWrong(one, what));
  const failed = measured.peers.filter(({ peer, rounds }) => peer === OURS && errorsOf(rounds) > 0);
  for (const { peer } of new Set([...wrong, ...failed])) {
    failures.push(`${what.name} through ${peer}: errors`);
  }
  if (options.write && wrong.length === 0) await saveResults(results, RESULTS_FOLDER);
  return results;
}

/**
 * Such figures say nothing: a fast refusal must not pass for speed. What a proxy loses because of
 * what goes on beside the load is a result, ours too: it is kept, or its mark could never be missed.
 */
function isWrong({ rounds, baseline }: PeerRounds, { beside }: Case): boolean {
  return errorsOf(beside === undefined ? rounds : []) + errorsOf(baseline ?? []) > 0;
}

/** The peers that have a part in a case, with their versions; says which are not there. */
async function findPeers(
  options: BenchOptions,
  cases: readonly Case[],
): Promise<Map<Peer, string>> {
  const found = new Map<Peer, string>();
  for (const peer of PEERS.filter((one) => cases.some((what) => takesPart(one, what)))) {
    const wanted = options.peer.length > 0 ? options.peer : options.quick ? QUICK_PEERS : null;
    if (wanted !== null && !wanted.includes(peer.name)) continue;
    const answer = await peer.find(!options.quick);
    if (answer.kind === "found") found.set(peer, answer.version);
    else if (answer.kind === "missing") console.log(`skipped: ${peer.name}: ${answer.remedy}`);
    else console.log(`left out: ${peer.name}: ${answer.why}`);
  }
  return found;
}

/** The cases whose load is installed; says which are not. */
async function findCases(options: BenchOptions): Promise<Case[]> {
  const found: Case[] = [];
  for (const what of CASES.filter(({ name }) => options.cases.includes(name))) {
    const missing = await missingLoad(what);
    if (missing !== null) console.log(`skipped: ${what.name}: ${missing}`);
    else found.push(what);
  }
  return found;
}

/** How long it has run: `03:15`. */
function clock(begin: number): string {
  const seconds = Math.floor((performance.now() - begin) / 1000);
  return [Math.floor(seconds / 60), seconds % 60].map((one) => String(one).padStart(2, "0"))
    .join(":");
}

await runCommand(parseBenchOptions(Deno.args), main);
