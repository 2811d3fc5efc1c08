/**
 * Bodies as HTTP/1.1 bytes, either way. In: a body that is pulled. Out: as few writes as it allows: a
 * small body in one write with its head, a long one by its own views, chunked where its length is
 * not known. Nothing is pulled before the last view is written: that is the backpressure.
 */
import { asciiBytes, type Fields } from "../http/fields.ts";
import { type Body, LATER, readThen } from "../http/body.ts";
import type { DuplexSink } from "../http/message.ts";
import { DirectRelay, type ReadWaiter } from "../io/direct_relay.ts";
import type { BufferPool } from "../io/buffer_pool.ts";
import type { WriteWaiter } from "../io/output.ts";
import { CHUNK_FRAME_BYTES, wholeChunks, writeChunkSize } from "./chunked.ts";
import { CR, LF } from "../http/grammar.ts";
import { copyRange, fieldsSize, writeFields } from "./head_writer.ts";

const LAST_CHUNK = asciiBytes("0\r\n");

/** Where the bytes go, as `Output` has it. */
export interface ByteSink extends DuplexSink {
  /** Who was told last is told nothing more. */
  endWrites(): void;
}

/**
 * Sends what remains of a message: `out[0, at)` (its head, not yet written) and the body from
 * `first` on. Rejects with what the body or the write rejects with.
 *
 * @param out goes back to `buffers` whenever the body is waited for, so that a stream that says
 *   little holds none; and at the end. Where a write fails it is left to the garbage collector.
 */
export function writeBody(
  out: Uint8Array<ArrayBuffer>,
  at: number,
  first: Promise<Uint8Array | null> | Uint8Array | null,
  body: Body,
  chunked: boolean,
  withTrailers: boolean,
  sink: ByteSink,
  buffers: BufferPool,
): Promise<void> {
  const writer = new BodyWriter(out, at, body, chunked, withTrailers, sink, buffers);
  return new Promise((resolve, reject) => writer.begin(first, resolve, reject));
}

/** What goes on once a write is done. */
type Step =
  /** The body is waited for; what it gave meanwhile is in `#view`. */
  | "wait"
  /** There is room for the size of `#view`. */
  | "size"
  /** `#view` is to be written by itself. */
  | "view"
  /** It has been. */
  | "behind view"
  /** What has come has been written, and the chunks that follow may be relayed as they are. */
  | "relay"
  /** There is room for the last chunk. */
  | "last chunk"
  | "end";

/**
 * One body on its way. A stream of events waits here most of the time, and for an event it makes no
 * promise and no function: with a thousand streams, each object that an event touches has left the
 * processor's caches.
 */
class BodyWriter implements ReadWaiter, WriteWaiter {
  readonly #body: Body;
  readonly #chunked: boolean;
  readonly #withTrailers: boolean;
  readonly #sink: ByteSink;
  readonly #buffers: BufferPool;
  #resolve: () => void = () => {};
  #reject: (error: unknown) => void = () => {};
  /** Null while the body is waited for and nothing is being written. */
  #out: Uint8Array<ArrayBuffer> | null;
  /** Bytes in `#out` that have not been written. */
  #at: number;
  #step: Step = "wait";
  #isWriting = false;
  /** The body has not given yet what it was asked for. */
  #isReading = false;
  /** What is to be written next; null at the end. */
  #view: Uint8Array | null = null;
  /** The body has failed with `#failure` while the bytes before were being written. */
  #hasFailed = false;
  #failure: unknown = null;
  #isOver = false;
  /** Relays small chunks; null until the first one has come. */
  #relay: DirectRelay | null = null;

  constructor(
    out: Uint8Array<ArrayBuffer>,
    at: number,
    body: Body,
    chunked: boolean,
    withTrailers: boolean,
    sink: ByteSink,
    buffers: BufferPool,
  ) {
    this.#out = out;
    this.#at = at;
    this.#body = body;
    this.#chunked = chunked;
    this.#withTrailers = withTrailers;
    this.#sink = sink;
    this.#buffers = buffers;
  }

  begin(
    first: Promise<Uint8Array | null> | Uint8Array | null,
    resolve: () => void,
    reject: (error: unknown) => void,
  ): void {
    this.#resolve = resolve;
    this.#reject = reject;
    if (first instanceof Promise) {
      // The body has not begun: the head goes ahead, as event streams need.
      this.#isReading = true;
      first.then((view) => this.arrived(view), (error) => this.broke(error));
      this.#write(this.#out!, this.#at, "wait");
    } else this.arrived(first);
  }

