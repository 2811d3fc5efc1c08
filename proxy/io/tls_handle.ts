/**
 * The handle below a `node:tls` socket. In: a socket whose handshake is done. Out: its decrypted
 * bytes as they arrive, and writes that go into TLS directly; nothing where this Deno is not known to
 * have the handle that this needs, so that the socket's public side has to do.
 *
 * Deno's `Readable` and `Writable`, with their ticks and requests, take 2 to 3 µs of the 9 to 10 µs of
 * user time that one small read and one small write take over TLS. The handle is no public interface, so it is only used in releases that the tests
 * have passed with.
 */
import type tls from "node:tls";
import { getSystemErrorName } from "node:util";

/** What is used of Deno's `TLSWrap`. */
interface Wrap {
  /** Called with the bytes, or with nothing at the end or an error, which it asks Deno for. */
  onread: (this: Wrap, bytes?: ArrayBuffer) => void;
  /** Has the handle call this from now on; `readStart` would have it call `onread`. */
  setOnread(onread: (bytes?: ArrayBuffer) => void): void;
  /**
   * Takes a copy of the bytes, and calls `oncomplete` in a later turn, when the system has them; 0, or
   * an error. A request that is under way when the next is made is forgotten.
   */
  writeBuffer(request: WriteRequest, bytes: Uint8Array): number;
}

/** Releases whose handles are what `Wrap` says. */
const KNOWN = /^2\.9\./;

/** Null where Deno has another handle, or keeps it to itself. */
export function tlsHandle(
  socket: tls.TLSSocket,
  version: string = Deno.version.deno,
): TlsHandle | null {
  if (!KNOWN.test(version)) return null;
  const { _handle: wrap } = socket as unknown as { readonly _handle?: Partial<Wrap> | null };
  if (typeof wrap !== "object" || wrap === null) return null;
  const { onread, setOnread, writeBuffer } = wrap;
  const has = [onread, setOnread, writeBuffer].every((each) => typeof each === "function");
  return has ? new TlsHandle(wrap as Wrap) : null;
}

/** A handle that is read and written past its socket's streams. */
export class TlsHandle {
  readonly #wrap: Wrap;

  constructor(wrap: Wrap) {
    this.#wrap = wrap;
  }

  /** Bytes go to `arrived` from now on; ends and errors still to the socket. */
  read(arrived: (chunk: Uint8Array) => void): void {
    const wrap = this.#wrap;
    const { onread } = wrap;
    const read = (bytes?: ArrayBuffer) => {
      if (bytes === undefined) onread.call(wrap);
      else arrived(new Uint8Array(bytes));
    };
    wrap.onread = read;
    wrap.setOnread(read);
  }

  /** Writes all of `view`, which may be used again at once. One write at a time. */
  write(request: WriteRequest, view: Uint8Array): void {
    const status = this.#wrap.writeBuffer(request, view);
    if (status !== 0) request.oncomplete(status);
  }
}

/** What a handle tells that a write is done; for any number of them, one after the other. */
export class WriteRequest {
  #done: ((error: Error | null) => void) | null = null;

  start(done: (error: Error | null) => void): void {
    this.#done = done;
  }

  /** Ends the write under way, if there is one. */
  fail(error: Error | null): void {
    const done = this.#done;
    this.#done = null;
    done?.(error);
  }

  /** Called by the handle; below 0 is an error of the system. */
  oncomplete(status: number): void {
    this.fail(status < 0 ? systemError(status) : null);
  }
}

function systemError(status: number): Error {
  const code = getSystemErrorName(status);
  return Object.assign(new Error(`write ${code}`), { code, errno: status, syscall: "write" });
}
