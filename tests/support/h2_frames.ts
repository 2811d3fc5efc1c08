/**
 * Frames of HTTP/2 (RFC 9113 §6) as bytes, right or wrong, for peers in tests. In: what a frame is to
 * hold. Out: its bytes. Nothing is checked: tests say what no codec would. Knows nothing of the
 * proxy's own codec, so that a mistake in that is not one here too.
 */
import { bytesOf } from "./latin1.ts";

export const FRAME = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
  ALTSVC: 0xa,
  ORIGIN: 0xc,
  PRIORITY_UPDATE: 0x10,
} as const;

export const FLAG = { END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 };

export const SETTING = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
  ENABLE_CONNECT_PROTOCOL: 8,
  NO_RFC7540_PRIORITIES: 9,
} as const;

/** Error codes of §7. */
export const CODE = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  SETTINGS_TIMEOUT: 4,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  CONNECT_ERROR: 10,
  ENHANCE_YOUR_CALM: 11,
  INADEQUATE_SECURITY: 12,
  HTTP_1_1_REQUIRED: 13,
} as const;

/** What a client's connection begins with (§3.4). */
export const PREFACE: Uint8Array = bytesOf("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The window that a stream or connection has before anyone changes it (§6.9.2). */
export const DEFAULT_WINDOW = 65_535;

/** A field; text is latin1, one character a byte. */
export type Field = readonly [name: string, value: string];

export function join(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** `make` for each number from 0, one after the other. */
export function repeat(count: number, make: (index: number) => Uint8Array): Uint8Array {
  return join(...Array.from({ length: count }, (_, index) => make(index)));
}

export function u32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

/** A frame whose header says `length`, which is the payload's unless a test lies. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = new Uint8Array(0),
  length = payload.length,
): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(9 + payload.length);
  whole[0] = length >>> 16;
  whole[1] = length >>> 8;
  whole[2] = length;
  whole[3] = type;
  whole[4] = flags;
  whole[5] = stream >>> 24;
  whole[6] = stream >>> 16;
  whole[7] = stream >>> 8;
  whole[8] = stream;
  whole.set(payload, 9);
  return whole;
}

export interface FrameOptions {
  /** END_STREAM; false unless said. */
  readonly end?: boolean;
  /** END_HEADERS; true unless said. */
  readonly endHeaders?: boolean;
  /** Bytes of padding; none and no PADDED flag unless said. */
  readonly padding?: number;
  /** The five bytes of §6.3, in HEADERS. */
  readonly priority?: Uint8Array;
}

function padded(content: Uint8Array, padding: number | undefined): Uint8Array {
  if (padding === undefined) return content;
  return join(Uint8Array.of(padding), content, new Uint8Array(padding));
}

export function data(stream: number, content: string | Uint8Array, options: FrameOptions = {}) {
  const bytes = typeof content === "string" ? bytesOf(content) : content;
  const flags = (options.end ? FLAG.END_STREAM : 0) |
    (options.padding === undefined ? 0 : FLAG.PADDED);
  return frame(FRAME.DATA, flags, stream, padded(bytes, options.padding));
}

/** HEADERS with these fields, or with this block as it is. */
export function headers(
  stream: number,
  fields: readonly Field[] | Uint8Array,
  options: FrameOptions = {},
): Uint8Array<ArrayBuffer> {
  const block = fields instanceof Uint8Array ? fields : literals(fields);
  const { end, endHeaders = true, padding, priority } = options;
  const flags = (end ? FLAG.END_STREAM : 0) | (endHeaders ? FLAG.END_HEADERS : 0) |
    (padding === undefined ? 0 : FLAG.PADDED) | (priority === undefined ? 0 : FLAG.PRIORITY);
  return frame(
    FRAME.HEADERS,
    flags,
    stream,
    padded(priority === undefined ? block : join(priority, block), padding),
  );
}

export function continuation(stream: number, block: Uint8Array, endHeaders = true): Uint8Array {
  return frame(FRAME.CONTINUATION, endHeaders ? FLAG.END_HEADERS : 0, stream, block);
}

export function rstStream(stream: number, code: number = CODE.CANCEL): Uint8Array {
  return frame(FRAME.RST_STREAM, 0, stream, u32(code));
}

export function settings(values: readonly (readonly [id: number, value: number])[] = []) {
  const parts = values.map(([id, value]) => join(Uint8Array.of(id >>> 8, id), u32(value)));
  return frame(FRAME.SETTINGS, 0, 0, join(...parts));
}

export const SETTINGS_ACK: Uint8Array = frame(FRAME.SETTINGS, FLAG.ACK, 0);

/** PING with this number in its eight bytes. */
export function ping(number = 0, ack = false): Uint8Array {
  return frame(FRAME.PING, ack ? FLAG.ACK : 0, 0, join(u32(0), u32(number)));
}

export function goAway(lastStream: number, code: number = CODE.NO_ERROR, debug = ""): Uint8Array {
  return frame(FRAME.GOAWAY, 0, 0, join(u32(lastStream), u32(code), bytesOf(debug)));
}

export function windowUpdate(stream: number, increment: number): Uint8Array {
  return frame(FRAME.WINDOW_UPDATE, 0, stream, u32(increment));
}

/** The five bytes of §6.3. */
export function priorityOn(dependency: number, weight = 15, exclusive = false): Uint8Array {
  return join(u32((exclusive ? 0x80000000 : 0) + dependency), Uint8Array.of(weight));
}

export function priority(stream: number, dependency = 0): Uint8Array {
  return frame(FRAME.PRIORITY, 0, stream, priorityOn(dependency));
}

// ── HPACK (RFC 7541), in its plainest form ────────────────────────────────────────────────────

/** An integer of §5.1, with `bits` of prefix below `first`'s flags. */
export function integer(first: number, bits: number, value: number): Uint8Array {
  return bytesOf(integerText(first, bits, value));
}

/** A field with its name in full, never indexed (§6.2.3), without Huffman. */
export function literal(field: Field): Uint8Array {
  return bytesOf(literalText(field));
}

/** A field with its name in full that enters the dynamic table (§6.2.1). */
export function remembered([name, value]: Field): Uint8Array {
  return bytesOf(`\x40${stringText(name)}${stringText(value)}`);
}

/** A field by its index (§6.1): 62 is the one that entered the table last. */
export function indexed(index: number): Uint8Array {
  return integer(0x80, 7, index);
}

/** A change of the dynamic table's size (§6.3). */
export function tableSize(size: number): Uint8Array {
  return integer(0x20, 5, size);
}

export function literals(fields: readonly Field[]): Uint8Array {
  return bytesOf(fields.map(literalText).join(""));
}

// Blocks are put together as text, one character a byte: floods have a million fields, and to join an array of
// bytes for each length, name and value took half of the time of their tests.

function integerText(first: number, bits: number, value: number): string {
  const max = (1 << bits) - 1;
  if (value < max) return String.fromCharCode(first | value);
  let text = String.fromCharCode(first | max);
  for (value -= max; value >= 128; value = Math.floor(value / 128)) {
    text += String.fromCharCode(value % 128 | 128);
  }
  return text + String.fromCharCode(value);
}

function stringText(text: string): string {
  return integerText(0, 7, text.length) + text;
}

function literalText([name, value]: Field): string {
  return `\x10${stringText(name)}${stringText(value)}`;
}

/** The head of a request, with these fields besides. */
export function get(path = "/", more: readonly Field[] = [], host = "a.test"): Field[] {
  return request("GET", path, more, host);
}

export function post(path = "/", more: readonly Field[] = []): Field[] {
  return request("POST", path, more);
}

export function request(
  method: string,
  path: string,
  more: readonly Field[] = [],
  host = "a.test",
): Field[] {
  return [
    [":method", method],
    [":scheme", "http"],
    [":path", path],
    [":authority", host],
    ...more,
  ];
}
