/** What helps, below what it helps against. In: a remedy, and the width and colours. Out: lines with an arrow. */
import { printable } from "../../dev/terminal_text.ts";
import { wrapText } from "../../shared/wrapped_text.ts";
import { displayWidth } from "./display_width.ts";
import type { Style } from "./style.ts";

/** As wide as a mark and the space behind it. */
export const MARK_INDENT = "  ";

/** @param columns Infinity where nothing is wrapped. */
export function remedyLines(
  remedy: string,
  { style, columns }: { readonly style: Style; readonly columns: number },
): readonly string[] {
  const [first, ...more] = wrapText(printable(remedy), {
    indent: MARK_INDENT + MARK_INDENT,
    width: columns,
    measure: displayWidth,
  });
  return [`${MARK_INDENT}${style.cyan("→")} ${first.trimStart()}`, ...more];
}
