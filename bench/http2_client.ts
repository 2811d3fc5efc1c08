/**
 * As much of HTTP/2 (RFC 9113) as a client needs that asks for small responses in turn and looks at
 * nothing but how they end. In: what a connection brings. Out: what to send, and whether the response
 * under way is whole and a success.
 */

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const GOAWAY = 7;
const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;
const FRAME_HEADER = 9;

/** RFC 7541 appendix A: fields of the static table, as one byte each. */
const METHOD_GET = 0x82;
const SCHEME_HTTP = 0x86;
const STATUS_200 = 0x88;
/** A literal without indexing, whose name is one of the static table (§6.2.2). */
const AUTHORITY = 0x01;
const PATH = 0x04;

export class Http2Client {
  /** What it begins with: the preface, empty settings, and the acknowledgement of the server's. */
  readonly opening: Uint8Array<ArrayBuffer>;
  /** The last response has ended. */
  isAnswered = true;
  /** It began with the status 200. */
  isSuccess = false;
  /** GOAWAY has come. */
  isLeaving = false;
  readonly #block: Uint8Array;
  /** The last stream's. */
  #id = -1;
  /** Of a frame that has not come whole. */
  #rest = new Uint8Array(0);

  constructor(host: string, path: string) {
    this.opening = join([
      new TextEncoder().encode(PREFACE),
      frame(SETTINGS, 0, 0),
      frame(SETTINGS, ACK, 0),
    ]);
    this.#block = join([
      Uint8Array.of(METHOD_GET, SCHEME_HTTP),
      literal(PATH, path),
      literal(AUTHORITY, host),
    ]);
  }

  /** The next request. */
  request(): Uint8Array<ArrayBuffer> {
    this.#id += 2;
    this.isAnswered = this.isSuccess = false;
    return frame(HEADERS, END_STREAM | END_HEADERS, this.#id, this.#block);
  }

  receive(bytes: Uint8Array): void {
    let rest = join([this.#rest, bytes]);
    for (;;) {
      if (rest.length < FRAME_HEADER) break;
      const view = new DataView(rest.buffer, rest.byteOffset);
      const end = FRAME_HEADER + (view.getUint32(0) >>> 8);
      if (rest.length < end) break;
      this.#take(rest[3], rest[4], view.getUint32(5), rest.subarray(FRAME_HEADER, end));
      rest = rest.subarray(end);
    }
    this.#rest = rest;
  }

  #take(type: number, flags: number, id: number, payload: Uint8Array): void {
    if (type === GOAWAY) this.isLeaving = true;
    if (id !== this.#id) return;
    // No server that is measured pads its heads, or gives them a priority.
    if (type === HEADERS && statusByte(payload) === STATUS_200) this.isSuccess = true;
    if (type === RST_STREAM) this.isSuccess = false;
    const ends = (type === HEADERS || type === DATA) && (flags & END_STREAM) !== 0;
    if (ends || type === RST_STREAM) this.isAnswered = true;
  }
}

/** The first field of a response, behind what says how large the dynamic table may be (RFC 7541 §6.3). */
function statusByte(block: Uint8Array): number {
  let at = 0;
  while ((block[at] & 0xe0) === 0x20) {
    const isLong = (block[at++] & 0x1f) === 0x1f;
    if (isLong) { while ((block[at++] & 0x80) !== 0); }
  }
  return block[at];
}

function frame(
  type: number,
  flags: number,
  id: number,
  payload: Uint8Array = new Uint8Array(0),
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(FRAME_HEADER + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, payload.length << 8 | type);
  view.setUint8(4, flags);
  view.setUint32(5, id);
  bytes.set(payload, FRAME_HEADER);
  return bytes;
}

/** @param text shorter than 127 bytes. */
function literal(name: number, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length >= 127) throw new Error(`${text} is too long`);
  return join([Uint8Array.of(name, bytes.length), bytes]);
}

function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
