/**
 * Lines that fit a terminal. In: lines with their indentation, and the width. Out: the same, broken at spaces,
 * what follows two characters further in than the line's own indentation.
 */
import { stripVTControlCharacters } from "node:util";

const HANGING = 2;

/** Words that are longer than the width stay whole, so that URLs and places can be copied. */
export function wrapLine(line: string, columns: number): string[] {
  if (lengthOf(line) <= columns) return [line];
  const indent = " ".repeat(/^ */.exec(line)![0].length);
  const wrapped: string[] = [];
  let current = indent;
  // Runs of spaces align columns, and stay.
  for (const word of line.slice(indent.length).split(/(?<=\S)(?= )/)) {
    const isFirst = current.trim() === "";
    if (!isFirst && lengthOf(current) + lengthOf(word) > columns) {
      wrapped.push(current);
      current = indent + " ".repeat(HANGING) + word.trimStart();
    } else {
      current += word;
    }
  }
  return [...wrapped, current];
}

/** Characters on the terminal; a wide one counts once. */
function lengthOf(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}
