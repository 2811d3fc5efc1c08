/**
 * What the suite prints while it runs. In: its lines. Out: the outcome of each case that has ended, with the
 * last lines of its output; what is left belongs to the set-up, or to the end of all.
 */
import type { Outcome } from "./outcomes.ts";

/** As `conformance_test.go` begins the line after a case. */
const ENDED = "case ended: ";

/** Lines of Go's test runner that say nothing about a case. */
const NOISE = /^\s*=== (?:RUN|PAUSE|CONT|NAME)\b|^\s*$/;

export interface EndedCase extends Outcome {
  readonly lastLines: readonly string[];
}

export class SuiteOutput {
  readonly #most: number;
  #lines: string[] = [];

  /** @param most How many lines are kept of a case. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The case that has ended with this line; null for all other lines. */
  add(line: string): EndedCase | null {
    if (line.startsWith(ENDED)) {
      const lastLines = this.lastLines;
      this.#lines = [];
      return { ...JSON.parse(line.slice(ENDED.length)), lastLines };
    }
    if (!NOISE.test(line)) {
      this.#lines.push(line);
      if (this.#lines.length > this.#most) this.#lines.shift();
    }
    return null;
  }

  /** Since the last case has ended. */
  get lastLines(): readonly string[] {
    return this.#lines;
  }
}
