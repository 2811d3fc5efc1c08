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
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #take: (chunk: Uint8Array) => void;
  #isBroken = false;

  constructor(request: IncomingMessage) {
    this.#request = request;
    this.#take = (chunk) => {
      this.#bytes += chunk.length;
      if (this.#bytes <= MAX_REPORT_BYTES) return void this.#chunks.push(chunk);
      this.#break();
    };
    request.on("data", (chunk: Buffer) => this.#take(chunk));
    request.on("end", () => this.#isBroken = true);
  }

  /** It is too long, or has ended. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** From now on `take` gets everything, what has come before first. */
  handOver(take: (chunk: Uint8Array) => void): void {
    this.#take = take;
    for (const chunk of this.#chunks.splice(0)) take(chunk);
  }

  #break(): void {
    this.#isBroken = true;
    this.#chunks.length = 0;
    this.#request.socket.destroy();
  }
}
