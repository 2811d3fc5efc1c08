/**
 * A `node:tls` socket as a transport. In: a socket whose handshake is done, and the raw one below it.
 * Out: reads and writes with backpressure both ways.
 *
 * Bytes pass the socket's streams by, which take a quarter of the time: its handle is read and
 * written, where this Deno is known to have what that needs (`tls_handle.ts`). The socket still
 * tells of ends and errors, and closes.
 *
 * In Deno `pause()` on a TLS socket does not stop reading, and `resume()` on the raw one does not
 * start it again, so reading is stopped and started at the raw socket's handle.
 */
import { Buffer } from "node:buffer";
import type net from "node:net";
import type tls from "node:tls";
import { type TlsHandle, tlsHandle, WriteRequest } from "./tls_handle.ts";
import type { Transport } from "./transport.ts";

/** Decrypted bytes held for a reader that is busy, before the raw socket stops. */
const READ_AHEAD = 64 * 1024;

/** What one write takes at most: deadlines of who reads slowly go by the writes that are done. */
const PIECE = 64 * 1024;

/** Memory of chunks this long is given back once they are consumed; below, it is not worth a call. */
const GIVEN_BACK = 4 * 1024;

/** One for all: each connection ends with it, and the stack of one of its own would tell nothing. */
const CLOSED = new Error("closed");

/** The two calls of a raw socket's handle that stop and start its reading. */
interface RawHandle {
  readStop(): void;
  readStart(): void;
}

/** A TLS socket as a transport, with backpressure both ways. */
export class TlsTransport implements Transport {
  readonly #socket: tls.TLSSocket;
  readonly #raw: RawHandle | null;
  readonly #handle: TlsHandle | null;
  readonly #chunks: Uint8Array[] = [];
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
  /** Reused: the handle takes one write at a time. */
  readonly #request = new WriteRequest();
  /** The last write at the handle that is not done. */
  #writing: Promise<number> | null = null;

  constructor(socket: tls.TLSSocket, raw: net.Socket, handle = tlsHandle(socket)) {
    this.#socket = socket;
    this.#raw = (raw as unknown as { _handle: RawHandle | null })._handle;
    this.#handle = handle;
    // What had arrived before is in the socket's stream.
    socket.on("data", (chunk: Buffer) => this.#arrived(chunk));
    socket.on("end", () => {
      this.#ended = true;
      this.#serve();
    });
    socket.on("error", (error: Error) => this.#broke(error));
    socket.on("close", () => this.#broke(CLOSED));
    if (handle !== null) handle.read((chunk) => this.#arrived(chunk));
  }

  read(view: Uint8Array): Promise<number | null> {
    if (this.#held > 0) return Promise.resolve(this.#take(view));
    return new Promise((resolve, reject) => {
      this.#reading = { view, resolve, reject };
      this.#serve();
    });
  }

  /** Settles when the system has taken as much of `view` as it tells, which may be used again then. */
  write(view: Uint8Array): Promise<number> {
    if (this.#error !== null) return Promise.reject(this.#error);
    const piece = view.length > PIECE ? view.subarray(0, PIECE) : view;
    if (this.#handle !== null) return this.#writeNext(this.#handle, piece);
    return new Promise((resolve, reject) => {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      this.#socket.write(bytes, (error) => error ? reject(error) : resolve(piece.length));
    });
  }

  /** Writes once the writes before are done: the handle forgets one for the next. */
  #writeNext(handle: TlsHandle, view: Uint8Array): Promise<number> {
    // It would not tell when none are written; an error shows by itself.
    if (view.length === 0) return Promise.resolve(0);
    if (this.#writing === null) return this.#writing = this.#send(handle, view);
    const writing = this.#writing.then(() => {
      if (this.#error !== null) throw this.#error;
      return this.#send(handle, view);
    });
    this.#writing = writing;
    const done = () => {
      if (this.#writing === writing) this.#writing = null;
    };
    writing.then(done, done);
    return writing;
  }

  #send(handle: TlsHandle, view: Uint8Array): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const { length } = view;
    // Called before this returns where the handle refuses the write.
    this.#request.start((error) => {
      if (this.#writing === promise) this.#writing = null;
      if (error === null) return resolve(length);
      reject(error);
      this.#socket.destroy(error);
    });
    handle.write(this.#request, view);
    return promise;
  }

  /** Sends close_notify as well. */
  closeWrite(): Promise<void> {
    if (this.#error !== null) return Promise.reject(this.#error);
    // The handle would send close_notify before what it still holds of a long write.
    if (this.#writing !== null) return this.#writing.then(() => this.closeWrite());
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
    this.#broke(CLOSED);
  }

  #arrived(chunk: Uint8Array): void {
    if (this.#error !== null) return;
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    this.#serve();
    if (this.#held >= READ_AHEAD && !this.#stopped) {
      this.#stopped = true;
      this.#raw?.readStop();
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
        giveBack(chunk);
      }
    }
    this.#held -= count;
    if (this.#stopped && this.#held < READ_AHEAD / 2 && this.#error === null) {
      this.#stopped = false;
      this.#raw?.readStart();
    }
    return count;
  }

  #broke(error: Error): void {
    this.#error ??= error;
    this.#request.fail(this.#error);
    this.#serve();
  }
}

/**
 * Each chunk comes in memory of its own, outside of the heap. Left to the garbage collector it would
 * bring about a collection of everything for each few dozen MiB, whatever the heap holds.
 */
function giveBack({ buffer, length }: Uint8Array): void {
  if (length < GIVEN_BACK || length !== buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
