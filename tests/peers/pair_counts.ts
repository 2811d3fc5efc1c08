/**
 * How many pairs of Ingress and request were compared. In: names of what each pair is about, and its outcomes.
 * Out: an error for a name or an outcome that too few had, as they would prove nothing.
 */
import assert from "node:assert/strict";

/** Of each name, at least. */
const PAIRS = 100;

export class PairCounts {
  readonly #names = new Map<string, number>();
  readonly #outcomes = new Map<string, number>();

  /** @param outcomes What nginx did. */
  add(names: readonly string[], outcomes: readonly string[] = []): void {
    for (const name of names) count(this.#names, name);
    for (const outcome of outcomes) count(this.#outcomes, outcome);
  }

  assertEnough(names: Iterable<string>): void {
    if (Deno.env.has("PEERS_COUNTS")) console.info(this.#names, this.#outcomes);
    for (const name of names) {
      const pairs = this.#names.get(name) ?? 0;
      assert.ok(pairs >= PAIRS, `${pairs} pairs with ${name}`);
    }
  }

  assertOutcomes(outcomes: readonly string[]): void {
    for (const outcome of outcomes) {
      assert.ok(this.#outcomes.has(outcome), `no pair led to ${outcome}`);
    }
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
