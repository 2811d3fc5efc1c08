/**
 * A gRPC backend with next to no cost of its own. In: a port, and calls by HTTP/2 without TLS, whose
 * messages it reads and does not look at. Out: the same answer to each, whatever its path. It knows
 * of HTTP/2 (RFC 9113) and HPACK (RFC 7541) what the benchmark's proxies need, and is no example.
 */
import { GRPC_MESSAGE } from "./grpc_message.ts";

const PREFACE = 24;
const FRAME_HEAD = 9;

const enum Type {
  DATA = 0,
  HEADERS = 1,
  SETTINGS = 4,
  PING = 6,
  WINDOW_UPDATE = 8,
}

const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;

const HEADER_TABLE_SIZE = 1;
const DEFAULT_TABLE_SIZE = 4096;

/** So that no message of a benchmark ever waits for a window, nor an answer for a larger one. */
const SETTINGS = frame(Type.SETTINGS, 0, []);
const WINDOW = frame(Type.WINDOW_UPDATE, 0, [0x3f, 0xff, 0, 0]);

/** `:status: 200` of the static table. */
const STATUS = [0x88];
const CONTENT_TYPE = "application/grpc";

/**
 * Answers with stream 0 in place of the real one. Real servers put their fields into the dynamic
 * table with the first answer and name them by their numbers in all others; where the peer wants no
 * table, it gets them as text each time, and first the table's new size (RFC 7541 §4.2).
 */
const INDEXED = {
  first: answer(
    [...STATUS, 0x5f, ...text(CONTENT_TYPE)],
    [0x40, ...text("grpc-status"), ...text("0")],
  ),
  later: answer([...STATUS, 0xbf], [0xbe]),
};
const NO_TABLE_HEAD = [...STATUS, 0x0f, 0x10, ...text(CONTENT_TYPE)];
const NO_TABLE_END = [0x00, ...text("grpc-status"), ...text("0")];
const NO_TABLE = {
  first: answer([0x20, ...NO_TABLE_HEAD], NO_TABLE_END),
  later: answer(NO_TABLE_HEAD, NO_TABLE_END),
};

/** A string of HPACK, without Huffman's code. */
function text(value: string): number[] {
  return [value.length, ...new TextEncoder().encode(value)];
}

function frame(type: Type, flags: number, payload: ArrayLike<number>): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEAD + payload.length);
  new DataView(bytes.buffer).setUint32(0, payload.length << 8 | type);
  bytes[4] = flags;
  bytes.set(payload, FRAME_HEAD);
  return bytes;
}

/** Head, message and trailers, and where each names its stream. */
function answer(head: readonly number[], end: readonly number[]) {
  const frames = [
    frame(Type.HEADERS, END_HEADERS, head),
    frame(Type.DATA, 0, GRPC_MESSAGE),
    frame(Type.HEADERS, END_HEADERS | END_STREAM, end),
  ];
  const second = frames[0].length;
  const third = second + frames[1].length;
  return { bytes: Uint8Array.from(frames.flatMap((one) => [...one])), at: [0, second, third] };
}

class Connection {
  readonly #conn: Deno.Conn;
  readonly #in = new Uint8Array(64 * 1024);
  readonly #view = new DataView(this.#in.buffer);
  /** Answers to all calls that one read can end; a call has 9 bytes at least. */
  readonly #out = new Uint8Array(1024 * 1024);
  readonly #outView = new DataView(this.#out.buffer);
  #filled = 0;
  #written = 0;
  #answers = INDEXED;
  #isFirst = true;

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  async serve(): Promise<void> {
    this.#put(SETTINGS);
    this.#put(WINDOW);
    let start = -PREFACE;
    while (true) {
      const count = await this.#conn.read(this.#in.subarray(this.#filled));
      if (count === null) return;
      this.#filled += count;
      if (start < 0) {
        if (this.#filled < PREFACE) continue;
        start = PREFACE;
      }
      const end = this.#dispatch(start);
      start = 0;
      this.#in.copyWithin(0, end, this.#filled);
      this.#filled -= end;
      for (let sent = 0; sent < this.#written;) {
        sent += await this.#conn.write(this.#out.subarray(sent, this.#written));
      }
      this.#written = 0;
    }
  }

  /** All whole frames from `at` on; where the next one begins. */
  #dispatch(at: number): number {
    while (this.#filled - at >= FRAME_HEAD) {
      const head = this.#view.getUint32(at);
      const length = head >>> 8;
      const end = at + FRAME_HEAD + length;
      if (end > this.#filled) break;
      const type = head & 0xff;
      const flags = this.#in[at + 4];
      if (type === Type.DATA || type === Type.HEADERS) {
        if ((flags & END_STREAM) !== 0) this.#answer(this.#view.getUint32(at + 5));
      } else if (type === Type.SETTINGS && (flags & ACK) === 0) {
        this.#learn(at + FRAME_HEAD, end);
        this.#put(frame(Type.SETTINGS, ACK, []));
      } else if (type === Type.PING && (flags & ACK) === 0) {
        this.#put(frame(Type.PING, ACK, this.#in.subarray(at + FRAME_HEAD, end)));
      }
      at = end;
    }
    return at;
  }

  #learn(start: number, end: number): void {
    for (let at = start; at < end; at += 6) {
      const isTableSize = this.#view.getUint16(at) === HEADER_TABLE_SIZE;
      if (isTableSize && this.#view.getUint32(at + 2) < DEFAULT_TABLE_SIZE) {
        this.#answers = NO_TABLE;
      }
    }
  }

  #answer(stream: number): void {
    const { bytes, at } = this.#isFirst ? this.#answers.first : this.#answers.later;
    this.#isFirst = false;
    const start = this.#written;
    this.#put(bytes);
    for (const offset of at) this.#outView.setUint32(start + offset + 5, stream);
  }

  #put(bytes: Uint8Array): void {
    this.#out.set(bytes, this.#written);
    this.#written += bytes.length;
  }
}

const listener = Deno.listen({ hostname: "127.0.0.1", port: Number(Deno.args[0]) });
for await (const conn of listener) {
  conn.setNoDelay(true);
  // A client that goes away in the middle is no event here.
  new Connection(conn).serve().catch(() => {}).finally(() => conn.close());
}
