/**
 * The way out to one proxy. In: lines, as bytes that many outlets share. Out: an HTTP response that
 * is written as fast as its reader reads: what waits here is one line at a time, by reference.
 */
import type { ServerResponse } from "node:http";

/** Bytes of one write; a socket buffers about as much. */
const SLICE = 65_536;

/** Milliseconds that a reader may take for the end, before the connection is cut. */
const END_PATIENCE = 2_000;

export interface Outlet {
  /** Whether everything is written, as far as the socket's own buffer. */
  readonly isFree: boolean;
  /** When something was taken from us last, on the monotonic clock in ms. */
  readonly progressAt: number;
  /** Bytes that were written. */
  readonly bytes: number;
  /** Bytes that wait here until the proxy reads what came before. */
  readonly unsent: number;
  /** To be called when it is free. */
  send(line: Uint8Array): void;
  /** Ends in order after what is being written, or after a while without that. */
  end(): void;
  /** Cuts it off. */
  destroy(): void;
}

export class ResponseOutlet implements Outlet {
  readonly #response: ServerResponse;
  readonly #now: () => number;
  readonly #onFree: () => void;
  #line: Uint8Array | null = null;
  #at = 0;
  #isDraining = false;
  #isEnding = false;
  #progressAt: number;
  #bytes = 0;

  /** @param onFree Called when it becomes free after it was not. */
  constructor(response: ServerResponse, now: () => number, onFree: () => void) {
    this.#response = response;
    this.#now = now;
    this.#onFree = onFree;
    this.#progressAt = now();
    response.on("drain", () => this.#drained());
  }

  get isFree(): boolean {
    return this.#line === null && !this.#isDraining && !this.#isEnding;
  }

  get progressAt(): number {
    return this.#progressAt;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get unsent(): number {
    const rest = this.#line === null ? 0 : this.#line.length - this.#at;
    return rest + this.#response.writableLength;
  }

  send(line: Uint8Array): void {
    if (!this.isFree) throw new Error("The line before is still being written");
    this.#line = line;
    this.#at = 0;
    this.#write();
  }

  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { socket } = this.#response;
    const cut = setTimeout(() => this.destroy(), END_PATIENCE);
    socket?.once("close", () => clearTimeout(cut));
    if (this.#line === null) this.#response.end();
  }

  destroy(): void {
    this.#isEnding = true;
    this.#line = null;
    this.#response.socket?.destroy();
    this.#response.destroy();
  }

  #write(): void {
    while (this.#line !== null) {
      const slice = this.#line.subarray(this.#at, this.#at + SLICE);
      this.#at += slice.length;
      this.#bytes += slice.length;
      this.#progressAt = this.#now();
      if (this.#at === this.#line.length) this.#line = null;
      if (!this.#response.write(slice)) {
        this.#isDraining = true;
        return;
      }
    }
    if (this.#isEnding) this.#response.end();
  }

  #drained(): void {
    if (!this.#isDraining) return;
    this.#isDraining = false;
    this.#progressAt = this.#now();
    this.#write();
    if (this.isFree) this.#onFree();
  }
}
