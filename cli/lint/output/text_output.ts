/** Lint for a terminal. In: a result. Out: text, without control characters of the manifests. */
import { formatPosition } from "../../../dev/manifests/position.ts";
import { printable } from "../../../dev/terminal_text.ts";
import { type Finding, type InputProblem, type LintResult, totalsText } from "../finding.ts";

/** Findings that say nothing but "as in ingress-nginx" are left out. */
export function textOutput(result: LintResult): string {
  const { ingresses, cluster, gatewayApi, unreadable, notChecked, always } = result;
  const sections = [
    ...section("Not readable", unreadable.flatMap(problemLines)),
    ...section("The installation of ingress-nginx", cluster.flatMap(findingLines)),
    ...[...ingresses, ...gatewayApi].map(({ verdict, name, at, findings }) =>
      [
        `${verdict.padEnd(7)}  ${printable(name)}${at === null ? "" : `  ${formatPosition(at)}`}`,
        ...findings.flatMap(findingLines),
      ].join("\n")
    ),
    ...section("Not checked", notChecked.flatMap(problemLines)),
    ...section("For all Ingresses, and in no verdict", always.map((text) => `  ${text}`)),
    totalsText(result),
  ];
  return `${sections.join("\n\n")}\n`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}\n${lines.join("\n")}`];
}

function findingLines(
  { verdict, effect, difference, remedy, field, at, lines }: Finding,
): string[] {
  if (difference === null && remedy === null) return [];
  return [
    `  ${verdict.padEnd(7)}  ${place(at, field)}`,
    `    ${printable(effect)}`,
    ...(difference === null ? [] : [`    ${printable(difference)}`]),
    ...(remedy === null ? [] : [`    → ${printable(remedy)}`]),
    ...(lines ?? []).map(({ line, directive, remedy }) =>
      `    line ${line} of the snippet, ${directive}: ${remedy}`
    ),
  ];
}

function problemLines({ message, remedy, at }: InputProblem): string[] {
  return [
    ...(at === null ? [] : [`  ${place(at, "")}`]),
    `    ${printable(message)}`,
    `    → ${printable(remedy)}`,
  ];
}

/** Of a cluster's objects the field, as they stand in no file. */
function place(at: Finding["at"], field: string): string {
  return printable(at === null ? field : formatPosition(at));
}
