/**
 * Frames into a connection's output. In: what is to be said. Out: its frames, behind those before.
 */
import { type Fields, NEVER_CROSSES } from "../../http/fields.ts";
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  FRAME_HEADER,
  FRAME_SIZE,
  GOAWAY_SIZE,
  HEADERS,
  PING_SIZE,
  PREFACE,
  SETTING,
  SMALL_FRAME,
  writeFrameHeader,
  writeGoaway,
  writePing,
  writeRstStream,
  writeSettings,
  writeSettingsAck,
  writeWindowUpdate,
} from "./frame.ts";
import type { FrameOutput } from "./frame_output.ts";
import { fieldsBound, HpackEncoder, SIZE_UPDATES } from "../hpack/encoder.ts";

/** What our PINGs carry: nobody but us knows that it means nothing. */
const PING_DATA = new Uint8Array(PING_SIZE);
/** Shorter payloads are copied byte by byte: a view costs more than that. */
const SHORT = 32;

/** A stream whose head is to be sent. */
export interface EncodableHead {
  readonly id: number;
  /** A bound for what `encodeHead` writes, in bytes. */
  headBound(): number;
  /** Writes the head's fields, once and right behind `headBound`; the position after them. */
  encodeHead(encoder: HpackEncoder, out: Uint8Array, at: number): number;
}

export class FrameWriter {
  readonly encoder = new HpackEncoder();
  readonly #out: FrameOutput;

  constructor(out: FrameOutput) {
    this.#out = out;
  }

  /** A client's first bytes. */
  preface(): void {
    const at = this.#out.reserve(PREFACE.length);
    this.#out.bytes.set(PREFACE, at);
    this.#out.commit(at + PREFACE.length);
  }

  /** `pairs` are ids and values in turn. */
  settings(pairs: readonly number[]): void {
    const at = this.#out.reserve(FRAME_HEADER + pairs.length / 2 * SETTING);
    this.#out.commit(writeSettings(this.#out.bytes, at, pairs));
  }

  settingsAck(): void {
    const at = this.#out.reserve(FRAME_HEADER);
    this.#out.commit(writeSettingsAck(this.#out.bytes, at));
  }

  ping(): void {
    const at = this.#out.reserve(FRAME_HEADER + PING_SIZE);
    this.#out.commit(writePing(this.#out.bytes, at, 0, PING_DATA, 0));
  }

  /** Acknowledges the PING whose payload is at `from`. */
  pong(data: Uint8Array, from: number): void {
    const at = this.#out.reserve(FRAME_HEADER + PING_SIZE);
    this.#out.commit(writePing(this.#out.bytes, at, ACK, data, from));
  }

  goaway(lastId: number, code: number, debug: string): void {
    const at = this.#out.reserve(FRAME_HEADER + GOAWAY_SIZE + debug.length);
    this.#out.commit(writeGoaway(this.#out.bytes, at, lastId, code, debug));
  }

  reset(id: number, code: number): void {
    const at = this.#out.reserve(SMALL_FRAME);
    this.#out.commit(writeRstStream(this.#out.bytes, at, id, code));
  }

  windowUpdate(id: number, increment: number): void {
    const at = this.#out.reserve(SMALL_FRAME);
    this.#out.commit(writeWindowUpdate(this.#out.bytes, at, id, increment));
  }

  /** `view[start, end)`, at most FRAME_SIZE bytes. */
  data(id: number, view: Uint8Array, start: number, end: number, isEnd: boolean): void {
    const length = end - start;
    let at = this.#out.reserve(FRAME_HEADER + length);
    const { bytes } = this.#out;
    at = writeFrameHeader(bytes, at, length, DATA, isEnd ? END_STREAM : 0, id);
    if (length > SHORT) bytes.set(view.subarray(start, end), at);
    else for (let i = 0; i < length; i++) bytes[at + i] = view[start + i];
    this.#out.commit(at + length);
  }

  /** The head that `stream` encodes; the size of its block. */
  head(stream: EncodableHead, isEnd: boolean): number {
    const bound = stream.headBound();
    const at = this.#reserveHead(bound);
    const { bytes } = this.#out;
    let end = this.encoder.begin(bytes, at + FRAME_HEADER);
    end = stream.encodeHead(this.encoder, bytes, end);
    return this.#frameHead(stream.id, at, end, isEnd);
  }

  /** The fields of `trailers` that cross, and END_STREAM; the size of their block. */
  trailers(id: number, trailers: Fields): number {
    const at = this.#reserveHead(fieldsBound(trailers));
    const { bytes } = this.#out;
    let end = this.encoder.begin(bytes, at + FRAME_HEADER);
    end = this.encoder.fields(bytes, end, trailers, NEVER_CROSSES);
    return this.#frameHead(id, at, end, true);
  }

  /** Room for a block of at most `bound` bytes in as many frames as it may need. */
  #reserveHead(bound: number): number {
    const most = bound + SIZE_UPDATES;
    return this.#out.reserve(most + FRAME_HEADER * (1 + Math.ceil(most / FRAME_SIZE)));
  }

  /** Makes frames of the block that ends at `end` and has room for a frame's header before it. */
  #frameHead(id: number, at: number, end: number, isEnd: boolean): number {
    const { bytes } = this.#out;
    const size = end - at - FRAME_HEADER;
    const flags = isEnd ? END_STREAM : 0;
    if (size <= FRAME_SIZE) {
      writeFrameHeader(bytes, at, size, HEADERS, flags | END_HEADERS, id);
      this.#out.commit(end);
      return size;
    }
    // From the last piece to the first, each makes room for the headers of those before it.
    const pieces = Math.ceil(size / FRAME_SIZE);
    const start = at + FRAME_HEADER;
    for (let piece = pieces - 1; piece > 0; piece--) {
      const from = start + piece * FRAME_SIZE;
      const length = Math.min(FRAME_SIZE, end - from);
      const to = from + piece * FRAME_HEADER;
      bytes.copyWithin(to, from, from + length);
      const last = piece === pieces - 1 ? END_HEADERS : 0;
      writeFrameHeader(bytes, to - FRAME_HEADER, length, CONTINUATION, last, id);
    }
    writeFrameHeader(bytes, at, FRAME_SIZE, HEADERS, flags, id);
    this.#out.commit(end + (pieces - 1) * FRAME_HEADER);
    return size;
  }
}
