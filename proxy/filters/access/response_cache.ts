/**
 * Responses that are kept, for requests that have the same key. In: keys that hold all that the response
 * depends on, and how to get one. Out: responses, each from one call for all who wait for it; bounded by
 * bytes, the least recently used goes first. Keys hold credentials, and are never shown.
 */

export interface Kept<T> {
  readonly value: T;
  /** For how long others may have it, in ms; 0 for not at all. */
  readonly time: number;
  /** Of the value, about. */
  readonly bytes: number;
}

/** In bytes of each worker. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Of an entry beside key and value, about. */
const ENTRY_BYTES = 256;

/** A response that is kept; see `ResponseCache.valueOf`. */
export interface Entry<T> {
  /** Null once it is not kept any more: whoever still has the entry holds no more than this. */
  value: T | null;
  /** On the clock, in ms. */
  readonly until: number;
  readonly bytes: number;
}

export class ResponseCache {
  readonly #now: () => number;
  readonly #maxBytes: number;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry<unknown>>();
  readonly #pending = new Map<string, Promise<Kept<unknown> | null>>();
  #bytes = 0;

  /** @param now in ms, monotonic. */
  constructor(now: () => number = () => performance.now(), maxBytes = MAX_BYTES) {
    this.#now = now;
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * What is kept, or what `get` resolves to. Of several who ask at once one gets it; where others may
   * not have that, or it fails, each of them gets its own. A key is only ever used with one type.
   */
  async of<T extends NonNullable<unknown>>(key: string, get: () => Promise<Kept<T>>): Promise<T> {
    const known = this.find<T>(key);
    if (known?.value != null) return known.value;
    const pending = this.#pending.get(key);
    if (pending !== undefined) {
      const kept = await pending;
      return kept === null ? (await get()).value : kept.value as T;
    }
    const shared = Promise.withResolvers<Kept<unknown> | null>();
    this.#pending.set(key, shared.promise);
    let kept: Kept<T> | null = null;
    try {
      kept = await get();
      if (kept.time > 0) this.#keep(key, kept);
      return kept.value;
    } finally {
      this.#pending.delete(key);
      shared.resolve(kept !== null && kept.time > 0 ? kept : null);
    }
  }

  /** What is kept for a key; null for nothing. */
  find<T extends NonNullable<unknown>>(key: string): Entry<T> | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    if (this.valueOf(entry) === null) {
      this.#forget(entry);
      return null;
    }
    this.#entries.set(key, entry);
    return entry as Entry<T>;
  }

  /** What an entry holds; null where others may not have it any more, or it had to go. */
  valueOf<T>({ value, until }: Entry<T>): T | null {
    return until <= this.#now() ? null : value;
  }

  #keep(key: string, { value, time, bytes }: Kept<unknown>): void {
    const size = ENTRY_BYTES + 2 * key.length + bytes;
    const before = this.#entries.get(key);
    if (before !== undefined) {
      this.#entries.delete(key);
      this.#forget(before);
    }
    if (size > this.#maxBytes) return;
    this.#entries.set(key, { value, until: this.#now() + time, bytes: size });
    this.#bytes += size;
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#entries.delete(oldest);
      this.#forget(entry);
    }
  }

  #forget(entry: Entry<unknown>): void {
    entry.value = null;
    this.#bytes -= entry.bytes;
  }
}
