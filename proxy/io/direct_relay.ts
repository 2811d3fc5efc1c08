/**
 * Relays small messages of a stream from one connection to another, as they are. In: a body whose buffer can
 * be read into, and the output of the other connection. Out: reads and writes at the transports, until a read
 * brings something else: the body gets that back.
 *
 * With a thousand streams, each object that a message touches has left the processor's caches: a WebSocket
 * message or an event touches this one, its two callbacks and the transports.
 */
import type { Deadlines } from "./deadlines.ts";
import type { DirectWriter, Output, WriteWaiter } from "./output.ts";
import type { Transport } from "./transport.ts";

/** Waits for the next bytes of a body. Neither method may throw. */
export interface ReadWaiter {
  /** @param view null at the end; it holds until the next read. */
  arrived(view: Uint8Array | null): void;
  /** @param error what a read by promise would reject with. */
  broke(error: unknown): void;
}

/** A body whose buffer can be read into at the transport. */
export interface DirectSource {
  readonly transport: Transport;
  /** It has nothing at hand; what comes next begins a message and, like the last one, fits the buffer. */
  readonly isDirectlyReadable: boolean;
  /**
   * The buffer. The last read goes to `returnRead` or `returnError`, and then `reader` is told what the body
   * makes of it.
   */
  beginDirectReads(reader: ReadWaiter, directReader: DirectReader): Uint8Array<ArrayBuffer>;
  readonly returnRead: (count: number | null) => void;
  readonly returnError: (error: unknown) => void;
  /** Ends direct reads while none is in progress. */
  endDirectReads(): void;
  /** Counts bytes of the body that have been relayed. */
  count(bytes: number): void;
}

export interface DirectReader {
  /** A read is in progress. */
  readonly isReading: boolean;
  /** When bytes came last, in ms, monotonic. */
  readonly movedAt: number;
}

const NOTHING = 0;
const READ = 1;
const WRITE = 2;
/** A write that has been handed over to the output. */
const OUTPUT_WRITE = 3;

/** A write that ends late is noticed late, which a short timeout does not allow. */
function canRelay(source: DirectSource, output: Output): boolean {
  return source.isDirectlyReadable && !output.hasShortTimeout;
}

/**
 * How many bytes of a body are in `bytes[0, length)`, all that a read has brought; -1 where it is not to be
 * relayed.
 */
export type Measure = (bytes: Uint8Array, length: number) => number;

export class DirectRelay implements DirectReader, DirectWriter {
  movedAt: number;
  readonly #source: DirectSource;
  readonly #output: Output;
  readonly #from: Transport;
  readonly #to: Transport;
  readonly #deadlines: Deadlines;
  readonly #waiter: WriteWaiter;
  readonly #measure: Measure;
  #underWay = NOTHING;
  #isStopped = false;
  #buffer: Uint8Array<ArrayBuffer> | null = null;
  /** What is being written here. */
  #view: Uint8Array | null = null;
  /** Relayed, and not counted by the body and the output yet. */
  #bodyBytes = 0;
  #bytes = 0;

  /**
   * @param waiter is told when a write fails, and when one ends that was handed over to the output or is the
   *   last one after `stop`.
   */
  constructor(source: DirectSource, output: Output, waiter: WriteWaiter, measure: Measure) {
    this.#source = source;
    this.#output = output;
    this.#from = source.transport;
    this.#to = output.transport;
    this.#deadlines = output.deadlines;
    this.#waiter = waiter;
    this.#measure = measure;
    this.movedAt = this.#deadlines.now;
  }

  get isReading(): boolean {
    return this.#underWay === READ;
  }

  /** A write is in progress, here or in the output. */
  get isWriting(): boolean {
    return this.#underWay === WRITE || this.#output.writing;
  }

  /** A relay for `source` and `output`, once both are fit for one; null before, and where one is missing. */
  static create(
    source: DirectSource | undefined,
    output: Output | undefined,
    waiter: WriteWaiter,
    measure: Measure,
  ): DirectRelay | null {
    if (source === undefined || output === undefined || !canRelay(source, output)) return null;
    return new DirectRelay(source, output, waiter, measure);
  }

  get canBegin(): boolean {
    return !this.#isStopped && canRelay(this.#source, this.#output);
  }

  /** Relays what comes, if it can; else false. To be called while nothing is being read or written. */
  begin(reader: ReadWaiter): boolean {
    if (!this.canBegin) return false;
    this.#buffer = this.#source.beginDirectReads(reader, this);
    this.#output.directWriter = this;
    this.#read();
    return true;
  }

  /** Relays nothing more: the next message goes to the body. */
  stop(): void {
    this.#isStopped = true;
  }

  /** To be called about once a second: a write in progress gets the deadline that all writes have. */
  look(): void {
    this.#count();
    if (this.#underWay === WRITE) this.#handOverWrite();
  }

  #read(): void {
    this.#underWay = READ;
    this.#from.read(this.#buffer!).then(this.#moved, this.#broke);
  }

  /** A read or a write has settled. */
  readonly #moved = (count: number | null): void => {
    if (this.#underWay === READ) this.#hasRead(count);
    else this.#hasWritten(count!);
  };

  readonly #broke = (error: unknown): void => {
    if (this.#underWay === READ) {
      this.#end();
      this.#source.returnError(error);
    } else {
      if (this.#underWay === WRITE) this.#handOverWrite();
      this.#underWay = NOTHING;
      this.#output.tookNone(error);
    }
  };

  #hasRead(count: number | null): void {
    const buffer = this.#buffer!;
    if (count !== null && count > 0 && count < buffer.length && !this.#isStopped) {
      const bytes = this.#measure(buffer, count);
      if (bytes !== -1) {
        this.movedAt = this.#deadlines.now;
        this.#bodyBytes += bytes;
        this.#bytes += count;
        this.#underWay = WRITE;
        this.#view = buffer.subarray(0, count);
        this.#to.write(this.#view).then(this.#moved, this.#broke);
        return;
      }
    }
    this.#end();
    this.#source.returnRead(count);
  }

  #hasWritten(count: number): void {
    if (this.#underWay === WRITE && count === this.#view!.length) {
      this.#view = null;
      if (!this.#isStopped) return this.#read();
      this.#end();
      this.#source.endDirectReads();
      this.#waiter.wrote();
      return;
    }
    if (this.#underWay === WRITE) this.#handOverWrite();
    this.#underWay = NOTHING;
    this.#output.tookSome(count);
  }

  /** Ends the relay: the output finishes the write, and its waiter may begin anew. */
  #handOverWrite(): void {
    const view = this.#view!;
    this.#bytes -= view.length;
    this.#view = null;
    this.#end();
    this.#underWay = OUTPUT_WRITE;
    this.#source.endDirectReads();
    this.#output.takeOver(view, this.#waiter);
  }

  #end(): void {
    this.#count();
    this.#underWay = NOTHING;
    this.#buffer = this.#view = null;
    this.#output.directWriter = null;
  }

  #count(): void {
    const unsent = this.#view === null ? 0 : this.#view.length;
    this.#source.count(this.#bodyBytes);
    this.#output.count(this.#bytes - unsent);
    this.#bodyBytes = 0;
    this.#bytes = unsent;
  }
}
