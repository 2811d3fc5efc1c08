/**
 * What is superseded stays for a while: proxies may still mount the set before, and what a kubelet
 * knows of one object may be older than what it knows of another. In: names of what is superseded,
 * at a time. Out: which of them must stay, and when to look again.
 */
export class Retention {
  readonly #time: number;
  readonly #now: () => number;
  /** When each was found to be superseded. */
  #since = new Map<string, number>();

  /** @param time and `now` in ms. */
  constructor(time: number, now: () => number) {
    this.#time = time;
    this.#now = now;
  }

  /** Takes all that is superseded now; what is not among it begins anew should it come again. */
  update(superseded: Iterable<string>): void {
    const now = this.#now();
    const before = this.#since;
    this.#since = new Map(Array.from(superseded, (name) => [name, before.get(name) ?? now]));
  }

  /** Whether it must still be there. */
  holds(name: string): boolean {
    const since = this.#since.get(name);
    return since !== undefined && this.#now() - since < this.#time;
  }

  /** When it was found to be superseded, in ms; 0 where it is not. */
  since(name: string): number {
    return this.#since.get(name) ?? 0;
  }

  /** Milliseconds until the first of them need not stay any more; null where none has to. */
  get next(): number | null {
    const now = this.#now();
    const left = [...this.#since.values()].map((since) => since + this.#time - now)
      .filter((ms) => ms > 0);
    return left.length === 0 ? null : Math.min(...left);
  }
}
