/**
 * Values that were asked for lately. In: each with a key and its size. Out: the very same value for the same key, as
 * long as it is asked for now and then; those that nobody asks for any more go, so that all together stay within a size.
 */

interface Entry<T> {
  readonly value: T;
  readonly bytes: number;
}

/** What an entry takes beside its texts. */
const ENTRY_BYTES = 256;

export class RecentValues<T> {
  readonly #maxBytes: number;
  #young = new Map<string, Entry<T>>();
  #youngBytes = 0;
  /** Not asked for since the young ones are there. */
  #old = new Map<string, Entry<T>>();
  #oldBytes = 0;

  /** @param maxBytes Of all that are kept, beside one that is larger than half of it. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Of what is kept. */
  get bytes(): number {
    return this.#youngBytes + this.#oldBytes;
  }

  get(key: string): T | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young.value;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.#oldBytes -= old.bytes;
    this.#put(key, old);
    return old.value;
  }

  /** For a key that has none. @param bytes Of the value; those of the key are added. */
  set(key: string, value: T, bytes: number): void {
    this.#put(key, { value, bytes: ENTRY_BYTES + key.length + bytes });
  }

  #put(key: string, entry: Entry<T>): void {
    if (this.#youngBytes + entry.bytes > this.#maxBytes / 2) {
      this.#old = this.#young;
      this.#oldBytes = this.#youngBytes;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    this.#young.set(key, entry);
    this.#youngBytes += entry.bytes;
  }
}
