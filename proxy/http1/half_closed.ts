/**
 * A client that has sent FIN after its request. In: the time, and what has been written since. Out:
 * whether to probe it, or to take it for gone.
 *
 * It is either one that only reads on, which RFC 9112 §9.6 allows, or one that has closed. The two
 * look the same until something is sent: a closed one answers with a reset, which the write after
 * that shows. So before the answer an HTTP/1.1 client gets a few interim responses; during the
 * answer its own writes tell, and one that stalls is given up after a second.
 */
import { asciiBytes } from "../fields.ts";

/** The interim answer that asks whether anybody listens (RFC 9110 §15.2: clients ignore it). */
export const PROBE: Uint8Array = asciiBytes("HTTP/1.1 102 Processing\r\n\r\n");

/** When a client is probed, in ms after its FIN. */
const PROBES = [0, 100, 800];
/** Silence during an answer, in ms, after which it is taken for gone. */
const STALL = 1_000;

export class HalfClosedClient {
  #endedAt = Infinity;
  #probes = 0;
  #goneAt = Infinity;

  /** A new exchange begins. */
  begin(): void {
    this.#endedAt = this.#goneAt = Infinity;
    this.#probes = 0;
  }

  /** FIN has come. */
  ended(now: number): void {
    this.#endedAt = now;
  }

  /** A write to it has got through. */
  wrote(now: number): void {
    if (this.#goneAt !== Infinity) this.#goneAt = now + STALL;
  }

  /** What to do now; `answering` once the answer's head has gone out. Times in ms, monotonic. */
  check(now: number, answering: boolean): "wait" | "probe" | "gone" {
    if (answering) {
      if (this.#goneAt === Infinity) this.#goneAt = now + STALL;
      return now >= this.#goneAt ? "gone" : "wait";
    }
    if (now - this.#endedAt < (PROBES[this.#probes] ?? Infinity)) return "wait";
    this.#probes++;
    return "probe";
  }
}
