/**
 * What has happened on the stream from the controller. In: each event. Out: counts and ages for
 * metrics and people.
 */

export const UPDATE_KINDS = ["snapshot", "delta", "same"] as const;
export type UpdateKind = typeof UPDATE_KINDS[number];

/**
 * `applied`: it is in force, or was already; `refused`: understood, or not, and of no use; `lost`: it
 * did not fit what is here, so all was asked for anew.
 */
export const UPDATE_RESULTS = ["applied", "refused", "lost"] as const;
export type UpdateResult = typeof UPDATE_RESULTS[number];

/** What metrics show. */
export interface ScrapedStream {
  readonly isConnected: boolean;
  readonly opened: number;
  readonly failed: number;
  readonly updates: Readonly<Record<UpdateKind, Readonly<Record<UpdateResult, number>>>>;
  /** In ms since the controller last said that what is in force is its own; null for never. */
  readonly syncAge: number | null;
}

export class StreamStats {
  readonly #now: () => number;
  #isConnected = false;
  #opened = 0;
  #failed = 0;
  readonly #updates = {
    snapshot: { applied: 0, refused: 0, lost: 0 },
    delta: { applied: 0, refused: 0, lost: 0 },
    same: { applied: 0, refused: 0, lost: 0 },
  };
  /** What is in force is what the controller said last. */
  #isInStep = false;
  #heard: number | null = null;

  /** @param now in ms, monotonic. */
  constructor(now: () => number) {
    this.#now = now;
  }

  connected(): void {
    this.#isConnected = true;
    this.#opened++;
  }

  /** A stream has ended, or could not be had. */
  down(): void {
    if (!this.#isConnected) this.#failed++;
    this.#isConnected = false;
    this.#isInStep = false;
  }

  /** A controller has said anything at all. */
  heard(): void {
    if (this.#isInStep) this.#heard = this.#now();
  }

  update(kind: UpdateKind, result: UpdateResult): void {
    this.#updates[kind][result]++;
    this.#isInStep = result === "applied";
    this.heard();
  }

  get scraped(): ScrapedStream {
    return {
      isConnected: this.#isConnected,
      opened: this.#opened,
      failed: this.#failed,
      updates: this.#updates,
      syncAge: this.#heard === null ? null : this.#now() - this.#heard,
    };
  }
}
