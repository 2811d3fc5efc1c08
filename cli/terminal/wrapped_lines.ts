/**
 * Lines that fit a terminal. In: a line with its indentation, and the width. Out: the same, broken at spaces, what
 * follows two characters further in than the line's own indentation.
 */
import { wrapText } from "../../shared/wrapped_text.ts";
import { displayWidth } from "./display_width.ts";

const HANGING = "  ";

/** Words that are longer than the width stay whole, so that URLs and places can be copied. */
export function wrapLine(line: string, columns: number): string[] {
  if (displayWidth(line) <= columns) return [line];
  const [indent] = /^ */.exec(line)!;
  const [first, ...more] = wrapText(line.slice(indent.length), {
    indent: indent + HANGING,
    width: columns,
    measure: displayWidth,
  });
  return [indent + first.trimStart(), ...more];
}
