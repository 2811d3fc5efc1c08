/** The check for people. In: groups of results, and the terminal's width and colours. Out: text. Pure. */
import { printable } from "../../dev/terminal_text.ts";
import { wrapText } from "../../shared/wrapped_text.ts";
import { displayWidth } from "../terminal/display_width.ts";
import { MARK_INDENT, remedyLines } from "../terminal/remedy_lines.ts";
import type { Style } from "../terminal/style.ts";
import { type CheckGroup, type CheckResult, countOf, type Level } from "./result.ts";

export interface TextOptions {
  readonly style: Style;
  /** Infinity where nothing is wrapped. */
  readonly columns: number;
}

export function checkText(groups: readonly CheckGroup[], options: TextOptions): string {
  const { style } = options;
  const parts = groups.filter(({ results }) => results.length > 0).map(({ title, results }) =>
    [style.bold(title), ...withOneRemedy(results).map((result) => resultText(result, options))]
      .join("\n")
  );
  return `${[...parts, summaryText(groups, options)].join("\n\n")}\n`;
}

/** What follows each other with the same remedy has it once, behind the last. */
function withOneRemedy(results: readonly CheckResult[]): readonly CheckResult[] {
  return results.map((result, i) =>
    result.remedy === results.at(i + 1)?.remedy ? { ...result, remedy: null } : result
  );
}

function resultText({ level, message, remedy }: CheckResult, { style, columns }: TextOptions) {
  const dim = level === "skipped" ? style.dim : (text: string) => text;
  const [first, ...more] = wrapText(capital(printable(message)), {
    indent: MARK_INDENT,
    width: columns,
    measure: displayWidth,
  });
  return [
    `${markOf(level, style)} ${dim(first.slice(MARK_INDENT.length))}`,
    ...more.map(dim),
    ...(remedy === null ? [] : remedyLines(remedy, { style, columns })),
  ].join("\n");
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

function summaryText(groups: readonly CheckGroup[], { style, columns }: TextOptions): string {
  const { ok, warning, failed, skipped } = countOf(groups);
  const parts = [
    { text: `${ok} fine`, paint: style.green },
    ...(failed > 0 ? [{ text: `${failed} failed`, paint: style.red }] : []),
    ...(warning > 0 ? [{ text: `${warning} to look at`, paint: style.yellow }] : []),
    ...(skipped > 0 ? [{ text: `${skipped} not checked`, paint: style.dim }] : []),
  ];
  const length = parts.map(({ text }) => text).join(", ").length;
  return parts.map(({ text, paint }) => paint(text)).join(length > columns ? "\n" : ", ");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
