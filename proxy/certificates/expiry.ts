/**
 * Certificates that expire while nothing else happens. In: the loader that has read those in force.
 * Out: its warning, once each has expired, with no snapshot to prompt it.
 */
import type { CertificateLoader } from "./loader.ts";

/** The longest sleep, in ms: clocks are set and machines suspended, and timers know of neither. */
const LONGEST = 60 * 60 * 1000;

export class ExpiryTimer {
  readonly #certificates: Pick<CertificateLoader, "nextExpiry" | "tellExpired">;
  readonly #now: () => number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param now the time in ms since the epoch. */
  constructor(
    certificates: Pick<CertificateLoader, "nextExpiry" | "tellExpired">,
    now: () => number,
  ) {
    this.#certificates = certificates;
    this.#now = now;
  }

  /** Waits for the next of those that are in force now. */
  restart(): void {
    this.stop();
    const next = this.#certificates.nextExpiry;
    if (next === null) return;
    // At the very time it is still valid.
    const delay = Math.min(Math.max(next + 1 - this.#now(), 1), LONGEST);
    this.#timer = setTimeout(() => {
      this.#certificates.tellExpired();
      this.restart();
    }, delay);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
