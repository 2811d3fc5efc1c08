/**
 * The results in `docs/bench.md`. In: the page, and what a run has found. Out: the page with this in
 * place of what stood between its two markers.
 */
import { type Case } from "./case.ts";
import { formatMarkdown, type Table } from "./report.ts";

export const BEGIN = "<!-- results: written by deno task bench --write -->";
export const END = "<!-- end of results -->";

export interface CaseResult {
  readonly what: Case;
  readonly table: Table;
}

export interface RunResults {
  /** `2026-11-21`. */
  readonly date: string;
  readonly machine: string;
  /** What each peer says about itself, by its name. */
  readonly versions: ReadonlyMap<string, string>;
  /** `5 rounds of 5 s`. */
  readonly schedule: string;
  readonly cases: readonly CaseResult[];
}

export function describeCase({ about, connections, workers }: Case): string {
  const loops = workers === 1 ? "1 worker" : `${workers} workers`;
  return `${about}; ${connections} connections, ${loops}`;
}

/** Null where the page lacks the markers. */
export function replaceResults(page: string, results: RunResults): string | null {
  return replaceMarked(page, BEGIN, formatResults(results));
}

/** The page with `text` between the marker `begin` and `END`; null where it lacks them. */
export function replaceMarked(page: string, begin: string, text: string): string | null {
  const from = page.indexOf(begin);
  const to = page.indexOf(END);
  if (from === -1 || to < from) return null;
  return `${page.slice(0, from + begin.length)}\n\n${text}\n${page.slice(to)}`;
}

function formatResults({ date, machine, versions, schedule, cases }: RunResults): string {
  const peers = [...versions].map(([name, version]) => `- ${name}: ${version}\n`).join("");
  const tables = cases.map(({ what, table }) =>
    `### ${what.name}\n\n${describeCase(what)}.\n\n${formatMarkdown(table)}\n`
  );
  return `Measured on ${date}; ${machine}; median of ${schedule}.\n\n${peers}\n${
    tables.join("\n")
  }`;
}
