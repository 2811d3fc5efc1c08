/**
 * Gathering of changes. In: a call at each of them. Out: one call for many, a while after the last one, but never
 * later than a limit after the first. An urgent change after a quiet while is not waited for: only what follows
 * it is gathered.
 */
export interface DebounceOptions {
  /** Milliseconds from the last change. */
  readonly time: number;
  /** Milliseconds from the first change. */
  readonly limit: number;
  readonly onGathered: () => void;
}

export class Debounce {
  readonly #options: DebounceOptions;
  #first: number | null = null;
  #last = -Infinity;
  /** Whether the change that waits does so only for what has come together with it. */
  #isAtOnce = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: DebounceOptions) {
    this.#options = options;
  }

  /** Milliseconds since the first change that waits; null where none does. */
  get waiting(): number | null {
    return this.#first === null ? null : performance.now() - this.#first;
  }

  /** @param isUrgent Whether it is to wait for nothing if no other change has come for `time`. */
  changed(isUrgent = false): void {
    const now = performance.now();
    const { time, limit } = this.#options;
    if (this.#first === null) this.#isAtOnce = isUrgent && now - this.#last >= time;
    this.#last = now;
    this.#first ??= now;
    if (this.#isAtOnce) this.#timer ??= this.#callAfter(0);
    else {
      clearTimeout(this.#timer);
      this.#timer = this.#callAfter(Math.max(0, Math.min(time, this.#first + limit - now)));
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#first = null;
  }

  #callAfter(milliseconds: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#first = null;
      this.#timer = undefined;
      this.#options.onGathered();
    }, milliseconds);
  }
}
