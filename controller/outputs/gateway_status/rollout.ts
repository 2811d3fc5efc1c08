/**
 * What is on its way to proxies. In: for each object what proxies are to serve of it, and the content that
 * has it first. Out: that content's number, and since when proxies have been without it.
 */
import { isAlike } from "../../kube/likeness.ts";

/** One object. */
export interface RolloutEntry {
  /** What proxies are to serve; equal for what says the same. */
  readonly content: unknown;
  /** Of the first content with it; null where it is not streamed yet. */
  readonly sequence: number | null;
  /** When it was seen first; on the monotonic clock, in ms. */
  readonly since: number;
}

/** One for each object. */
export class Rollout {
  #entries: ReadonlyMap<string, RolloutEntry> = new Map();
  /** When proxies were first seen without what they should have; on the monotonic clock, in ms. */
  readonly #behind = new Map<string, number>();

  /**
   * All objects of now.
   * @param sequence Of the content that was made of them; null where it cannot be streamed.
   */
  update(contents: ReadonlyMap<string, unknown>, sequence: number | null, now: number): void {
    this.#entries = new Map(
      contents.entries().map(([key, content]) => {
        const before = this.#entries.get(key);
        const isSame = before !== undefined && isAlike(before.content, content);
        if (!isSame) return [key, { content, sequence, since: now }];
        return [key, before.sequence === null ? { ...before, sequence } : before];
      }),
    );
    for (const key of this.#behind.keys()) if (!this.#entries.has(key)) this.#behind.delete(key);
  }

  /**
   * Counts anew how long proxies have been behind: while another replica leads, the proxies that follow it
   * acknowledge nothing here.
   */
  restart(): void {
    this.#behind.clear();
  }

  get(key: string): RolloutEntry | null {
    return this.#entries.get(key) ?? null;
  }

  /** Milliseconds for which proxies have been behind, with one or several contents; 0 if they are not. */
  behindFor(key: string, isBehind: boolean, now: number): number {
    if (!isBehind) {
      this.#behind.delete(key);
      return 0;
    }
    const since = this.#behind.get(key) ?? now;
    this.#behind.set(key, since);
    return now - since;
  }
}
