/**
 * Secret bytes that never print. In: a PEM key or a token. Out: a value whose string, JSON and
 * inspect forms are "[redacted]"; only `reveal()` gives the text.
 */
import type { Secret } from "./snapshot.ts";

export class Redacted implements Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toJSON(): string {
    return "[redacted]";
  }

  toString(): string {
    return "[redacted]";
  }

  [Symbol.for("Deno.customInspect")](): string {
    return "[redacted]";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return "[redacted]";
  }
}
