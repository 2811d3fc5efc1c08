/** The check for people. In: groups of results, and the terminal's width and colours. Out: text. Pure. */
import { printable } from "../../dev/terminal_text.ts";
import type { Style } from "../terminal/style.ts";
import { wrapLine } from "../terminal/wrapped_lines.ts";
import { type CheckGroup, type CheckResult, countOf, type Level } from "./result.ts";

export interface TextOptions {
  readonly style: Style;
  /** Infinity where nothing is wrapped. */
  readonly columns: number;
}

const INDENT = "  ";

/** As wide as each mark. */
const MARK = "-";

export function checkText(groups: readonly CheckGroup[], options: TextOptions): string {
  const { style, columns } = options;
  const parts = groups.filter(({ results }) => results.length > 0).map(({ title, results }) =>
    [style.bold(title), ...results.map((result) => resultText(result, options))].join("\n")
  );
  return `${[...parts, wrapLine(summaryText(groups, style), columns).join("\n")].join("\n\n")}\n`;
}

function resultText({ level, message, remedy }: CheckResult, { style, columns }: TextOptions) {
  const dim = level === "skipped" ? style.dim : (text: string) => text;
  const [first, ...more] = wrapLine(`${MARK} ${capital(printable(message))}`, columns);
  const lines = [`${markOf(level, style)}${dim(first.slice(MARK.length))}`, ...more.map(dim)];
  if (remedy !== null) {
    const [arrow, ...rest] = wrapLine(`${INDENT}→ ${printable(remedy)}`, columns);
    lines.push(arrow.replace("→", style.cyan("→")), ...rest);
  }
  return lines.join("\n");
}

function markOf(level: Level, style: Style): string {
  switch (level) {
    case "ok":
      return style.pass;
    case "warning":
      return style.warn;
    case "failed":
      return style.fail;
    case "skipped":
      return style.dim("–");
  }
}

function summaryText(groups: readonly CheckGroup[], style: Style): string {
  const { ok, warning, failed, skipped } = countOf(groups);
  const parts = [
    style.green(`${ok} fine`),
    ...(failed > 0 ? [style.red(`${failed} failed`)] : []),
    ...(warning > 0 ? [style.yellow(`${warning} to look at`)] : []),
    ...(skipped > 0 ? [style.dim(`${skipped} not checked`)] : []),
  ];
  return parts.join(", ");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
