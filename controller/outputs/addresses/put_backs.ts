/**
 * When a change by others is put back. In: what we write of each object. Out: whether it may be written now:
 * what was written before and is so no more was changed by somebody, who, if he insists, must not keep us busy.
 */
import { createHash } from "node:crypto";
import { Backoff } from "../../kube/backoff.ts";

/** Between two times that one change is put back, in ms. */
const PUT_BACKS = { first: 1_000, last: 60_000 };

/** Milliseconds after which whoever changed our fields has given up. */
const PEACE = 600_000;

interface Written {
  /** Digest of what was written last. */
  readonly digest: string;
  notBefore: number;
  at: number;
  readonly pace: Backoff;
}

export class PutBacks {
  readonly #now: () => number;
  readonly #written = new Map<string, Written>();

  /** @param now Milliseconds that never go back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds to wait until `planned` may be written; 0 for none. */
  waitFor(name: string, planned: unknown): number {
    const written = this.#written.get(name);
    if (written === undefined || written.digest !== digestOf(planned)) return 0;
    return Math.max(0, written.notBefore - this.#now());
  }

  wrote(name: string, planned: unknown): void {
    const now = this.#now();
    const digest = digestOf(planned);
    const before = this.#written.get(name);
    if (before?.digest !== digest) {
      this.#written.set(name, { digest, notBefore: now, at: now, pace: new Backoff(PUT_BACKS) });
      return;
    }
    if (now - before.at > PEACE) before.pace.reset();
    before.at = now;
    before.notBefore = now + before.pace.next();
  }

  forget(name: string): void {
    this.#written.delete(name);
  }

  clear(): void {
    this.#written.clear();
  }
}

function digestOf(planned: unknown): string {
  return createHash("sha256").update(JSON.stringify(planned)).digest("base64");
}
