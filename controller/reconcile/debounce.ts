/**
 * Gathering of changes. In: a call at each of them. Out: one call for many, a while after the last
 * one, but never later than a limit after the first.
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
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: DebounceOptions) {
    this.#options = options;
  }

  /** Milliseconds since the first change that waits; null where none does. */
  get waiting(): number | null {
    return this.#first === null ? null : performance.now() - this.#first;
  }

  changed(): void {
    const now = performance.now();
    this.#first ??= now;
    const { time, limit, onGathered } = this.#options;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#first = null;
      this.#timer = undefined;
      onGathered();
    }, Math.max(0, Math.min(time, this.#first + limit - now)));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#first = null;
  }
}
