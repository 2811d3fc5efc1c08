/**
 * Bodies out of HTTP/1 bytes (RFC 9112 §6 and §7). In: an `Input` and the framing that the head
 * decided. Out: a `Body` whose views lie in the input's own buffer, trailers, or a ProxyError.
 */
import type { BufferPool } from "../io/buffer_pool.ts";
import { type ErrorCode, ProxyError } from "../errors.ts";
import { Fields } from "../http/fields.ts";
import { type Body, LATER } from "../http/body.ts";
import type { DirectReader, DirectSource, ReadWaiter } from "../io/direct_relay.ts";
import { UNKNOWN_LENGTH } from "../http/message.ts";
import { dropForbiddenTrailers } from "../http/trailers.ts";
import type { Transport } from "../io/transport.ts";
import { ChunkDecoder } from "./chunked.ts";
import { HeadParser } from "./head_parser.ts";
import type { Input } from "../io/input.ts";

/** What differs between a request's body and a response's. */
export interface BodyRules {
  /** The code for framing that is wrong. */
  readonly malformed: ErrorCode;
  /** The code for a peer that goes away in the middle. */
  readonly cut: ErrorCode;
  /** The code for a body past its limit. */
  readonly tooLarge: ErrorCode;
  /** Bytes and fields of the trailer section, and the code for one past them. */
  readonly trailersTooLarge: ErrorCode;
  readonly maxTrailerBytes: number;
  readonly maxTrailerFields: number;
}

/** A read of this part of a quiet buffer leads to one. */
const QUIET_SHARE = 4;

type Framing = "none" | "length" | "chunked" | "close";

/** The body of one message after another on one connection. */
export class InputBody implements Body, DirectSource {
  trailers: Fields | null = null;
  done = true;
  /** Called when a wait for bytes begins and ends, for the connection's deadline. */
  onWait: ((waiting: boolean) => void) | null = null;
  /** Called when the end has been read and no view is in use any more. */
  onEnd: (() => void) | null = null;
  /** Called when the bytes of the message's head have been moved to another buffer, as they are. */
  onHeadMoved: ((bytes: Uint8Array<ArrayBuffer>) => void) | null = null;
  readonly #input: Input;
  readonly #bulk: BufferPool;
  /** Buffers in which a stream waits that says little; null where the head cannot be moved. */
  readonly #quiet: BufferPool | null;
  /** The head is in the bytes before this. */
  #headEnd = 0;
  /** 0 for no limit. */
  #maxBytes = 0;
  readonly #rules: BodyRules;
  #framing: Framing = "none";
  #remaining = 0;
  #received = 0;
  #chunks: ChunkDecoder | null = null;
  /** The trailer section that has begun to arrive. */
  #section: { readonly fields: Fields; readonly parser: HeadParser } | null = null;
  /** The buffer with the message's head, while the body arrives in a borrowed one. */
  #parked: Uint8Array<ArrayBuffer> | null = null;
  /** Its end has been read, so that its last view is in use no more. */
  #isEndRead = true;
  /** Told of the read under way. */
  #reader: ReadWaiter | null = null;
  /** All until FIN, of a tunnel: what is waited for has no deadline here. */
  #isTunnel = false;
  /** What comes next fits the buffer, in which nothing else is needed, and begins a message of a stream. */
  isDirectlyReadable = false;
  /** Who reads at the transport; null while nobody does. */
  directReader: DirectReader | null = null;

  /**
   * @param quiet smaller buffers than the input's own, for streams that say little: events of each arrive
   *   in one of these, and its head is kept in a buffer of its size. Null leaves both where they are.
   */
  constructor(input: Input, bulk: BufferPool, rules: BodyRules, quiet: BufferPool | null = null) {
    this.#input = input;
    this.#bulk = bulk;
    this.#quiet = quiet;
    this.#rules = rules;
  }

