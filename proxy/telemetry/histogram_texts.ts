/**
 * A cache of the lines of histograms. In: a slot with its labels and counts. Out: its lines, formatted again only
 * if they have changed since the last scrape: of thousands of hosts, most have no request between two scrapes, and
 * formatting is two thirds of the CPU of a scrape.
 */
import type { Format } from "./exposition.ts";

interface Kept {
  readonly labels: string;
  readonly format: Format;
  /** Count by bucket, then the sum. */
  readonly values: Float64Array;
  readonly lines: string;
}

/** Characters kept of one metric: those of 8,000 hosts. Further ones are formatted at each scrape. */
const MAX_KEPT = 12 * 1024 * 1024;

export class HistogramTexts {
  /** By slot. */
  readonly #kept = new Map<number, Kept>();
  readonly #limit: number;
  #size = 0;

  constructor(limit = MAX_KEPT) {
    this.#limit = limit;
  }

  /** Characters that are kept. */
  get size(): number {
    return this.#size;
  }

  /** @param counts by bucket. @param make called where the lines are not those of the last scrape. */
  linesOf(
    slot: number,
    labels: string,
    format: Format,
    counts: Float64Array,
    sum: number,
    make: () => string,
  ): string {
    const kept = this.#kept.get(slot);
    if (
      kept !== undefined && kept.format === format && kept.labels === labels &&
      isSame(kept.values, counts, sum)
    ) return kept.lines;
    const lines = flat(make());
    this.#forget(slot);
    if (this.#size + lines.length <= this.#limit) {
      const values = new Float64Array(counts.length + 1);
      values.set(counts);
      values[counts.length] = sum;
      this.#kept.set(slot, { labels, format, values, lines });
      this.#size += lines.length;
    }
    return lines;
  }

  #forget(slot: number): void {
    const kept = this.#kept.get(slot);
    if (kept === undefined) return;
    this.#kept.delete(slot);
    this.#size -= kept.lines.length;
  }
}

function isSame(values: Float64Array, counts: Float64Array, sum: number): boolean {
  if (values[counts.length] !== sum) return false;
  for (let i = 0; i < counts.length; i++) if (values[i] !== counts[i]) return false;
  return true;
}

/** V8 keeps a joined string as a tree of its parts until one of its characters is read. */
function flat(text: string): string {
  text.charCodeAt(0);
  return text;
}
