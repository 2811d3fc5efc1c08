/** The results in `bench/controller/README.md`. In: a run's result. Out: Markdown for that page. */
import { formatMarkdown } from "../report.ts";
import type { RunResult } from "./run.ts";
import { calls, figures } from "./tables.ts";

/** Where the results begin; they end as in the other benchmark's page. */
export const CONTROLLER_BENCH_BEGIN =
  "<!-- results: written by deno task bench:controller --write -->";

/**
 * @param date such as `2026-11-21`.
 * @param facts of the machine and the cluster, as clauses.
 */
export function formatResults(date: string, facts: readonly string[], result: RunResult): string {
  // A list, whose lines are short enough for the formatter whatever the facts are.
  const measured = `Measured on ${date}:\n\n${facts.map((fact) => `- ${fact}`).join("\n")}`;
  const tables = [figures(result), calls(result)].map(formatMarkdown);
  return `${[measured, ...tables].join("\n\n")}\n`;
}
