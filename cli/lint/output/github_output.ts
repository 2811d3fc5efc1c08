/**
 * Lint for GitHub's workflows. In: a result. Out: workflow commands, which GitHub shows beside lines.
 *
 * https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
 */
import { printable } from "../../../dev/terminal_text.ts";
import {
  type Finding,
  type InputProblem,
  type LintResult,
  totalsText,
  type Verdict,
} from "../finding.ts";

const COMMANDS: Readonly<Record<Verdict, "error" | "warning" | "notice">> = {
  OPENS: "error",
  BREAKS: "error",
  DIFFERS: "warning",
  SAME: "notice",
};

export function githubOutput(result: LintResult): string {
  const { ingresses, cluster, gatewayApi, unreadable, notChecked } = result;
  const lines = [
    ...unreadable.map((problem) => ofProblem("error", "not readable", problem)),
    ...cluster.flatMap((finding) => ofFinding("ingress-nginx", finding)),
    ...[...ingresses, ...gatewayApi].flatMap(({ name, findings }) =>
      findings.flatMap((finding) => ofFinding(name, finding))
    ),
    ...notChecked.map((problem) => ofProblem("notice", "not checked", problem)),
    totalsText(result),
  ];
  return `${lines.join("\n")}\n`;
}

function ofFinding(
  name: string,
  { verdict, effect, difference, remedy, at, lines }: Finding,
): string[] {
  if (difference === null && remedy === null) return [];
  const texts = [
    effect,
    ...(difference === null ? [] : [difference]),
    ...(remedy === null ? [] : [remedy]),
    ...(lines ?? []).map(({ line, directive, remedy }) =>
      `line ${line} of the snippet, ${directive}: ${remedy}`
    ),
  ];
  return [command(COMMANDS[verdict], `${verdict}: ${name}`, texts, at)];
}

function ofProblem(
  kind: "error" | "notice",
  title: string,
  { message, remedy, at }: InputProblem,
): string {
  return command(kind, title, [message, remedy], at);
}

function command(kind: string, title: string, texts: readonly string[], at: Finding["at"]): string {
  const properties = [
    ...(at === null
      ? []
      : [`file=${property(plain(at.file))}`, `line=${at.line}`, `col=${at.column}`]),
    `title=${property(plain(title))}`,
  ];
  return `::${kind} ${properties.join(",")}::${data(texts.map(plain).join("\n"))}`;
}

/** Lines as they are, and none of what a terminal, or the log of a workflow, acts on. */
function plain(text: string): string {
  return text.split(/\r?\n/).map(printable).join("\n");
}

/** A line break would begin a command of the manifest's own. */
function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
