/**
 * A `node:tls` socket as a transport. In: a socket whose handshake is done, and the raw one below it.
 * Out: reads and writes with backpressure both ways.
 *
 * In Deno `pause()` on a TLS socket does not stop reading, and `resume()` on the raw one does not
 * start it again, so reading is stopped and started at the raw socket's handle.
 */
import { Buffer } from "node:buffer";
import type net from "node:net";
import type tls from "node:tls";
import type { Transport } from "./transport.ts";

/** Decrypted bytes held for a reader that is busy, before the raw socket stops. */
const READ_AHEAD = 64 * 1024;

/** The two calls of a raw socket's handle that stop and start its reading. */
interface RawHandle {
  readStop(): void;
  readStart(): void;
}

/** A TLS socket as a transport, with backpressure both ways. */
export class TlsTransport implements Transport {
  readonly #socket: tls.TLSSocket;
  readonly #handle: RawHandle | null;
  readonly #chunks: Buffer[] = [];
  /** Bytes in `#chunks`, and how many of the first one are consumed. */
  #held = 0;
  #offset = 0;
  #stopped = false;
  #ended = false;
  #error: Error | null = null;
  #reading: {
    view: Uint8Array;
    resolve: (count: number | null) => void;
    reject: (error: Error) => void;
  } | null = null;

  constructor(socket: tls.TLSSocket, raw: net.Socket) {
    this.#socket = socket;
    this.#handle = (raw as unknown as { _handle: RawHandle | null })._handle;
    socket.on("data", (chunk: Buffer) => this.#arrived(chunk));
    socket.on("end", () => {
      this.#ended = true;
      this.#serve();
    });
    socket.on("error", (error: Error) => this.#broke(error));
    socket.on("close", () => this.#broke(new Error("closed")));
  }

  read(view: Uint8Array): Promise<number | null> {
    return new Promise((resolve, reject) => {
      this.#reading = { view, resolve, reject };
      this.#serve();
    });
  }

  /** Settles when the system has taken all of `view`, so that it may be used again. */
  write(view: Uint8Array): Promise<number> {
    if (this.#error !== null) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
      this.#socket.write(bytes, (error) => error ? reject(error) : resolve(view.length));
    });
  }

  /** Sends close_notify as well. */
  closeWrite(): Promise<void> {
    if (this.#error !== null) return Promise.reject(this.#error);
    return new Promise((resolve) => {
      this.#socket.once("close", resolve);
      this.#socket.end(() => {
        this.#socket.off("close", resolve);
        resolve();
      });
    });
  }

  close(): void {
    this.#socket.destroy();
    this.#broke(new Error("closed"));
  }

  #arrived(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    this.#serve();
    if (this.#held >= READ_AHEAD && !this.#stopped) {
      this.#stopped = true;
      this.#handle?.readStop();
    }
  }

  /** Gives a waiting read what there is. */
  #serve(): void {
    const { view, resolve, reject } = this.#reading ?? {};
    if (view === undefined || resolve === undefined || reject === undefined) return;
    if (this.#held > 0) {
      this.#reading = null;
      resolve(this.#take(view));
    } else if (this.#ended) {
      this.#reading = null;
      resolve(null);
    } else if (this.#error !== null) {
      this.#reading = null;
      reject(this.#error);
    }
  }

  #take(view: Uint8Array): number {
    let count = 0;
    while (count < view.length && this.#chunks.length > 0) {
      const chunk = this.#chunks[0];
      const part = chunk.subarray(this.#offset, this.#offset + view.length - count);
      view.set(part, count);
      count += part.length;
      this.#offset += part.length;
      if (this.#offset === chunk.length) {
        this.#chunks.shift();
        this.#offset = 0;
      }
    }
    this.#held -= count;
    if (this.#stopped && this.#held < READ_AHEAD / 2 && this.#error === null) {
      this.#stopped = false;
      this.#handle?.readStart();
    }
    return count;
  }

  #broke(error: Error): void {
    this.#error ??= error;
    this.#serve();
  }
}
