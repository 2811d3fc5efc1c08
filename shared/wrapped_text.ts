/** Lines that fit a width. In: text in one line. Out: its words on as many lines as they need. */

export interface Wrapping {
  /** Before each line, and a part of its width. */
  readonly indent: string;
  /** Characters a line; a longer word has a line of its own. */
  readonly width: number;
}

/** At least one line. */
export function wrapText(text: string, { indent, width }: Wrapping): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line.length + word.length + 1 > width && line !== indent) {
      lines.push(line);
      line = indent;
    }
    line += line === indent ? word : ` ${word}`;
  }
  lines.push(line);
  return lines;
}
