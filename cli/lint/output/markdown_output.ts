/** Lint for a pull request or a ticket. In: a result. Out: Markdown, with all texts escaped. */
import { formatPosition } from "../../../dev/manifests/position.ts";
import { printable } from "../../../dev/terminal_text.ts";
import { type Finding, type InputProblem, type LintResult, totalsText } from "../finding.ts";

export function markdownOutput(result: LintResult): string {
  const { ingresses, cluster, gatewayApi, unreadable, notChecked, always } = result;
  return [
    "# Ingresses of ingress-nginx on Pingress",
    totalsText(result),
    ...section("Not readable", problemTable(unreadable)),
    ...section("The installation of ingress-nginx", findingTable(cluster)),
    ...(ingresses.length === 0 ? [] : [
      [
        "| verdict | Ingress | place |",
        "| --- | --- | --- |",
        ...ingresses.map(({ verdict, name, at }) => row([verdict, name, place(at)])),
      ].join("\n"),
    ]),
    ...[...ingresses, ...gatewayApi].flatMap(({ name, verdict, findings }) =>
      section(`${verdict}: ${cell(name)}`, findingTable(findings))
    ),
    ...section("Not checked", problemTable(notChecked)),
    ...section("For all Ingresses, and in no verdict", always.map((text) => `- ${cell(text)}`)),
  ].join("\n\n") + "\n";
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, lines.join("\n")];
}

function findingTable(findings: readonly Finding[]): string[] {
  const shown = findings.filter(({ difference, remedy }) => difference !== null || remedy !== null);
  if (shown.length === 0) return [];
  return [
    "| verdict | place | in ingress-nginx | here | remedy |",
    "| --- | --- | --- | --- | --- |",
    ...shown.flatMap(({ verdict, field, at, effect, difference, remedy, lines }) => [
      row([verdict, at === null ? field : place(at), effect, difference ?? "", remedy ?? ""]),
      ...(lines ?? []).map(({ line, directive, remedy }) =>
        row(["", `line ${line} of the snippet`, directive, "", remedy])
      ),
    ]),
  ];
}

function problemTable(problems: readonly InputProblem[]): string[] {
  if (problems.length === 0) return [];
  return [
    "| place | problem | remedy |",
    "| --- | --- | --- |",
    ...problems.map(({ at, message, remedy }) => row([place(at), message, remedy])),
  ];
}

function row(cells: readonly string[]): string {
  return `| ${cells.map(cell).join(" | ")} |`;
}

/** Text that stands as it is: neither markup nor HTML. */
function cell(text: string): string {
  return printable(text).replace(/[\\`*_[\]|<>&#!~@]/g, "\\$&");
}

function place(at: Finding["at"]): string {
  return at === null ? "" : formatPosition(at);
}
