/**
 * What was read of texts before. In: what reads, and a text. Out: what it makes of the text; the very
 * same for the same text. Thousands of objects say the same few things, and one object is asked for
 * the same thing several times.
 */

/** Decides by the text alone, and what it gives never changes. */
interface Reader<T> {
  readonly read: (text: string) => T;
}

/** Beyond it, texts that nobody has any more would pile up; all are read again. */
const MAX_KEPT = 20_000;

/** A longer text is read each time, so that few texts do not fill the memory. */
const MAX_LENGTH = 512;

export class TextMemo {
  readonly #known = new Map<Reader<unknown>, Map<string, unknown>>();
  #kept = 0;

  of<T>(reader: Reader<T>, text: string): T {
    let texts = this.#known.get(reader);
    if (texts === undefined) this.#known.set(reader, texts = new Map());
    const before = texts.get(text);
    if (before !== undefined || texts.has(text)) return before as T;
    const value = reader.read(text);
    if (text.length > MAX_LENGTH) return value;
    if (this.#kept >= MAX_KEPT) {
      this.#known.clear();
      this.#known.set(reader, texts = new Map());
      this.#kept = 0;
    }
    texts.set(text, value);
    this.#kept++;
    return value;
  }
}
