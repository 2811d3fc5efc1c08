/**
 * The results in `docs/promises.md`. In: what promises have come to. Out: Markdown for that page.
 */
import { formatMarkdown, type Table } from "../../../bench/report.ts";
import type { Finding } from "./finding.ts";

/** Where the results begin; they end as in the benchmarks' pages. */
export const PROMISES_BEGIN = "<!-- results: written by deno task e2e:long --write -->";

/**
 * @param date such as `2026-11-21`.
 * @param facts of the machine and the run, as clauses.
 */
export function formatFindings(
  date: string,
  facts: readonly string[],
  findings: readonly Finding[],
): string {
  const measured = `Measured on ${date}:\n\n${facts.map((fact) => `- ${fact}`).join("\n")}`;
  const parts = findings.map((finding) => `### ${finding.promise}\n\n${tableOf(finding)}`);
  return `${[measured, ...parts].join("\n\n")}\n`;
}

function tableOf({ figures, broken }: Finding): string {
  const rows = figures.map(({ name, value, aim, met }) => [
    name,
    aim,
    met ? value : `${value} (missed)`,
  ]);
  const table: Table = [["", "aim", "measured"], ...rows.map((row) => row.map(cell))];
  const why = broken.length === 0 ? "" : `\n\nBroken: ${broken.length} findings.`;
  return `${formatMarkdown(table)}${why}`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
