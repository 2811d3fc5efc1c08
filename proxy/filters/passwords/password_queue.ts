/**
 * Passwords that wait to be compared. In: checks of all event loops of the process. Out: their verdicts,
 * one after the other from one thread beside those of the traffic; `busy` at once where too many wait,
 * or too many of the same client.
 *
 * A check takes up to a second of a CPU: with a queue of 64 the last one waits for about six seconds at
 * bcrypt's usual cost. The thread is started by the first check: most proxies have none to do.
 */
import { NO_RIGHTS } from "../../../shared/rights.ts";
import type { PasswordCheck, PasswordVerdict, VerifyPassword } from "./messages.ts";
import type { VerifierReply, VerifierRequest } from "./verifier.ts";

/** Checks that wait or are under way. */
const MAX_WAITING = 64;

/** Of one client's address. */
const MAX_OF_CLIENT = 4;

interface Waiting {
  readonly check: PasswordCheck;
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
  #verifier: Verifier | null = null;
  /** By id, in their order; the first is under way. */
  readonly #waiting = new Map<number, Waiting>();
  readonly #ofClient = new Map<string, number>();
  #lastId = 0;

  /** @param start the thread; tests have their own. */
  constructor(start: () => Verifier = startVerifier) {
    this.#start = start;
  }

  readonly verify: VerifyPassword = (check) => {
    const { client } = check;
    const count = this.#ofClient.get(client) ?? 0;
    if (this.#waiting.size >= MAX_WAITING || count >= MAX_OF_CLIENT) {
      return Promise.resolve("busy");
    }
    this.#ofClient.set(client, count + 1);
    const { promise, resolve, reject } = Promise.withResolvers<PasswordVerdict>();
    this.#waiting.set(++this.#lastId, { check, settle: resolve, fail: reject });
    if (this.#waiting.size === 1) this.#next();
    return promise;
  };

  /** Ends the thread; checks that wait reject. */
  close(): void {
    this.#gone(new Error("passwords are not verified any more"));
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
    const { client } = waiting.check;
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
