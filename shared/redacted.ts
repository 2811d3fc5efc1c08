/**
 * Secret bytes that never print. In: a PEM key or a token. Out: a value whose string, JSON and
 * inspect forms are "[redacted]"; only `reveal()` gives the text.
 */

/** Text that shows itself as "[redacted]" wherever it is printed or serialised. */
export interface Secret {
  /** The text itself. Call it only where it is written to its destination. */
  reveal(): string;
  toJSON(): string;
  toString(): string;
}

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
