/**
 * What a peer sends on a stream. In: the payloads of its DATA frames. Out: a `Body`, whose bytes wait
 * in pooled chunks until they are pulled, and windows given back as they are: so the window granted
 * is what a stream holds at most.
 */
import type { Buffers } from "../io/buffer_pool.ts";
import { type Deadlines, NO_DEADLINE } from "../io/deadlines.ts";
import { ProxyError } from "../errors.ts";
import type { Fields } from "../http/fields.ts";
import type { Body } from "../http/body.ts";
import { MinRate } from "../io/min_rate.ts";

/** Told of bytes that make room again: for the windows of stream and connection. */
export interface Consumer {
  consumed(bytes: number): void;
}

/** A body that has had more bytes than this is long: what comes of it is handed on in large pieces. */
const LONG_BODY = 64 * 1024;
/** Less than this at once is not worth a large chunk. */
const LONG_PAYLOAD = 8 * 1024;

/** Bytes before a message of gRPC. */
const MESSAGE_PREFIX = 5;

interface Chunk {
  bytes: Uint8Array<ArrayBuffer>;
  start: number;
  end: number;
}

/** What `push` and `finish` say of a body that is not as long as was said (RFC 9113 §8.1.1). */
export type LengthProblem = "more DATA than content-length says" | "less DATA than content-length";

export class ReceivedBody implements Body {
  trailers: Fields | null = null;
  done = true;
  /** Bytes that have come, without padding. */
  received = 0;
  /** Bytes that wait have come since the last turn: a reader is to be woken. */
  isStirred = false;
  /** Called when a wait of its reader begins and ends. */
  onWait: ((waiting: boolean) => void) | null = null;
  readonly #consumer: Consumer;
  readonly #buffers: Buffers;
  readonly #deadlines: Deadlines;
  readonly #chunks: Chunk[] = [];
  /** The chunk with all of it, where that was handed out at once. */
  #payload: Chunk | null = null;
  /** Bytes of the first chunk that a reader has now. */
  #lent = 0;
  /** END_STREAM has come. */
  #ended = true;
  #expected = -1;
  #maxBytes = 0;
  #failure: ProxyError | null = null;
  #resolve: ((view: Uint8Array | null) => void) | null = null;
  #reject: ((error: ProxyError) => void) | null = null;
  #timeout = 0;
  #pace: MinRate | null = null;
  /** Where the first message of gRPC ends, as far as its prefix has come; -1 where nobody asks. */
  #messageEnd = -1;
  #deadline = NO_DEADLINE;

  constructor(consumer: Consumer, buffers: Buffers, deadlines: Deadlines) {
    this.#consumer = consumer;
    this.#buffers = buffers;
    this.#deadlines = deadlines;
  }

