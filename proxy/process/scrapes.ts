/**
 * Scrapes under way, of which each holds some megabytes while its reader does not go on. In: scrapes that
 * begin, and pieces of them that are made. Out: room for one more, or none for now.
 *
 * At the limit, the scrape that nobody has read from for longest gives way if it stalls: otherwise a few
 * clients that stop reading would keep every other one from the metrics.
 */

/** That are under way at once. */
const MAX_SCRAPES = 8;

/** Without a read, in ms, after which a scrape may be ended. */
const STALLED = 250;

/** One that has begun. */
export interface Scrape {
  /** Its pieces, which count as read when they are asked for. */
  pieces(of: Iterator<string>): Iterator<string>;
  /** It holds no place any more. */
  end(): void;
}

interface Place {
  readAt: number;
  readonly close: () => void;
}

export class Scrapes {
  readonly #now: () => number;
  readonly #places = new Set<Place>();

  /** @param now monotonic, in ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Null where there is no room. @param close ends the connection of the scrape. */
  begin(close: () => void): Scrape | null {
    if (this.#places.size >= MAX_SCRAPES && !this.#makeRoom()) return null;
    const place: Place = { readAt: this.#now(), close };
    this.#places.add(place);
    const end = () => void this.#places.delete(place);
    return {
      pieces: (of) => ({
        next: () => {
          place.readAt = this.#now();
          const next = of.next();
          if (next.done) end();
          return next;
        },
      }),
      end,
    };
  }

  #makeRoom(): boolean {
    const [first] = [...this.#places].toSorted((a, b) => a.readAt - b.readAt);
    if (this.#now() - first.readAt < STALLED) return false;
    this.#places.delete(first);
    first.close();
    return true;
  }
}
