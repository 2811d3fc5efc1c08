/**
 * One look at the objects of a Gateway. In: what each call came to. Out: whether to look again, and what is wrong.
 */
import type { ApiError } from "../../kube/types.ts";
import type { WriteOutcome } from "../write/queue.ts";
import type { AddressFault } from "./plan.ts";
import { refusalOf } from "./refusal.ts";

export class Run {
  /** The first. */
  fault: AddressFault | null = null;
  /** A call was given up by ourselves. */
  isAborted = false;
  /** The fault may pass by itself. */
  isTransient = false;
  #error: ApiError | null = null;
  #calls = 0;
  #again = Infinity;

  /** Whether the API server is ill, so that further calls would only add to it. */
  get isIll(): boolean {
    const code = this.#error?.code ?? 200;
    return code === 0 || code === 429 || code >= 500;
  }

  get outcome(): WriteOutcome {
    if (this.#error !== null) return { kind: "failed", error: this.#error };
    const again = this.#again === Infinity ? {} : { again: this.#again };
    return { kind: this.#calls > 0 ? "done" : "unneeded", ...again };
  }

  called(): void {
    this.#calls++;
  }

  /** A call was refused. @param name `namespace/name`. */
  refused(kind: string, name: string, error: ApiError): void {
    this.#error ??= error;
    const refusal = refusalOf(kind, name, error);
    if (refusal === null) {
      this.isAborted = true;
      return;
    }
    if (this.fault !== null && !this.isTransient) return;
    const { reason, message, isTransient } = refusal;
    this.fault = { reason, message };
    this.isTransient = isTransient;
  }

  /** Something is wrong that no retry changes. */
  faulty(fault: AddressFault): void {
    this.fault ??= fault;
  }

  /** @param ms Milliseconds until the next look. */
  again(ms: number): void {
    this.#again = Math.min(this.#again, Math.max(0, ms));
  }
}
