/** Lint for programs. In: a result. Out: JSON; fields are added to it, never renamed. */
import { escapeUnsafe } from "../../../shared/log.ts";
import { JSON_VERSION } from "../../terminal/terminal.ts";
import { type LintResult, totalsOf } from "../finding.ts";

export function jsonOutput(result: LintResult): string {
  const value = { v: JSON_VERSION, totals: totalsOf(result), ...result };
  return `${escapeUnsafe(JSON.stringify(value, null, 2))}\n`;
}
