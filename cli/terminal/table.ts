/**
 * Tables that fit a terminal. In: columns, rows of cells and the width. Out: lines; where the width does not
 * suffice, flexible cells are cut in the middle, and then the least important columns are left out.
 */
import { beginningOf, displayWidth, endOf } from "./display_width.ts";

export interface Column {
  readonly title: string;
  /** The highest ones stay longest. */
  readonly priority: number;
  /** Characters below which a flexible column is left out; null for one that is never cut. */
  readonly least: number | null;
}

export interface Cell {
  /** Without control characters. */
  readonly text: string;
  /** Adds colours. */
  readonly paint?: (text: string) => string;
}

const GAP = "  ";
const ELLIPSIS = "…";

/** @param columns Characters of a line; Infinity where nothing is cut. */
export function tableLines(
  spec: readonly Column[],
  rows: readonly (readonly Cell[])[],
  columns: number,
  paintTitle: (text: string) => string,
): string[] {
  const all = [spec.map(({ title }): Cell => ({ text: title, paint: paintTitle })), ...rows];
  const wanted = spec.map((_, i) => Math.max(...all.map((row) => displayWidth(row[i].text))));
  const widths = fit(spec, wanted, columns);
  const last = widths.findLastIndex((width) => width > 0);
  return all.map((row) =>
    row.flatMap(({ text, paint = (text) => text }, i) => {
      if (widths[i] === 0) return [];
      const shown = cut(text, widths[i]);
      const padding = i === last ? "" : " ".repeat(widths[i] - displayWidth(shown));
      return [`${paint(shown)}${padding}`];
    }).join(GAP).trimEnd()
  );
}

/** Of each column; 0 for one that is left out. */
function fit(spec: readonly Column[], wanted: readonly number[], columns: number): number[] {
  const widths = [...wanted];
  for (;;) {
    const shown = widths.filter((width) => width > 0).length;
    const excess = sum(widths) + GAP.length * Math.max(0, shown - 1) - columns;
    if (excess <= 0) return widths;
    const slack = spec.map(({ least }, i) => least === null ? 0 : Math.max(0, widths[i] - least));
    if (sum(slack) >= excess) return shrink(widths, slack, excess);
    const leave = spec.map((_, i) => i).filter((i) => widths[i] > 0)
      .toSorted((a, b) => spec[a].priority - spec[b].priority)[0];
    if (shown <= 1) {
      widths[leave] = Math.max(1, columns);
      return widths;
    }
    widths[leave] = 0;
  }
}

/** The widest gives first. */
function shrink(widths: number[], slack: number[], excess: number): number[] {
  const [shrunk, left] = [[...widths], [...slack]];
  for (let rest = excess; rest > 0; rest--) {
    const widest = shrunk.map((_, i) => i).filter((i) => left[i] > 0)
      .reduce((best, i) => shrunk[i] > shrunk[best] || left[best] === 0 ? i : best);
    shrunk[widest]--;
    left[widest]--;
  }
  return shrunk;
}

/** In the middle: names differ at both ends. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  return beginningOf(text, head) + ELLIPSIS + endOf(text, width - 1 - head);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
