/**
 * A request's body that can be sent again while little of it has been. In: a body that is pulled. Out:
 * the same body for one reader after another, from its beginning after each `rewind`, for as long as
 * `isWhole`.
 *
 * A backend of HTTP/2 may say that it has done nothing with a request (RFC 9113 §8.7), most often
 * before much of its body has come: what has come by then is kept, up to a small bound.
 */
import { ProxyError } from "../errors.ts";
import type { Fields } from "../http/fields.ts";
import type { Body } from "../http/body.ts";

export class ReplayBody implements Body {
  readonly #source: Body;
  readonly #limit: number;
  /** Copies of the views so far; null once they are too much, or not wanted any more. */
  #kept: Uint8Array[] | null = [];
  #size = 0;
  /** The next of `#kept` to be read. */
  #next = 0;
  /** The source's read that is under way: whoever reads next waits for it too. */
  #pending: Promise<Uint8Array | null> | null = null;
  /** Whoever waits for it has read all that was before it. */
  #isAwaited = false;
  /** More has come than is kept for another time: the rest of `#kept` is read but once. */
  #isFull = false;
  /** How often it has begun anew. */
  #turn = 0;

  /** @param limit of what is kept, in bytes. */
  constructor(source: Body, limit: number) {
    this.#source = source;
    this.#limit = limit;
  }

  /** It can be read from its beginning. */
  get isWhole(): boolean {
    return this.#kept !== null && !this.#isFull;
  }

  get done(): boolean {
    return this.#source.done && this.#pending === null && !this.#isBehind;
  }

  get trailers(): Fields | null {
    return this.#source.trailers;
  }

  /** It begins anew: what is read again is whole only where `isWhole`. */
  rewind(): void {
    this.#turn++;
    this.#next = 0;
    this.#isAwaited = false;
  }

  /**
   * The body for one attempt. A read after the next `rewind` rejects: an attempt that has failed may
   * wait for bytes as the next one does, and would go on to take those behind them.
   */
  reader(): Body {
    const turn = this.#turn;
    return new Reader(this, () => turn !== this.#turn);
  }

  /** It will not be sent again: nothing is kept any more. */
  forget(): void {
    if (!this.#isBehind) this.#kept = null;
  }

  read(): Uint8Array | null | Promise<Uint8Array | null> {
    if (this.#isBehind) return this.#kept![this.#next++];
    if (this.#isFull) this.#kept = null;
    this.#isAwaited = true;
    if (this.#pending !== null) return this.#pending;
    const view = this.#source.read();
    if (!(view instanceof Promise)) return this.#take(view);
    this.#pending = view.then(this.#arrived, this.#broke);
    return this.#pending;
  }

  /** There is something kept that is yet to be read again. */
  get #isBehind(): boolean {
    return this.#kept !== null && this.#next < this.#kept.length;
  }

  readonly #arrived = (view: Uint8Array | null): Uint8Array | null => {
    this.#pending = null;
    return this.#take(view);
  };

  readonly #broke = (error: unknown): never => {
    this.#pending = null;
    throw error;
  };

  /**
   * Keeps a copy of what is handed out, while there is room for it; in any case of what nobody has
   * got, as it was asked for before the body began anew.
   */
  #take(view: Uint8Array | null): Uint8Array | null {
    if (view === null || this.#kept === null) return view;
    this.#size += view.length;
    if (this.#size > this.#limit) this.#isFull = true;
    if (this.#isFull && this.#isAwaited) this.#kept = null;
    else {
      this.#kept.push(view.slice());
      if (this.#isAwaited) this.#next = this.#kept.length;
    }
    return view;
  }
}

class Reader implements Body {
  readonly #body: ReplayBody;
  readonly #isOver: () => boolean;

  constructor(body: ReplayBody, isOver: () => boolean) {
    this.#body = body;
    this.#isOver = isOver;
  }

  get done(): boolean {
    return this.#isOver() || this.#body.done;
  }

  get trailers(): Fields | null {
    return this.#body.trailers;
  }

  read(): ReturnType<Body["read"]> {
    return this.#isOver()
      ? Promise.reject(new ProxyError("upstream_closed", "the attempt has ended"))
      : this.#body.read();
  }
}
