/** How many writes there may be. In: nothing. Out: the words for it. */

export interface Pace {
  /** Writes a second, on average. */
  readonly rate: number;
  /** Writes at once, after a pause. */
  readonly burst: number;
  readonly inFlight: number;
}

/** Milliseconds for one write: of thousands, none may hold a place for long. */
export const WRITE_DEADLINE = 10_000;
