/**
 * The line of a file that a problem is about. In: a text and a place in it. Out: the line and what of
 * it to mark, without comments; null for a line that may hold a credential (`withheld_lines.ts`).
 */
import { redact } from "../../cli/lint/finding.ts";
import type { Position } from "./position.ts";

export interface Excerpt {
  /** From 1. */
  readonly line: number;
  /** Without its line break. */
  readonly text: string;
  /** Of the first character that is marked, from 1. */
  readonly column: number;
  /** Characters that are marked, at least one. */
  readonly length: number;
}

/** A quoted text, a word, or one character. */
const TOKEN = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s,[\]{}]+|.)/;

/** What follows a comment's mark; in a quoted text the line is cut there too, which shows less. */
const COMMENT = /(?:^|\s)#.*$/;

/** @param line Of the place, without its line break. */
export function excerptOf(line: string, { line: number, column }: Position): Excerpt | null {
  const shown = line.replace(/\r$/, "");
  const uncommented = shown.replace(COMMENT, "");
  const text = column <= uncommented.length ? uncommented : shown;
  if (text.trim() === "" || column > text.length || redact(text) !== text) return null;
  const token = TOKEN.exec(text.slice(column - 1))?.[0] ?? "";
  const length = Math.max(1, token.replace(/:$/, "").length);
  return { line: number, text, column, length };
}
