/**
 * The beginning of a request's body. In: a request from a peer that is not known yet. Out: what has come, once
 * it is known: not more than one report may be long.
 */
import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { MAX_REPORT_BYTES } from "../../shared/stream/protocol.ts";

/** What comes before it is known from whom: not more than one report may be long. */
export class EarlyBody {
  readonly #request: IncomingMessage;
  /** What has come, in its first `#bytes`. Chunks are copied, as each has hundreds of bytes of its own. */
  #held = NOTHING;
  #bytes = 0;
  #chunks = 0;
  #take: (chunk: Uint8Array) => void;
  #isBroken = false;

  constructor(request: IncomingMessage) {
    this.#request = request;
    this.#take = (chunk) => this.#hold(chunk);
    request.on("data", (chunk: Buffer) => this.#take(chunk));
    request.on("end", () => this.#isBroken = true);
  }

  /** It is too long, is in too many chunks, or has ended. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** From now on `take` gets everything, what has come before first. */
  handOver(take: (chunk: Uint8Array) => void): void {
    this.#take = take;
    const held = this.#held.subarray(0, this.#bytes);
    this.#held = NOTHING;
    if (held.length > 0) take(held);
  }

  #hold(chunk: Uint8Array): void {
    const bytes = this.#bytes + chunk.length;
    if (bytes > MAX_REPORT_BYTES || ++this.#chunks > MAX_CHUNKS) return this.#break();
    if (bytes > this.#held.length) {
      const larger = new Uint8Array(Math.min(MAX_REPORT_BYTES, Math.max(LEAST, 2 * bytes)));
      larger.set(this.#held.subarray(0, this.#bytes));
      this.#held = larger;
    }
    this.#held.set(chunk, this.#bytes);
    this.#bytes = bytes;
  }

  #break(): void {
    this.#isBroken = true;
    this.#held = NOTHING;
    this.#bytes = MAX_REPORT_BYTES;
    this.#request.socket.destroy();
  }
}

const NOTHING = new Uint8Array(0);

/** Bytes that are made room for: a first report takes a few hundred. */
const LEAST = 1024;

/** A proxy writes a report at once. Whoever puts one byte into each chunk costs hundreds of bytes for it. */
const MAX_CHUNKS = 256;
