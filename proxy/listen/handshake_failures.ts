/**
 * TLS handshakes that fail, for the log. In: each failure. Out: one line for all of an interval, as
 * strangers can make as many as they like: the first at once, the next ones together when the
 * interval is over. Metrics count them all, and at level debug each has its line.
 */
import type { Logger } from "../../shared/log.ts";

/** Between two lines, in ms. */
const INTERVAL = 10_000;

export class HandshakeFailures {
  readonly #log: Logger;
  readonly #interval: number;
  #count = 0;
  #last: { readonly client: string; readonly reason: string } | null = null;
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(log: Logger, interval = INTERVAL) {
    this.#log = log;
    this.#interval = interval;
  }

  /** One more. `client` is its address. */
  add(client: string, reason: string): void {
    this.#log.debug("Connection failed", { code: "handshake_failed", detail: reason, client });
    if (this.#closed) return;
    this.#count++;
    this.#last = { client, reason };
    if (this.#timer === undefined) this.#tell();
  }

  /** Tells what has not been told yet, and no more after that. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#write();
  }

  #tell(): void {
    this.#timer = undefined;
    if (this.#write()) this.#timer = setTimeout(() => this.#tell(), this.#interval);
  }

  /** Whether there was anything. */
  #write(): boolean {
    if (this.#last === null) return false;
    const { client, reason } = this.#last;
    this.#log.info("TLS handshakes failed", { count: this.#count, last: reason, client });
    this.#count = 0;
    this.#last = null;
    return true;
  }
}