  /**
   * Takes the body of a head that has come.
   * @param expected what its content-length says, in bytes; -1 where it says nothing.
   * @param timeout of a reader's wait, in ms; `rate` in bytes a second over each of these, 0 for any.
   */
  begin(expected: number, timeout: number, rate: number): void {
    this.trailers = null;
    this.done = false;
    this.received = 0;
    this.isStirred = false;
    this.#ended = false;
    this.#expected = expected;
    this.#maxBytes = 0;
    this.#failure = null;
    this.#lent = 0;
    this.#deadline = NO_DEADLINE;
    this.#timeout = timeout;
    this.#messageEnd = -1;
    if (rate === 0) this.#pace = null;
    else (this.#pace ??= new MinRate(rate, timeout)).begin(0);
  }

  /** Past so many bytes it fails with `body_too_large`, be it that they have come already. */
  limit(bytes: number): void {
    this.#maxBytes = bytes;
    if (this.received > bytes) this.fail(new ProxyError("body_too_large"));
  }

  /** It is one of gRPC: where its first message ends is read from its prefix. After `begin`. */
  expectMessages(): void {
    this.#messageEnd = MESSAGE_PREFIX;
  }

  /** The first message of gRPC has come whole. */
  get hasMessage(): boolean {
    return this.#messageEnd !== -1 && this.received >= this.#messageEnd;
  }

  /** Gives its reader's waits this time (ms), whatever the rate. False where they have it already. */
  relax(timeout: number): boolean {
    if (this.#pace === null && this.#timeout === timeout) return false;
    this.#pace = null;
    this.#timeout = timeout;
    this.#deadline = this.#deadlines.in(timeout);
    return true;
  }

  /** All of it has come. */
  get isWhole(): boolean {
    return this.#ended;
  }

  /** All that has come has been read, and its reader is done with it: it holds no window. */
  get isConsumed(): boolean {
    return this.#chunks.length === 0;
  }

  /** Bytes that wait to be pulled. */
  get waiting(): number {
    let count = 0;
    for (const { start, end } of this.#chunks) count += end - start;
    return count;
  }

  /** Nothing of it is wanted any more, or can be had. */
  get isBroken(): boolean {
    return this.#failure !== null;
  }

  /** Adds the payload `bytes[start, end)`, which is copied. What is wrong, or null. */
  push(bytes: Uint8Array, start: number, end: number): LengthProblem | null {
    const count = end - start;
    this.received += count;
    if (this.#expected !== -1 && this.received > this.#expected) {
      this.#consumer.consumed(count);
      return "more DATA than content-length says";
    }
    if (count === 0) return null;
    if (this.#messageEnd !== -1 && this.received - count < MESSAGE_PREFIX) {
      this.#readPrefix(bytes, start, end);
    }
    if (this.#maxBytes !== 0 && this.received > this.#maxBytes) {
      this.fail(new ProxyError("body_too_large"));
    }
    if (this.#failure !== null) {
      this.#consumer.consumed(count);
      return null;
    }
    this.isStirred = true;
    let last = this.#chunks.length === 0 ? null : this.#chunks[this.#chunks.length - 1];
    while (start < end) {
      if (last === null || last.end === last.bytes.length) {
        last = { bytes: this.#take(end - start), start: 0, end: 0 };
        this.#chunks.push(last);
      }
      const part = Math.min(end - start, last.bytes.length - last.end);
      last.bytes.set(bytes.subarray(start, start + part), last.end);
      last.end += part;
      start += part;
    }
    return null;
  }

  /** Adds the bytes of the first message's length (compressed flag, then 32 bits) to its end. */
  #readPrefix(bytes: Uint8Array, start: number, end: number): void {
    let at = this.received - (end - start);
    for (; start < end && at < MESSAGE_PREFIX; start++, at++) {
      if (at > 0) this.#messageEnd += bytes[start] * 2 ** (8 * (MESSAGE_PREFIX - 1 - at));
    }
  }

  /** END_STREAM has come, with trailers or without. What is wrong, or null. */
  finish(trailers: Fields | null): LengthProblem | null {
    this.#ended = true;
    if (this.#expected !== -1 && this.received !== this.#expected) {
      return "less DATA than content-length";
    }
    this.trailers = trailers;
    this.isStirred = true;
    if (this.#failure === null && !this.#hasUnread) this.done = true;
    return null;
  }

  /** The whole body where it has come and lies in one piece, which holds until `release`; else null. */
  payload(): Uint8Array | null {
    if (!this.#ended || this.#chunks.length !== 1 || this.trailers !== null) return null;
    const chunk = this.#payload = this.#chunks.pop()!;
    const view = chunk.bytes.subarray(chunk.start, chunk.end);
    this.#consumer.consumed(view.length);
    this.done = true;
    return view;
  }

  read(): Uint8Array | null | Promise<Uint8Array | null> {
    this.settle();
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.done) return null;
    const view = this.#lend();
    if (view !== null || this.done) return view;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#deadline = this.#deadlines.in(this.#timeout);
      this.onWait?.(true);
    });
  }

  /** Gives a reader that waits what has come. To be called once a turn where it `isStirred`. */
  wake(): void {
    this.isStirred = false;
    const resolve = this.#resolve;
    if (resolve === null) return;
    const view = this.#lend();
    if (view === null && !this.done) return;
    this.#waited();
    resolve(view);
  }

  /** It breaks off: whoever reads learns it, and what still comes is thrown away. */
  fail(error: ProxyError): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    this.#drop();
    const reject = this.#reject;
    this.#waited();
    reject?.(error);
  }

  /** A reader waits, for longer than it may or for hardly any bytes. `now` in ms, monotonic. */
  isOverdue(now: number): boolean {
    if (this.#deadline === NO_DEADLINE) return false;
    return now >= this.#deadline || (this.#pace !== null && this.#pace.isTooSlow(this.received));
  }

  /** The wait under way does not count, as nobody expects bytes: until `resume` or the next wait. */
  pause(): void {
    this.#deadline = NO_DEADLINE;
  }

  resume(): void {
    if (this.#resolve !== null) this.#deadline = this.#deadlines.in(this.#timeout);
  }

  /** The wait under way, unless it is paused, begins at `now`: the peer could not send until then. */
  restart(now: number): void {
    if (this.#deadline !== NO_DEADLINE) this.#deadline = this.#deadlines.after(now, this.#timeout);
  }

  /** Its exchange is over: nobody will read it. */
  release(): void {
    this.#drop();
    if (this.#payload !== null) this.#give(this.#payload);
    this.#payload = null;
    this.done = true;
  }

  /** Gives back the windows of what is unread, and the chunks of which nobody has a view. */
  #drop(): void {
    const chunks = this.#chunks;
    let count = this.#lent;
    // What is lent may be on its way to the system still: it is left to the garbage collector.
    const isLent = this.#lent > 0;
    this.#lent = 0;
    for (let i = 0; i < chunks.length; i++) {
      count += chunks[i].end - chunks[i].start;
      if (i > 0 || !isLent) this.#give(chunks[i]);
    }
    chunks.length = 0;
    if (count > 0) this.#consumer.consumed(count);
  }

  /** What has come is not only what a reader has now. */
  get #hasUnread(): boolean {
    const { length } = this.#chunks;
    return length > 1 || (length === 1 && this.#chunks[0].start !== this.#chunks[0].end);
  }

  /** The next view; null where nothing is there. */
  #lend(): Uint8Array | null {
    if (!this.#hasUnread) {
      if (this.#ended) this.done = true;
      return null;
    }
    const chunk = this.#chunks[0];
    const view = chunk.bytes.subarray(chunk.start, chunk.end);
    this.#lent = view.length;
    chunk.start = chunk.end;
    if (this.#ended && this.#chunks.length === 1) this.done = true;
    return view;
  }

  /** What its reader was lent has been used. */
  settle(): void {
    const count = this.#lent;
    if (count === 0) return;
    this.#lent = 0;
    const [chunk] = this.#chunks;
    if (chunk.start === chunk.end) {
      this.#give(chunk);
      this.#chunks.shift();
    }
    this.#consumer.consumed(count);
  }

  #waited(): void {
    this.#resolve = this.#reject = null;
    this.#deadline = NO_DEADLINE;
    this.onWait?.(false);
  }

  /** A chunk for so many bytes at least, or for the first of them. */
  #take(count: number): Uint8Array<ArrayBuffer> {
    const { head, out, bulk } = this.#buffers;
    if (count <= head.size && this.#chunks.length === 0) return head.take();
    return count > LONG_PAYLOAD && this.received > LONG_BODY ? bulk.take() : out.take();
  }

  #give({ bytes }: Chunk): void {
    const { head, out, bulk } = this.#buffers;
    (bytes.length === head.size ? head : bytes.length === out.size ? out : bulk).give(bytes);
  }
}
