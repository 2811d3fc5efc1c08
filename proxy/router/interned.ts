/**
 * Values as numbers. In: a value, each time that something refers to it. Out: the same number each
 * time, and the value by its number, until nothing refers to it any more.
 */

interface Entry<T> {
  readonly value: T;
  uses: number;
}

export class Interned<T> {
  readonly #numbers = new Map<T, number>();
  /** By number; null where one has gone. */
  readonly #entries: (Entry<T> | null)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#numbers.size;
  }

  /** The number of a value; to be given back. */
  take(value: T): number {
    let number = this.#numbers.get(value);
    if (number === undefined) {
      number = this.#free.pop() ?? this.#entries.length;
      this.#numbers.set(value, number);
      this.#entries[number] = { value, uses: 0 };
    }
    this.#entries[number]!.uses++;
    return number;
  }

  /** Of a number that has been taken. */
  get(number: number): T {
    return this.#entries[number]!.value;
  }

  /** Gives a number back; whether that was the last time. */
  release(number: number): boolean {
    const entry = this.#entries[number]!;
    if (--entry.uses > 0) return false;
    this.#numbers.delete(entry.value);
    this.#entries[number] = null;
    this.#free.push(number);
    return true;
  }
}
