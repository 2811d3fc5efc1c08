/** Text for a terminal. In: whatever manifests hold. Out: columns, counts, and text without control characters. */
import { displayWidth } from "../cli/terminal/display_width.ts";

/** The text with characters that a terminal acts on written as escapes. */
export function printable(text: string): string {
  return text.replace(
    // deno-lint-ignore no-control-regex
    /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Cells in columns of equal width, without spaces at the ends of lines. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const shown = rows.map((row) => row.map(printable));
  const widths = shown[0].map((_, column) =>
    Math.max(...shown.map((row) => displayWidth(row[column])))
  );
  return shown.map((row) =>
    row.map((cell, i) => cell + " ".repeat(widths[i] - displayWidth(cell))).join("  ").trimEnd()
  );
}

/** `1 error`, `2 errors`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** At most `length` characters. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

export function quoteForShell(text: string): string {
  return /^[\w./:[\]-]+$/.test(text) && !/[[\]]/.test(text)
    ? text
    : `'${text.replaceAll("'", "'\\''")}'`;
}