  /**
   * Takes the body that begins at `input.start`. `length` is bytes or UNKNOWN_LENGTH, which is
   * chunked or, with `untilClose`, all until the peer's FIN.
   */
  begin(length: number, untilClose: boolean): void {
    this.trailers = null;
    this.#section = null;
    this.#isTunnel = this.isDirectlyReadable = false;
    this.#received = 0;
    this.#remaining = length;
    this.#maxBytes = 0;
    // A buffer that is still borrowed holds this message's head: it is the input's own from now on.
    this.#parked = null;
    this.#headEnd = this.#input.start;
    this.#isEndRead = length === 0;
    if (length === 0) {
      this.#framing = "none";
      this.done = true;
    } else {
      this.done = false;
      if (length !== UNKNOWN_LENGTH) this.#framing = "length";
      else if (untilClose) this.#framing = "close";
      else {
        this.#framing = "chunked";
        (this.#chunks ??= new ChunkDecoder()).begin();
      }
    }
  }

  /** Takes all that comes from `input.start` on, until the peer's FIN. */
  beginTunnel(): void {
    this.begin(UNKNOWN_LENGTH, true);
    this.#isTunnel = true;
  }

  /** Reading past so many bytes fails from now on. */
  limit(bytes: number): void {
    this.#maxBytes = bytes;
  }

  /** Bytes arrive in a buffer that `release` gives back. */
  get isBorrowing(): boolean {
    return this.#parked !== null;
  }

  /** Bytes handed out since it began. */
  get received(): number {
    return this.#received;
  }

  /** The whole rest has arrived already: handing it out needs no wait. */
  get isBuffered(): boolean {
    const { start, end } = this.#input;
    return this.done || (this.#framing === "length" && end - start >= this.#remaining);
  }

  read(): Uint8Array | null | Promise<Uint8Array | null> {
    if (this.done) return this.#end();
    if (this.#input.isEmpty) return this.#wait();
    const view = this.#take();
    if (view !== null) return view;
    return this.done ? this.#end() : this.#wait();
  }

  readThen(reader: ReadWaiter): Uint8Array | null | typeof LATER {
    if (this.done) return this.#end();
    if (!this.#input.isEmpty) {
      const view = this.#take();
      if (view !== null) return view;
      if (this.done) return this.#end();
    }
    if (this.#reader !== reader) this.#reader = reader;
    this.#fill();
    return LATER;
  }

  get directSource(): DirectSource {
    return this;
  }

  get transport(): Transport {
    return this.#input.transport;
  }

  beginDirectReads(reader: ReadWaiter, directReader: DirectReader): Uint8Array<ArrayBuffer> {
    this.isDirectlyReadable = false;
    this.directReader = directReader;
    this.#reader = reader;
    this.onWait?.(true);
    return this.#input.beginDirectReads(this.#filled);
  }

  endDirectReads(): void {
    this.isDirectlyReadable = true;
    this.directReader = null;
    this.onWait?.(false);
    this.#input.endDirectReads();
  }

  get returnRead(): (count: number | null) => void {
    return this.#input.arrived;
  }

  get returnError(): (error: unknown) => void {
    return this.#input.broke;
  }

  count(bytes: number): void {
    this.#received += bytes;
    if (this.#framing === "chunked") this.#chunks!.skipped(bytes);
  }

  /**
   * Gives borrowed buffers back once the exchange is over; what has arrived behind the body moves
   * along, so offsets change.
   */
  release(): void {
    const input = this.#input;
    const { start, end } = input;
    if (input.isReading) return;
    if (this.#parked !== null && end - start <= this.#parked.length) {
      const borrowed = input.exchangeBuffer(this.#parked);
      // A write of the last view may be under way, to a backend that has responded early.
      if (this.#isEndRead) this.#giveBack(borrowed);
      this.#parked = null;
    }
    // The next head mostly fits the usual buffer, and not one of a quiet stream.
    const isSmall = this.#quiet !== null && input.bytes.length < input.poolSize;
    if (this.#parked === null && isSmall && input.isEmpty) {
      this.#giveBack(input.exchangeBuffer(input.takeSpare()));
    }
  }

  #wait(): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) => {
      this.#reader = { arrived: resolve, broke: reject };
      this.#fill();
    });
  }

  /** Asks for bytes: `#filled` goes on. Throws where there is no room for them. */
  #fill(): void {
    this.#chooseBuffer();
    // A chunk line or trailer section that does not fit grows up to its own limit.
    if (this.#input.makeRoom(this.#rules.maxTrailerBytes + 64) === "full") {
      throw new ProxyError(this.#rules.trailersTooLarge, "trailer section too large");
    }
    this.onWait?.(true);
    this.#input.fillThen(this.#filled);
  }

  readonly #filled = (): void => {
    this.directReader = null;
    let view: Uint8Array | null;
    try {
      this.onWait?.(false);
      view = this.#taken();
      if (view === null) {
        if (!this.done) return this.#fill();
        this.#end();
      } else if (this.#isTunnel || this.#framing === "chunked") {
        this.isDirectlyReadable = this.#isSteady();
      }
    } catch (error) {
      return this.#reader!.broke(error);
    }
    this.#reader!.arrived(view);
  };

  /** What comes next is as small as the last message, and begins one: see `isDirectlyReadable`. */
  #isSteady(): boolean {
    const { bytes, end, isEmpty, poolSize } = this.#input;
    if (this.#parked === null || !isEmpty || end === bytes.length || bytes.length > poolSize) {
      return false;
    }
    // Where a stream may be quiet it is a response, which has no limit and no pace of its own.
    return this.#isTunnel ||
      this.#quiet !== null && !this.done && this.#maxBytes === 0 && this.#chunks!.isBetweenChunks;
  }

  /** As `#take`, of what has come. Throws where it is the end and should not be. */
  #taken(): Uint8Array | null {
    const input = this.#input;
    const view = this.#take();
    if (view !== null || this.done || !input.isOver) return view;
    if (this.#framing !== "close" || input.failed !== null) {
      throw new ProxyError(this.#rules.cut, "closed in the middle of a body");
    }
    this.done = true;
    return null;
  }

  #end(): null {
    this.#isEndRead = true;
    this.#returnBorrowed();
    this.onEnd?.();
    return null;
  }

  /** A view of what can be handed out now, or null. Throws for malformed chunks. */
  #take(): Uint8Array | null {
    const input = this.#input;
    let view: Uint8Array | null = null;
    if (this.#framing === "chunked") {
      view = this.#takeChunked();
    } else {
      let length = input.end - input.start;
      if (this.#framing === "length") {
        if (length > this.#remaining) length = this.#remaining;
        this.#remaining -= length;
        if (this.#remaining === 0) this.done = true;
      }
      if (length > 0) {
        view = input.bytes.subarray(input.start, input.start + length);
        input.start += length;
      }
    }
    if (view !== null) {
      this.#received += view.length;
      if (this.#maxBytes !== 0 && this.#received > this.#maxBytes) {
        throw new ProxyError(this.#rules.tooLarge);
      }
    }
    return view;
  }

  #takeChunked(): Uint8Array | null {
    const input = this.#input;
    const chunks = this.#chunks!;
    if (!chunks.inTrailers) {
      const error = chunks.decode(input.bytes, input.start, input.end);
      if (error !== null) throw new ProxyError(this.#rules.malformed, error);
      input.start = chunks.consumed;
      if (chunks.dataEnd > chunks.dataStart) {
        const view = input.bytes.subarray(chunks.dataStart, chunks.dataEnd);
        // The end may have come with the data: then the exchange can finish in one write.
        if (chunks.inTrailers) this.#takeTrailers();
        return view;
      }
    }
    if (chunks.inTrailers) this.#takeTrailers();
    return null;
  }

  /** Reads on in the trailer section; once it is there as a whole, its bytes are copied out. */
  #takeTrailers(): void {
    const input = this.#input;
    const { maxTrailerBytes, maxTrailerFields, malformed, trailersTooLarge } = this.#rules;
    // The usual empty section, without a parser.
    if (
      input.end - input.start >= 2 && input.bytes[input.start] === 0x0d &&
      input.bytes[input.start + 1] === 0x0a
    ) {
      input.start += 2;
      this.done = true;
      return;
    }
    if (this.#section === null) {
      const fields = new Fields();
      this.#section = { fields, parser: new HeadParser(fields, maxTrailerBytes, maxTrailerFields) };
    }
    const { fields, parser } = this.#section;
    // Bytes that have moved are read anew: once for each size that the buffer grows to, at most.
    if (fields.bytes !== input.bytes || parser.startLineStart !== input.start) {
      parser.begin(input.bytes, input.start, false);
    }
    const result = parser.parse(input.end);
    if (result === "pending") return;
    if (result !== "complete") {
      const code = result === "malformed" ? malformed : trailersTooLarge;
      throw new ProxyError(code, `trailer section ${result}`);
    }
    dropForbiddenTrailers(fields);
    this.trailers = fields.copy();
    this.#section = null;
    input.start = parser.end;
    this.done = true;
  }

  /**
   * Before a read. The head must hold until its exchange ends, so what has not come along with it
   * arrives in a borrowed buffer: a large one where the length says so or the last read filled the
   * buffer, else a small one. A stream that says little waits in a yet smaller one, with its head in
   * another: there may be thousands.
   */
  #chooseBuffer(): void {
    const input = this.#input;
    if (input.isReading) return;
    const { bytes, start, end } = input;
    const small = input.poolSize;
    if (this.#framing !== "length" && start === end && this.#isQuiet(bytes, end)) {
      if (this.#parked !== null && bytes.length === this.#quiet!.size) return;
      const before = input.exchangeBuffer(this.#quiet!.take());
      if (this.#parked === null) this.#parked = before;
      else this.#giveBack(before);
      this.#moveHead();
    } else if (this.#parked === null) {
      const long = this.#framing === "length" ? this.#remaining > small : end === bytes.length;
      this.#parked = input.exchangeBuffer(this.#borrow(long, end - start));
    } else if (this.#framing !== "length" && start === end) {
      const long = end === bytes.length || end > small;
      if (long === bytes.length > small) return;
      this.#giveBack(input.exchangeBuffer(this.#borrow(long, 0)));
    }
  }

  /** The last read, of `end` bytes into `bytes`, shows a stream that says little. */
  #isQuiet({ length }: Uint8Array, end: number): boolean {
    const quiet = this.#quiet;
    if (quiet === null || end === length) return false;
    // With the head came all that there was. Later ones that vary do not change it each time.
    if (this.#parked === null) return end <= quiet.size;
    return length === quiet.size || end <= quiet.size / QUIET_SHARE;
  }

  /** Moves the head to a buffer of its size, as `#isQuiet` has it. */
  #moveHead(): void {
    const parked = this.#parked!;
    if (parked.length !== this.#input.poolSize) return;
    const head = parked.slice(0, this.#headEnd);
    this.#parked = head;
    this.onHeadMoved!(head);
    this.#giveBack(parked);
  }

  /** A buffer with room behind `unread` bytes. */
  #borrow(long: boolean, unread: number): Uint8Array<ArrayBuffer> {
    const input = this.#input;
    if (!long && unread < input.poolSize) return input.takeSpare();
    if (unread >= this.#bulk.size) return new Uint8Array(2 * unread);
    return this.#bulk.takeFor(this.#framing === "length" ? this.#remaining : 0);
  }

  #giveBack(buffer: Uint8Array<ArrayBuffer>): void {
    if (buffer.length === this.#quiet?.size) this.#quiet.give(buffer);
    else if (buffer.length > this.#bulk.size) this.#bulk.give(buffer);
    else this.#input.giveBack(buffer, this.#bulk);
  }

  #returnBorrowed(): void {
    const input = this.#input;
    if (this.#parked === null || !input.isEmpty || input.isReading) return;
    this.#giveBack(input.exchangeBuffer(this.#parked));
    this.#parked = null;
  }
}
