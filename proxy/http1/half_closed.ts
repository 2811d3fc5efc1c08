/**
 * A client that has sent FIN after its request. In: the time, and what has been written since. Out:
 * whether to probe it, or to take it for gone.
 *
 * It is either one that only reads on, which RFC 9112 §9.6 allows, or one that has closed. The two
 * look the same until something is sent: a closed one replies with a reset, which the write after
 * that shows, even one of no bytes. So before the response an HTTP/1.1 client gets a few interim
 * responses; during the response its own writes show it, with a write of no bytes behind each. Where
 * FIN has come in the middle of a response that is silent since, nothing shows it: after a second the
 * client is taken for gone, so that the end of an event stream is noticed.
 */
import { asciiBytes } from "../http/fields.ts";

/** The interim response that asks whether anybody listens (RFC 9110 §15.2: clients ignore it). */
export const PROBE: Uint8Array<ArrayBuffer> = asciiBytes("HTTP/1.1 102 Processing\r\n\r\n");

/** When a client is probed, in ms after its FIN. */
const PROBES = [0, 100, 800];
/**
 * A reset comes within this time, in ms, after a write; and a client gets it to hear something. With
 * the time between two looks the backend's side ends within a second.
 */
const PATIENCE = 850;

export class HalfClosedClient {
  #endedAt = Infinity;
  /** The last write since FIN. */
  #wroteAt = -Infinity;
  #probes = 0;

  /** A new exchange begins. */
  begin(): void {
    this.#endedAt = Infinity;
    this.#wroteAt = -Infinity;
    this.#probes = 0;
  }

  /** FIN has come. */
  ended(now: number): void {
    this.#endedAt = now;
  }

  /** A write to it has got through. */
  wrote(now: number): void {
    this.#wroteAt = now;
  }

  /**
   * What to do now, while no write is under way; `responded` once the response's head has gone out.
   * `touch` is a write of no bytes. Times in ms, monotonic.
   */
  check(now: number, responded: boolean): "wait" | "probe" | "touch" | "gone" {
    if (!responded) {
      if (now - this.#endedAt < (PROBES[this.#probes] ?? Infinity)) return "wait";
      this.#probes++;
      this.#wroteAt = now;
      return "probe";
    }
    if (this.#wroteAt === -Infinity) return now - this.#endedAt >= PATIENCE ? "gone" : "wait";
    return now - this.#wroteAt < PATIENCE ? "touch" : "wait";
  }
}
