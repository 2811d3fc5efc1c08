/**
 * File descriptors, which nobody tells us how many there are of. In: news that they have run out.
 * Out: how many clients may be connected, so that those who are can be served: each needs a
 * descriptor of its own and one for its backend.
 */

/** What of the clients stays when descriptors run out; the rest makes room for backends. */
const SHARE_KEPT = 0.75;

/** Fewer clients are not the reason. */
const MIN_CLIENTS = 16;

/** After this long (ms) without refusing anybody, it is tried whether there is room again. */
const MEMORY = 60_000;

/** News within this long (ms) of each other is the same news. */
const SAME_NEWS = 250;

/** Whether an error of the system says that this process, or the machine, has none left. */
export function isExhaustion(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return code === "EMFILE" || code === "ENFILE";
}

export class Descriptors {
  #bound = Infinity;
  #pressed = -Infinity;
  #told = -Infinity;

  /** Whether one more client is taken, of `clients` so far. `now` in ms, monotonic. */
  admits(clients: number, now: number): boolean {
    if (clients < this.#bound) return true;
    if (now - this.#pressed > MEMORY) {
      this.#bound = Infinity;
      return true;
    }
    this.#pressed = now;
    return false;
  }

  /** Takes the news. How many clients are to go, or null where this is known already. */
  exhausted(clients: number, now: number): number | null {
    if (now - this.#told < SAME_NEWS) return null;
    this.#told = this.#pressed = now;
    this.#bound = Math.max(MIN_CLIENTS, Math.floor(Math.min(clients, this.#bound) * SHARE_KEPT));
    return Math.max(0, clients - this.#bound);
  }
}
