/** Lint for programs. In: a result. Out: JSON; fields are added to it, never renamed. */
import { JSON_VERSION } from "../../terminal/terminal.ts";
import { type LintResult, totalsOf } from "../finding.ts";

export function jsonOutput(result: LintResult): string {
  return `${JSON.stringify({ v: JSON_VERSION, totals: totalsOf(result), ...result }, null, 2)}\n`;
}
