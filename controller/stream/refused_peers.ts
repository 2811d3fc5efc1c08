/**
 * Tells of those who ask for the stream and do not get it. In: each refusal, and who was let in. Out:
 * a line of the log for the first of each kind from an address.
 *
 * Anyone who reaches the port can be refused, as often as he likes: there are so many lines in ten
 * minutes and no more, and metrics count the rest.
 */
import type { Logger } from "../../shared/log.ts";
import type { Refused } from "./head.ts";

/** In ms. */
const WINDOW = 600_000;

const MAX_LINES = 64;

/** What proxies call themselves; others may put anything there. */
const PROXY_AGENT = /^pingress-proxy\/([\w.+-]{1,64})$/;

export class RefusedPeers {
  readonly #log: Logger;
  readonly #now: () => number;
  /** By address and reason, when it was told of; the first one first. */
  readonly #told = new Map<string, { readonly peer: string; readonly at: number }>();
  /** When each of the lines of this window was written. */
  #lines: number[] = [];

  /** @param now Milliseconds that never go back. */
  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /** @param agent The request's field `user-agent`. */
  refused(peer: string, agent: string | undefined, { status, reason }: Refused): void {
    const now = this.#now();
    for (const [key, { at }] of this.#told) {
      if (now - at < WINDOW) break;
      this.#told.delete(key);
    }
    this.#lines = this.#lines.filter((at) => now - at < WINDOW);
    const key = `${peer} ${status} ${reason}`;
    if (this.#told.has(key) || this.#lines.length >= MAX_LINES) return;
    this.#told.set(key, { peer, at: now });
    this.#lines.push(now);
    const build = PROXY_AGENT.exec(agent ?? "")?.[1] ?? null;
    this.#log.warn("A stream request was rejected", { peer, build, status, reason });
  }

  /** Whatever was told of this address is over; the next refusal is news. */
  welcomed(peer: string): void {
    for (const [key, one] of this.#told) {
      if (one.peer === peer) this.#told.delete(key);
    }
  }
}
