/**
 * What waits to be written, without repetition. In: keys, as they come. Out: mostly the newest, so
 * that a change does not stand behind thousands that came at once; every fourth time the oldest, so
 * that a stream of changes does not keep it waiting for ever.
 */

/** How often the oldest is taken. */
const OLDEST_EVERY = 4;

export class NewestFirst {
  /** When each came; in that order. */
  readonly #turns = new Map<string, number>();
  /** May hold turns that are over. */
  #stack: { readonly key: string; readonly turn: number }[] = [];
  #turn = 0;
  #taken = 0;

  get size(): number {
    return this.#turns.size;
  }

  has(key: string): boolean {
    return this.#turns.has(key);
  }

  /** Puts a key in front, whether or not it waits already. */
  add(key: string): void {
    const turn = ++this.#turn;
    this.#turns.delete(key);
    this.#turns.set(key, turn);
    this.#stack.push({ key, turn });
    if (this.#stack.length > 2 * this.#turns.size + 64) {
      this.#stack = [...this.#turns].map(([key, turn]) => ({ key, turn }));
    }
  }

  delete(key: string): void {
    this.#turns.delete(key);
  }

  /** The next key, which waits no longer; null where none does. */
  take(): string | null {
    if (this.#turns.size === 0) return null;
    this.#taken++;
    const key = this.#taken % OLDEST_EVERY === 0 ? this.#oldest() : this.#newest();
    this.#turns.delete(key);
    return key;
  }

  #oldest(): string {
    const [key] = this.#turns.keys();
    return key;
  }

  #newest(): string {
    for (;;) {
      const { key, turn } = this.#stack.pop()!;
      if (this.#turns.get(key) === turn) return key;
    }
  }
}
