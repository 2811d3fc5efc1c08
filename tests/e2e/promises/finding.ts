/**
 * What a promise has come to. In: counts and times as a run finds them. Out: lines to print, what
 * breaks the promise, and rows for `docs/promises.md`.
 *
 * A count breaks a promise at once. A time depends on the machine: it is shown beside its aim, and
 * breaks the promise only where it is ten times as long.
 */

export interface Figure {
  readonly name: string;
  readonly value: string;
  /** What it should be; "" where it is only worth knowing. */
  readonly aim: string;
  readonly met: boolean;
}

/** By how much a time may exceed its aim on a machine that is slow or busy. */
const MARGIN = 10;

export class Finding {
  readonly promise: string;
  readonly figures: Figure[] = [];
  /** What breaks it, a line each. */
  readonly broken: string[] = [];

  constructor(promise: string) {
    this.promise = promise;
  }

  /** Something worth knowing. */
  note(name: string, value: string | number): void {
    this.figures.push({ name, value: String(value), aim: "", met: true });
  }

  /** A count that must be this; `why` lists what made it another. */
  count(name: string, value: number, aim: number, why: readonly string[] = []): void {
    const met = value === aim;
    this.figures.push({ name, value: String(value), aim: String(aim), met });
    if (met) return;
    this.broken.push(`${name}: ${value}, not ${aim}`, ...why.slice(0, 10));
  }

  /** Something that must hold. */
  holds(name: string, value: string, aim: string, isTrue: boolean): void {
    this.figures.push({ name, value, aim, met: isTrue });
    if (!isTrue) this.broken.push(`${name}: ${value}, not ${aim}`);
  }

  /** A time in ms with its aim. */
  time(name: string, ms: number, aim: number): void {
    this.figures.push({ name, value: inWords(ms), aim: `< ${inWords(aim)}`, met: ms < aim });
    if (!(ms < MARGIN * aim)) {
      this.broken.push(`${name}: ${inWords(ms)}, more than ${MARGIN} times ${inWords(aim)}`);
    }
  }

  /** A line for each figure. */
  toString(): string {
    const lines = this.figures.map(({ name, value, aim, met }) => {
      const beside = aim === "" ? "" : ` (aim ${aim}${met ? "" : ", NOT MET"})`;
      return `${this.promise}: ${name}: ${value}${beside}`;
    });
    return [...lines, ...this.broken.map((line) => `${this.promise}: BROKEN: ${line}`)].join("\n");
  }
}

/** `123 ms`, `12.3 s`. */
export function inWords(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** The value that this share (0 to 1) of them does not exceed; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}