  arrived(view: Uint8Array | null): void {
    this.#isReading = false;
    if (this.#isOver) return;
    if (this.#isWriting) {
      this.#view = view;
      return;
    }
    try {
      this.#run(view);
    } catch (mistake) {
      this.#fail(mistake);
    }
  }

  broke(error: unknown): void {
    this.#isReading = false;
    // What came before it is written first.
    if (this.#isWriting) {
      this.#hasFailed = true;
      this.#failure = error;
    } else this.#fail(error);
  }

  wrote(): void {
    this.#isWriting = false;
    if (this.#hasFailed) return this.#fail(this.#failure);
    try {
      this.#goOn();
    } catch (mistake) {
      this.#fail(mistake);
    }
  }

  writeBroke(error: unknown): void {
    this.#isWriting = false;
    this.#fail(error);
  }

  #goOn(): void {
    const view = this.#view;
    switch (this.#step) {
      case "wait":
        this.#at = 0;
        if (!this.#isReading) {
          this.#view = null;
          return this.#run(view);
        }
        this.#buffers.give(this.#out!);
        this.#out = null;
        return;
      case "size":
        this.#at = 0;
        return this.#run(view);
      case "view":
        return this.#write(view!, view!.length, "behind view");
      case "behind view":
        this.#view = null;
        this.#at = this.#chunked ? writeLineEnd(this.#out!, 0) : 0;
        return this.#pull();
      case "relay":
        this.#at = 0;
        return this.#relayOrPull();
      case "last chunk":
        this.#at = 0;
        return this.#end();
      case "end":
        return this.#finish();
    }
  }

  /** Whether the next chunks can be relayed once what is at hand has been written. */
  get #canRelay(): boolean {
    if (!this.#chunked) return false;
    this.#relay ??= DirectRelay.create(
      this.#body.directSource,
      this.#sink.output,
      this,
      wholeChunks,
    );
    return this.#relay?.canBegin === true;
  }

  #relayOrPull(): void {
    this.#isReading = this.#relay!.begin(this);
    if (!this.#isReading) {
      this.#out ??= this.#buffers.take();
      this.#pull();
    } else if (this.#out !== null) {
      this.#buffers.give(this.#out);
      this.#out = null;
    }
  }

  /** Asks for the next bytes. */
  #pull(): void {
    const next = readThen(this.#body, this);
    if (next === LATER) this.#wait();
    else this.#run(next);
  }

  /** The body is asked: what has been put together goes out meanwhile. */
  #wait(): void {
    this.#isReading = true;
    if (this.#at > 0) return this.#write(this.#out!, this.#at, "wait");
    this.#buffers.give(this.#out!);
    this.#out = null;
  }

  /**
   * Sends `view` and what is at hand behind it; null is the end. Nothing is being written. Throws what
   * the body throws.
   */
  #run(view: Uint8Array | null): void {
    const out = this.#out ??= this.#buffers.take();
    const chunked = this.#chunked;
    const frame = chunked ? CHUNK_FRAME_BYTES : 0;
    let at = this.#at;
    for (;;) {
      if (view === null) {
        this.#at = at;
        return this.#end();
      }
      const { length } = view;
      if (at + frame + length + 2 > out.length) {
        this.#at = at;
        return this.#runLong(view);
      }
      // A chunk without bytes would be the last one.
      if (length > 0) {
        if (chunked) at = writeChunkSize(out, at, length);
        out.set(view, at);
        at += length;
        if (chunked) at = writeLineEnd(out, at);
      }
      if (this.#canRelay) {
        this.#at = at;
        return this.#write(out, at, "relay");
      }
      const next = readThen(this.#body, this);
      if (next === LATER) {
        this.#at = at;
        return this.#wait();
      }
      view = next;
    }
  }

  /** Sends a view that does not fit `out`, by itself. */
  #runLong(view: Uint8Array): void {
    const out = this.#out!;
    this.#view = view;
    if (this.#chunked) {
      if (this.#at + CHUNK_FRAME_BYTES > out.length) return this.#write(out, this.#at, "size");
      this.#at = writeChunkSize(out, this.#at, view.length);
    }
    if (this.#at > 0) this.#write(out, this.#at, "view");
    else this.#write(view, view.length, "behind view");
  }

  /** The body has ended. */
  #end(): void {
    if (this.#chunked) {
      const trailers = this.#withTrailers ? this.#body.trailers : null;
      const size = LAST_CHUNK.length + 2 + (trailers === null ? 0 : fieldsSize(trailers));
      if (this.#at + size > this.#out!.length) {
        if (this.#at > 0) return this.#write(this.#out!, this.#at, "last chunk");
        this.#out = new Uint8Array(size);
      }
      this.#at = writeLastChunk(this.#out!, this.#at, trailers);
    }
    if (this.#at > 0) this.#write(this.#out!, this.#at, "end");
    else this.#finish();
  }

  #write(bytes: Uint8Array, length: number, step: Step): void {
    this.#step = step;
    this.#isWriting = true;
    this.#sink.writeThen(bytes, length, this);
  }

  #finish(): void {
    this.#isOver = true;
    this.#buffers.give(this.#out!);
    this.#sink.endWrites();
    this.#resolve();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.endWrites();
    this.#reject(error);
  }
}

/** The end of a chunked body; the position after it. */
function writeLastChunk(out: Uint8Array, at: number, trailers: Fields | null): number {
  at = copyRange(out, at, LAST_CHUNK, 0, LAST_CHUNK.length);
  if (trailers !== null) at = writeFields(out, at, trailers);
  return writeLineEnd(out, at);
}

function writeLineEnd(out: Uint8Array, at: number): number {
  out[at++] = CR;
  out[at++] = LF;
  return at;
}
