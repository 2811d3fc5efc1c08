/** Lint for programs. In: a result. Out: JSON; fields are added to it, never renamed. */
import { type LintResult, totalsOf } from "../finding.ts";

export function jsonOutput(result: LintResult): string {
  return `${JSON.stringify({ totals: totalsOf(result), ...result }, null, 2)}\n`;
}
