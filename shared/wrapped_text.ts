/** Lines that fit a width. In: text in one line. Out: its words on as many lines as they need. */
import { stripVTControlCharacters } from "node:util";

export interface Wrapping {
  /** Before each line, and a part of its width. */
  readonly indent: string;
  /** Characters a line, colours aside; a longer word has a line of its own. */
  readonly width: number;
  /** Of a word, where not every character takes one column. */
  readonly measure?: (word: string) => number;
}

/** At least one line. Several spaces stay between words of one line. */
export function wrapText(text: string, { indent, width, measure = lengthOf }: Wrapping): string[] {
  const lines: string[] = [];
  let line = indent;
  let length = indent.length;
  let gap = "";
  for (const word of text.split(" ")) {
    if (word === "") {
      gap += " ";
      continue;
    }
    const visible = measure(word);
    const isFirst = line === indent;
    if (!isFirst && length + gap.length + visible > width) {
      lines.push(line);
      line = indent + word;
      length = indent.length + visible;
    } else {
      line += isFirst ? word : gap + word;
      length += (isFirst ? 0 : gap.length) + visible;
    }
    gap = " ";
  }
  lines.push(line);
  return lines;
}

/** Without colours. */
function lengthOf(word: string): number {
  return stripVTControlCharacters(word).length;
}
