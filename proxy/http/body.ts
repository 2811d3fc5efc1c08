/**
 * Bodies, neutral of the HTTP version. In: nothing. Out: how a body is pulled, and by whom; the body of a
 * message that has none, and one of our own making.
 */
import type { DirectSource, ReadWaiter } from "../io/direct_relay.ts";
import type { Fields } from "./fields.ts";

/** The result comes later: a waiter is told. */
export const LATER: unique symbol = Symbol("later");

/**
 * A body on its way, pulled by the side that writes it on: nothing is read before the last view has
 * been written, so a slow reader holds at most one buffer.
 */
export interface Body {
  /**
   * The next bytes, null at the end. A view holds until the next call. Comes without a promise
   * where bytes have arrived already. Rejects with a ProxyError when the body breaks off.
   */
  read(): Uint8Array | null | Promise<Uint8Array | null>;
  /**
   * As `read`, without a promise where bytes are waited for: LATER, and `reader` is told, never before
   * this returns. Throws what `read` would reject with at once. Missing where `read` has to do.
   */
  readThen?(reader: ReadWaiter): Uint8Array | null | typeof LATER;
  /** The same body, where its transport may be read directly. */
  readonly directSource?: DirectSource;
  /** True once the last byte has been handed out. */
  readonly done: boolean;
  /** Trailer fields, known once done; null when there were none. */
  readonly trailers: Fields | null;
}

/** The next bytes of any body; LATER where `reader` is told. Throws what the body throws at once. */
export function readThen(
  body: Body,
  reader: ReadWaiter,
): Uint8Array | null | typeof LATER {
  if (body.readThen !== undefined) return body.readThen(reader);
  const next = body.read();
  if (!(next instanceof Promise)) return next;
  next.then((view) => reader.arrived(view), (error) => reader.broke(error));
  return LATER;
}

/** The body of a message that has none. */
export const NO_BODY: Body = {
  read: () => null,
  done: true,
  trailers: null,
};

/** A body of our own making, in one piece. */
export class BytesBody implements Body {
  readonly trailers = null;
  #bytes: Uint8Array | null;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes.length > 0 ? bytes : null;
  }

  get done(): boolean {
    return this.#bytes === null;
  }

  read(): Uint8Array | null {
    const bytes = this.#bytes;
    this.#bytes = null;
    return bytes;
  }
}
