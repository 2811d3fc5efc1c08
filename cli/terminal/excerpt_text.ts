/** A line of a file at a terminal. In: an excerpt and a width. Out: the line with its number, and a caret below. */
import { codeFrameColumns } from "@babel/code-frame";
import type { Excerpt } from "../../dev/manifests/excerpt.ts";
import { printable } from "../../dev/terminal_text.ts";
import { displayWidth } from "./display_width.ts";

/** Of a line that nobody writes by hand, such as JSON without line breaks. */
const MAX_WIDTH = 120;
const MIN_WIDTH = 20;

/** What stands before the text: `> 12 | `. */
const GUTTER = 5;

/** @param columns The width for all of it; Infinity outside a terminal. */
export function excerptLines(excerpt: Excerpt, columns: number): string[] {
  const { line } = excerpt;
  const width = Math.max(
    MIN_WIDTH,
    Math.min(MAX_WIDTH, columns - GUTTER - String(line).length),
  );
  const { text, column, length } = fitted(visible(excerpt), width);
  // Its columns begin at 0.
  const location = {
    start: { line, column: column - 1 },
    end: { line, column: column - 1 + length },
  };
  const [shown, caret = ""] = codeFrameColumns(text, location, {
    highlightCode: false,
    linesAbove: 0,
    linesBelow: 0,
    startLine: line,
  }).split("\n");
  return [shown, widened(caret, { line, text, column, length })];
}

/** The caret below what is meant: the library counts a column for each character. */
function widened(caret: string, { text, column, length }: Excerpt): string {
  const gutter = caret.slice(0, caret.indexOf("|") + 1);
  const [before, meant] = [
    text.slice(0, column - 1),
    text.slice(column - 1, column - 1 + length),
  ].map(displayWidth);
  return `${gutter} ${" ".repeat(before)}${"^".repeat(Math.max(1, meant))}`;
}

/** The part of a line that has the marked text and takes at most so many columns. */
function fitted(excerpt: Excerpt, width: number): Excerpt {
  for (let characters = width;; characters--) {
    const part = window(excerpt, characters);
    if (displayWidth(part.text) <= width || characters <= MIN_CHARACTERS) return part;
  }
}

/** Of a text all of whose characters are wide. */
const MIN_CHARACTERS = MIN_WIDTH / 2;

/** With one visible character for each, and without the indentation. */
function visible({ line, text, column, length }: Excerpt): Excerpt {
  const indent = Math.min(/^ */.exec(text)![0].length, column - 1);
  const shown = [...text.slice(indent).replaceAll("\t", "→")]
    .map((char) => printable(char) === char ? char : "·".repeat(char.length))
    .join("");
  return { line, text: shown, column: column - indent, length };
}

/** The part of a long line that has the marked text. */
function window({ line, text, column, length }: Excerpt, width: number): Excerpt {
  if (text.length <= width) {
    return { line, text, column, length: Math.min(length, text.length - column + 1) };
  }
  const marked = Math.min(length, width - 2);
  const start = Math.max(0, Math.min(column - 1 - Math.floor((width - marked) / 2), text.length));
  const cut = text.slice(start, start + width);
  const shown = (start > 0 ? `…${cut.slice(1)}` : cut).slice(0, width - 1) +
    (start + width < text.length ? "…" : cut.slice(-1));
  const from = column - start;
  return { line, text: shown, column: from, length: Math.min(marked, shown.length - from + 1) };
}
