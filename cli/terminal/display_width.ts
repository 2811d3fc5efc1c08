/**
 * How much room a text takes at a terminal. In: a text. Out: columns: two for a character of East Asian scripts and
 * for most emoji, none for one that combines with the one before, none for colours.
 */
import { eastAsianWidth } from "get-east-asian-width";
import { stripVTControlCharacters } from "node:util";

const SEGMENTER = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Of a text without control characters other than those of colours. */
export function displayWidth(text: string): number {
  const plain = stripVTControlCharacters(text);
  if (isNarrow(plain)) return plain.length;
  return graphemesOf(plain).reduce((width, grapheme) => width + widthOf(grapheme), 0);
}

/** The longest beginning that takes at most so many columns. */
export function beginningOf(text: string, columns: number): string {
  if (isNarrow(text)) return text.slice(0, columns);
  return taken(graphemesOf(text), columns).join("");
}

/** The longest end that takes at most so many columns. */
export function endOf(text: string, columns: number): string {
  if (isNarrow(text)) return columns === 0 ? "" : text.slice(-columns);
  return taken(graphemesOf(text).reverse(), columns).reverse().join("");
}

/** Whether every character is one of ASCII. */
function isNarrow(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

/** What a user sees as one character. */
function graphemesOf(text: string): string[] {
  return Array.from(SEGMENTER.segment(text), ({ segment }) => segment);
}

function taken(graphemes: readonly string[], columns: number): string[] {
  let width = 0;
  const end = graphemes.findIndex((grapheme) => (width += widthOf(grapheme)) > columns);
  return graphemes.slice(0, end === -1 ? undefined : end);
}

/** A sequence of emoji is as wide as its widest one. */
function widthOf(grapheme: string): number {
  if (/^[\p{Mark}\p{Format}]+$/u.test(grapheme)) return 0;
  return Math.max(...Array.from(grapheme, (char) => eastAsianWidth(char.codePointAt(0)!)));
}
