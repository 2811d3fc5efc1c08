/**
 * Passwords that another thread has verified. In: checks, and their verdicts as they come back. Out:
 * the same promises as of a queue in this thread.
 */
import type {
  PasswordCheck,
  PasswordVerdict,
  VerifyPassword,
} from "../filters/passwords/messages.ts";

export class PostedPasswords {
  readonly #post: (id: number, check: PasswordCheck) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<PasswordVerdict>>();
  #lastId = 0;

  constructor(post: (id: number, check: PasswordCheck) => void) {
    this.#post = post;
  }

  readonly verify: VerifyPassword = (check) => {
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<PasswordVerdict>();
    this.#waiting.set(id, waiting);
    this.#post(id, check);
    return waiting.promise;
  };

  /** @param verdict null where the check could not be made. */
  settle(id: number, verdict: PasswordVerdict | null): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (verdict !== null) waiting?.resolve(verdict);
    else waiting?.reject(new Error("the password could not be verified"));
  }
}
