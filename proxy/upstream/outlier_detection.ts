/**
 * Endpoints that fail again and again are left out for a while (passive health checks). In: how each
 * attempt went. Out: those of an upstream's endpoints that take their turn. Knows no protocol.
 *
 * The cluster needs up to 40 s to notice a node that is gone, requests notice at once. It is only a
 * guess, though: at most half of the endpoints are left out, as more failing at a time says that the
 * fault lies elsewhere, and the others could not carry their share.
 */

export interface OutlierLimits {
  /** Failures in a row that leave an endpoint out; 0 never does. */
  readonly ejectionFailures: number;
  /** Answers in a row that say that it cannot serve; 0 never does. */
  readonly ejectionAnswers: number;
  /** For how long the first time, in ms; each time that it fails right after, twice as long. */
  readonly ejectionTime: number;
}

/** An endpoint that is left out again and again is asked at least this often, in ms. */
const MAX_TIME = 60_000;

/**
 * What is held against an endpoint: `no_answer` where there was no connection, no TLS or no answer;
 * `gateway_error` where it says for one behind it, or for itself, that it cannot serve now.
 */
export type Failing = "no_answer" | "gateway_error";

/** An endpoint that has failed since it last succeeded. */
interface Suspect {
  failures: number;
  answers: number;
  ejections: number;
  /** When it takes its turn again, in ms; 0 while it does. */
  until: number;
}

export class OutlierDetection<E> {
  readonly #limits: OutlierLimits;
  /** Told of each change of how many are left out: the difference. */
  readonly #onChange: (more: number) => void;
  #outCount = 0;
  /** Empty while all is well, so that a success costs one comparison. */
  readonly #suspects = new Map<E, Suspect>();
  #all: readonly E[] = [];
  #eligible: readonly E[] = [];
  /** When the first of those left out takes its turn again, in ms. */
  #nextReturn = Infinity;

  constructor(limits: OutlierLimits, onChange: (more: number) => void = () => {}) {
    this.#limits = limits;
    this.#onChange = onChange;
  }

  /** These are the endpoints from now on. What is known of those that stay is kept. */
  list(endpoints: readonly E[]): void {
    this.#all = endpoints;
    if (this.#suspects.size > 0) {
      const listed = new Set(endpoints);
      for (const endpoint of this.#suspects.keys()) {
        if (!listed.has(endpoint)) this.#suspects.delete(endpoint);
      }
      // Of fewer endpoints half is less: those that would be back first are.
      const out = this.#out().sort((a, b) => a.until - b.until);
      for (const suspect of out.slice(0, Math.max(0, out.length - this.#limit))) suspect.until = 0;
    }
    this.#sift();
  }

  /** Those that take their turn at `now` (ms): the very list that was given while none is left out. */
  eligible(now: number): readonly E[] {
    if (now >= this.#nextReturn) {
      for (const suspect of this.#out()) if (suspect.until <= now) suspect.until = 0;
      this.#sift();
    }
    return this.#eligible;
  }

  /** An attempt failed at `now`. For how long its endpoint is left out from now on, in ms, or 0. */
  failed(endpoint: E, now: number, failing: Failing = "no_answer"): number {
    const { ejectionFailures, ejectionAnswers, ejectionTime } = this.#limits;
    const isAnswer = failing === "gateway_error";
    const threshold = isAnswer ? ejectionAnswers : ejectionFailures;
    // Requests under way may still fail at an endpoint that is listed no longer.
    if (threshold === 0 || !this.#all.includes(endpoint)) return 0;
    this.eligible(now);
    const suspect = this.#suspects.get(endpoint) ??
      { failures: 0, answers: 0, ejections: 0, until: 0 };
    this.#suspects.set(endpoint, suspect);
    if (suspect.until !== 0) return 0;
    if (!isAnswer) suspect.failures++;
    else {
      // It answers, so what failed before is over.
      suspect.failures = 0;
      suspect.answers++;
    }
    const count = isAnswer ? suspect.answers : suspect.failures;
    if (count < threshold || this.#out().length >= this.#limit) return 0;
    const time = Math.min(
      ejectionTime * 2 ** suspect.ejections,
      Math.max(ejectionTime, MAX_TIME),
    );
    suspect.ejections++;
    suspect.until = now + time;
    this.#sift();
    return time;
  }

  /** It answered: whatever was held against it is forgotten, and it takes its turn. */
  succeeded(endpoint: E): void {
    if (this.#suspects.size === 0) return;
    const suspect = this.#suspects.get(endpoint);
    if (suspect === undefined) return;
    this.#suspects.delete(endpoint);
    if (suspect.until !== 0) this.#sift();
  }

  get #limit(): number {
    return Math.floor(this.#all.length / 2);
  }

  #out(): Suspect[] {
    return [...this.#suspects.values()].filter(({ until }) => until !== 0);
  }

  #sift(): void {
    const out = this.#out();
    this.#nextReturn = Math.min(...out.map(({ until }) => until));
    this.#eligible = this.#nextReturn === Infinity
      ? this.#all
      : this.#all.filter((endpoint) => (this.#suspects.get(endpoint)?.until ?? 0) === 0);
    const more = out.length - this.#outCount;
    this.#outCount = out.length;
    if (more !== 0) this.#onChange(more);
  }
}
