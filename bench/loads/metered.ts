/**
 * A load of our own, in a process of its own, whose beginning and end do not count. In: its command
 * line, and the meter. Out: its report, a line of JSON. It says a line when all is open and what
 * counts begins, its report while all is still open, and ends with its standard input.
 */
import { type Percentiles } from "../percentiles.ts";
import { SpokenProgram } from "../spoken.ts";
import { findInstalled } from "../found.ts";
import type { Load, LoadResult, Meter } from "../model.ts";

/** How a load is found that Deno runs. */
export const RUN_BY_DENO: Pick<Load, "find"> = {
  find: () => findInstalled([Deno.execPath(), "--version"], "deno is not where it was"),
};

/** What all reports tell. */
export interface MeteredReport extends Percentiles {
  readonly errors: number;
  /** In ms, as are the latencies. */
  readonly duration: number;
}

/** What loads of many connections tell besides (`programs/internal/latency`). */
export interface ConnectionsReport extends MeteredReport {
  readonly p90: number;
  readonly max: number;
  /** Answers in all. */
  readonly count: number;
  /** Answers on the connection with the fewest, and on that with the most. */
  readonly fewest: number;
  readonly most: number;
}

/** @param count what of the report is counted. */
export function resultOf(report: MeteredReport | ConnectionsReport, count: number): LoadResult {
  const { duration, p50, p99, p999, errors } = report;
  const result = { count, perSecond: count / (duration / 1000), p50, p99, p999, errors };
  if (!("most" in report)) return result;
  const { p90, max, fewest, most } = report;
  return { ...result, p90, max, fairness: most === 0 ? 0 : fewest / most };
}

/**
 * Throws with what it said where it ends before its report.
 *
 * @param rest for a load that only opens: so many seconds from when memory has settled, all is left
 * alone; then a byte by standard input asks for its report. What counts begins before it opens.
 */
export async function runMetered<Report>(
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  meter: Meter,
  rest: number | null = null,
): Promise<Report> {
  const program = new SpokenProgram(command, environment);
  try {
    await program.line();
    if (rest === null) meter.begin();
    else {
      await meter.rest();
      await new Promise((resolve) => setTimeout(resolve, rest * 1000));
      // Before the load looks at its connections, which is not rest any more.
      meter.end();
      await program.nudge();
    }
    const report = await program.line();
    if (rest === null) meter.end();
    return JSON.parse(report);
  } finally {
    await program.hush();
    await program.gone();
  }
}
