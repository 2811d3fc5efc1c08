/**
 * How many pairs of Ingress and request were compared. In: names of what each pair is about, and its outcome.
 * Out: an error for a name or an outcome that too few had, as they would prove nothing.
 */
import assert from "node:assert/strict";
import type { AuthOutcome } from "./nginx_auth_outcome.ts";

/** Of each name, at least. */
const PAIRS = 100;

export class PairCounts {
  readonly #names = new Map<string, number>();
  readonly #outcomes = new Map<string, number>();

  /** @param theirs What nginx did. */
  add(names: readonly string[], theirs: AuthOutcome): void {
    for (const name of names) count(this.#names, name);
    count(this.#outcomes, String(theirs.status));
    if (theirs.asked.length > 0) count(this.#outcomes, "asked");
    if (theirs.received.length > 0) count(this.#outcomes, "forwarded");
    for (const [name, values] of Object.entries(theirs.fields)) {
      if (values.length > 0) count(this.#outcomes, name);
    }
  }

  assertEnough(names: readonly string[]): void {
    if (Deno.env.has("PEERS_COUNTS")) console.info(this.#names, this.#outcomes);
    for (const name of names) {
      const pairs = this.#names.get(name) ?? 0;
      assert.ok(pairs >= PAIRS, `${pairs} pairs with ${name}`);
    }
  }

  /** Statuses, names of headers of responses, "asked" and "forwarded". */
  assertOutcomes(outcomes: readonly string[]): void {
    for (const outcome of outcomes) {
      assert.ok(this.#outcomes.has(outcome), `no pair led to ${outcome}`);
    }
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
