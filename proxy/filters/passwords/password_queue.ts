/**
 * Passwords that wait to be compared. In: checks of all event loops of the process. Out: their verdicts,
 * one after the other from one thread beside those of the traffic; or `busy` if too many wait, or too many
 * of the same client: at once, or later to make room for a client that has fewer. A password that was right
 * for a hash is known from then on, so that its user does not wait behind guesses where another event loop
 * has the connection; a check that a client repeats while it waits is the same one.
 *
 * A check takes up to a second of a CPU: with a queue of 64 the last one waits for about six seconds at
 * bcrypt's usual cost. The thread is started with the first credentials: most proxies have none.
 */
import { createHmac, randomBytes } from "node:crypto";
import { ownerOf } from "../../../shared/net/address_owner.ts";
import { NO_RIGHTS } from "../../../shared/rights.ts";
import type { PasswordCheck, PasswordVerdict, VerifyPassword } from "./messages.ts";
import { NO_CHECK, type VerifierReply, type VerifierRequest } from "./verifier_messages.ts";

/** Checks that wait or are under way. */
const MAX_WAITING = 64;

/** Of one client: an IPv4 address, or the /64 of an IPv6 one. */
const MAX_OF_CLIENT = 4;

/** Right passwords that are known; the one that was used last goes last. */
const MAX_KNOWN = 16_384;

interface Waiting {
  readonly check: PasswordCheck;
  /** As it is counted. */
  readonly client: string;
  readonly settle: (verdict: PasswordVerdict) => void;
  readonly fail: (error: Error) => void;
}

/** The part of a Worker that is needed. */
export interface Verifier {
  onmessage: ((event: MessageEvent<VerifierReply>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(request: VerifierRequest): void;
  terminate(): void;
}

export class PasswordQueue {
  readonly #start: () => Verifier;
  readonly #maxKnown: number;
  readonly #key = randomBytes(32);
  /** Keyed hashes of hash and password: they stay right whatever else changes. */
  readonly #known = new Set<string>();
  #verifier: Verifier | null = null;
  /** By id, in their order; the first is under way. */
  readonly #waiting = new Map<number, Waiting>();
  readonly #ofClient = new Map<string, number>();
  /** By client and digest: a browser sends its first requests with a login at the same time. */
  readonly #pending = new Map<string, Promise<PasswordVerdict>>();
  #lastId = 0;

  /** @param start the thread; tests have their own. */
  constructor(start: () => Verifier = startVerifier, maxKnown = MAX_KNOWN) {
    this.#start = start;
    this.#maxKnown = maxKnown;
  }

  readonly verify: VerifyPassword = (check) => {
    const digest = this.#digest(check);
    if (this.#known.delete(digest)) {
      this.#known.add(digest);
      return Promise.resolve("right");
    }
    const client = ownerOf(check.client);
    const key = `${client} ${digest}`;
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const count = this.#ofClient.get(client) ?? 0;
    const hasRoom = count < MAX_OF_CLIENT &&
      (this.#waiting.size < MAX_WAITING || this.#makeRoom(count + 1));
    if (!hasRoom) return Promise.resolve("busy");
    this.#ofClient.set(client, count + 1);
    const { promise, resolve, reject } = Promise.withResolvers<PasswordVerdict>();
    this.#waiting.set(++this.#lastId, { check, client, settle: resolve, fail: reject });
    if (this.#waiting.size === 1) this.#next();
    const settled = promise.then((verdict) => {
      if (verdict === "right") this.#remember(digest);
      return verdict;
    }).finally(() => this.#pending.delete(key));
    this.#pending.set(key, settled);
    return settled;
  };

  /** Starts the thread, so that the first check need not wait for it: a second where a worker starts it. */
  prepare(): void {
    try {
      this.#verifier ??= this.#open();
    } catch {
      // The first check tries again, and says why it fails.
    }
  }

  /** Ends the thread; checks that wait reject. */
  close(): void {
    this.#gone(new Error("passwords are not verified any more"));
  }

  #digest({ hash, password }: PasswordCheck): string {
    return createHmac("sha256", this.#key).update(JSON.stringify([hash, password]))
      .digest("base64");
  }

  #remember(digest: string): void {
    this.#known.add(digest);
    const [oldest] = this.#known;
    if (this.#known.size > this.#maxKnown) this.#known.delete(oldest);
  }

  /**
   * Ends the newest check of the client that has the most, unless it has no more than `count`: a few clients that
   * guess without a pause must not keep everybody else from logging in. False if none was ended.
   */
  #makeRoom(count: number): boolean {
    const [[most, ofMost]] = [...this.#ofClient].sort(([, a], [, b]) => b - a);
    if (ofMost <= count) return false;
    const [id] = [...this.#waiting].findLast(([, { client }]) => client === most)!;
    this.#remove(id)!.settle("busy");
    return true;
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [id, { check: { hash, password } }] = first;
    try {
      const verifier = this.#verifier ??= this.#open();
      verifier.postMessage({ id, hash, password });
    } catch (error) {
      this.#gone(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #open(): Verifier {
    const verifier = this.#start();
    // Deno delays the first message where a worker starts the thread: see `worker_thread.ts`.
    verifier.postMessage({ id: NO_CHECK, hash: "", password: "" });
    verifier.onmessage = ({ data: { id, isRight } }) => {
      const waiting = this.#remove(id);
      this.#next();
      waiting?.settle(isRight ? "right" : "wrong");
    };
    verifier.onerror = (event) => {
      event.preventDefault();
      this.#gone(new Error(`the thread that verifies passwords has ended: ${event.message}`));
    };
    return verifier;
  }

  #remove(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(id);
    const { client } = waiting;
    const count = this.#ofClient.get(client) ?? 0;
    if (count > 1) this.#ofClient.set(client, count - 1);
    else this.#ofClient.delete(client);
    return waiting;
  }

  /** The next check starts another thread. */
  #gone(error: Error): void {
    this.#verifier?.terminate();
    this.#verifier = null;
    for (const id of [...this.#waiting.keys()]) this.#remove(id)?.fail(error);
  }
}

function startVerifier(): Verifier {
  return new Worker(new URL("./verifier.ts", import.meta.url), {
    type: "module",
    name: "password verifier",
    deno: { permissions: NO_RIGHTS },
  });
}
