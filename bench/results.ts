/**
 * What a run has found, as it is kept. In: the rounds of a case, and where and when they were
 * measured. Out: one file of JSON a case, and all files of a folder.
 */
import { join } from "node:path";
import { CASES } from "./case.ts";
import { type Schedule } from "./measure.ts";
import { type PeerRounds } from "./report.ts";
import type { Case, Unit } from "./model.ts";

/** Where results are kept in the repository. */
export const RESULTS_FOLDER = new URL("results/", import.meta.url).pathname;

export interface CaseResults {
  /** The case's name. */
  readonly case: string;
  /** For people, what it is, with its width. */
  readonly about: string;
  readonly unit: Unit;
  readonly connections: number;
  /** On each of them. */
  readonly streams: number;
  /** What the baseline is, for people; null where the case has none. */
  readonly baseline: string | null;
  /** Share of saturation that was offered, and the requests a second which that was; or null. */
  readonly pace: number | null;
  readonly rate: number | null;
  /** `2026-11-21`. */
  readonly date: string;
  readonly machine: string;
  /** That the machine was not at rest when it began; null where it was. */
  readonly disturbance: string | null;
  readonly schedule: Schedule;
  /** What the load's program says about itself. */
  readonly load: string;
  /** What each peer says about itself, by its name. */
  readonly versions: Readonly<Record<string, string>>;
  readonly peers: readonly PeerRounds[];
}

export function describeCase({ about, connections, streams, workers }: Case): string {
  const loops = workers === 1 ? "1 worker" : `${workers} workers`;
  const width = streams === 1
    ? `${connections} connections`
    : `${connections} × ${streams} streams`;
  return `${about}; ${width}, ${loops}`;
}

/** `5 rounds of 3 s`. */
export function describeSchedule({ rounds, seconds }: Schedule): string {
  return `${rounds} rounds of ${seconds} s`;
}

/** Digits that are kept of a number: more than the clock of CPU time has. */
const DIGITS = 6;

/** A round on each line, so that a change can be read. */
export function serialiseResults(results: CaseResults): string {
  const short = (_: string, value: unknown) =>
    typeof value === "number" ? Number(value.toPrecision(DIGITS)) : value;
  const { peers, ...rest } = results;
  const head = JSON.stringify(rest, short, 2).slice(0, -2);
  const lines = peers.map(({ peer, rounds, baseline, saturation }) => {
    const list = (all: readonly unknown[] | null) =>
      all === null
        ? "null"
        : `[\n${all.map((one) => `        ${JSON.stringify(one, short)}`).join(",\n")}\n      ]`;
    return `    {
      "peer": ${JSON.stringify(peer)},
      "rounds": ${list(rounds)},
      "baseline": ${list(baseline)},
      "saturation": ${JSON.stringify(saturation, short)}
    }`;
  });
  return `${head},\n  "peers": [\n${lines.join(",\n")}\n  ]\n}\n`;
}

export async function saveResults(results: CaseResults, folder: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(join(folder, `${results.case}.json`), serialiseResults(results));
}

/** Those of the cases that there are, in their order; throws where a file cannot be read. */
export async function loadResults(folder: string): Promise<CaseResults[]> {
  const found: CaseResults[] = [];
  for (const { name } of CASES) {
    try {
      found.push(JSON.parse(await Deno.readTextFile(join(folder, `${name}.json`))));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return found;
}
