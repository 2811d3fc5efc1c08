/** Lint for a terminal. In: a result. Out: text, without control characters of the manifests. */
import type { Excerpt } from "../../../dev/manifests/excerpt.ts";
import { formatPosition, type Position } from "../../../dev/manifests/position.ts";
import { printable } from "../../../dev/terminal_text.ts";
import type { Severity } from "../../../shared/problem.ts";
import { entryLines, PLAIN, type Surface } from "../../terminal/problem_text.ts";
import { wrapLine } from "../../terminal/wrapped_lines.ts";
import {
  type Finding,
  type InputProblem,
  type LintResult,
  totalsText,
  type Verdict,
} from "../finding.ts";

export interface LintTerminal extends Surface {
  /** The line of a place; null for one that must not be shown. */
  readonly excerptAt: (at: Position) => Excerpt | null;
}

const NO_TERMINAL: LintTerminal = { ...PLAIN, excerptAt: () => null };

const SEVERITIES: Readonly<Record<Verdict, Severity>> = {
  OPENS: "error",
  BREAKS: "error",
  DIFFERS: "warning",
  SAME: "info",
};

/** Findings that say nothing but "as in ingress-nginx" are left out. */
export function textOutput(result: LintResult, terminal: LintTerminal = NO_TERMINAL): string {
  const { ingresses, cluster, gatewayApi, unreadable, notChecked, always } = result;
  const linesOf = (finding: Finding) => findingLines(finding, terminal);
  const sections = [
    ...section("Not readable", unreadable.flatMap((one) => problemLines(one, "error", terminal))),
    ...section("The installation of ingress-nginx", cluster.flatMap(linesOf)),
    ...[...ingresses, ...gatewayApi].map(({ verdict, name, at, findings }) =>
      [
        ...wrapLine(
          `${verdict.padEnd(7)}  ${printable(name)}${at === null ? "" : `  ${formatPosition(at)}`}`,
          terminal.columns,
        ),
        ...findings.flatMap(linesOf),
      ].join("\n")
    ),
    ...section("Not checked", notChecked.flatMap((one) => problemLines(one, "info", terminal))),
    ...section(
      "For all Ingresses, and in no verdict",
      always.flatMap((text) => wrapLine(`  ${text}`, terminal.columns)),
    ),
    wrapLine(totalsText(result), terminal.columns).join("\n"),
  ];
  return `${sections.join("\n\n")}\n`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}\n${lines.join("\n")}`];
}

function findingLines(
  { verdict, rule, effect, difference, remedy, field, at, lines }: Finding,
  terminal: LintTerminal,
): string[] {
  if (difference === null && remedy === null) return [];
  return [
    ...entryLines({
      severity: SEVERITIES[verdict],
      label: verdict.padEnd(7),
      code: rule,
      places: [placeOf(at, field, terminal)],
      texts: difference === null ? [effect] : [effect, difference],
      remedy,
    }, terminal),
    ...(lines ?? []).flatMap(({ line, directive, remedy }) =>
      wrapLine(`    line ${line} of the snippet, ${directive}: ${remedy}`, terminal.columns)
    ),
  ];
}

function problemLines(
  { message, remedy, at }: InputProblem,
  severity: Severity,
  terminal: LintTerminal,
): string[] {
  const place = at === null ? [] : [placeOf(at, "", terminal)];
  return entryLines(
    { severity, label: "", code: "", places: place, texts: [message], remedy },
    terminal,
  );
}

/** Of a cluster's objects the field, as they stand in no file. */
function placeOf(at: Finding["at"], field: string, { excerptAt }: LintTerminal) {
  return at === null
    ? { text: field, excerpt: null }
    : { text: formatPosition(at), excerpt: excerptAt(at) };
}
