/**
 * Frames as bytes (RFC 9113 §4.1, §6). In: numbers. Out: the same in a buffer, and back. Pure: which
 * frame may come when is for `connection.ts` to know.
 */
import { asciiBytes } from "../../http/fields.ts";

// Types.
export const DATA = 0x0;
export const HEADERS = 0x1;
export const PRIORITY = 0x2;
export const RST_STREAM = 0x3;
export const SETTINGS = 0x4;
export const PUSH_PROMISE = 0x5;
export const PING = 0x6;
export const GOAWAY = 0x7;
export const WINDOW_UPDATE = 0x8;
export const CONTINUATION = 0x9;

// Flags.
export const END_STREAM = 0x1;
export const ACK = 0x1;
export const END_HEADERS = 0x4;
export const PADDED = 0x8;
/** HEADERS begins with a priority, which is ignored. */
export const HAS_PRIORITY = 0x20;

// Parameters of SETTINGS (§6.5.2, RFC 8441 §3).
export const HEADER_TABLE_SIZE = 0x1;
export const ENABLE_PUSH = 0x2;
export const MAX_CONCURRENT_STREAMS = 0x3;
export const INITIAL_WINDOW_SIZE = 0x4;
export const MAX_FRAME_SIZE = 0x5;
export const MAX_HEADER_LIST_SIZE = 0x6;
export const ENABLE_CONNECT_PROTOCOL = 0x8;

/** Bytes before each frame's payload. */
export const FRAME_HEADER = 9;
/** The largest payload that everybody takes, and that we take; in bytes. */
export const FRAME_SIZE = 16_384;
/** The largest MAX_FRAME_SIZE that a peer may announce. */
export const LARGEST_FRAME_SIZE = 16_777_215;
/** Flow-control windows before any SETTINGS, in bytes. */
export const INITIAL_WINDOW = 65_535;
/** The largest window, stream id and increment. */
export const MAX_31_BITS = 0x7fffffff;

/** What a client begins a connection with (§3.4). */
export const PREFACE: Uint8Array<ArrayBuffer> = asciiBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The 24 bits at `at`: a frame's length. */
export function readUint24(bytes: Uint8Array, at: number): number {
  return bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2];
}

/** The lower 31 bits of the four bytes at `at`: the reserved bit is ignored. */
export function readUint31(bytes: Uint8Array, at: number): number {
  return (bytes[at] & 0x7f) << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
}

/** All 32 bits, as a number without sign. */
export function readUint32(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3]) >>> 0;
}

function writeUint32(out: Uint8Array, at: number, value: number): number {
  out[at] = value >>> 24;
  out[at + 1] = value >>> 16;
  out[at + 2] = value >>> 8;
  out[at + 3] = value;
  return at + 4;
}

/** Each writer gives the position after what it has written; the caller has made room. */
export function writeFrameHeader(
  out: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  id: number,
): number {
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = type;
  out[at + 4] = flags;
  return writeUint32(out, at + 5, id);
}

/** Bytes of RST_STREAM and WINDOW_UPDATE. */
export const SMALL_FRAME = FRAME_HEADER + 4;

export function writeRstStream(out: Uint8Array, at: number, id: number, code: number): number {
  return writeUint32(out, writeFrameHeader(out, at, 4, RST_STREAM, 0, id), code);
}

/** `id` 0 is the connection; `increment` is 1 to 2^31-1. */
export function writeWindowUpdate(
  out: Uint8Array,
  at: number,
  id: number,
  increment: number,
): number {
  return writeUint32(out, writeFrameHeader(out, at, 4, WINDOW_UPDATE, 0, id), increment);
}

/** Bytes of a parameter of SETTINGS. */
export const SETTING = 6;

/** `pairs` are ids and values in turn. */
export function writeSettings(out: Uint8Array, at: number, pairs: readonly number[]): number {
  at = writeFrameHeader(out, at, pairs.length / 2 * SETTING, SETTINGS, 0, 0);
  for (let i = 0; i < pairs.length; i += 2) {
    out[at] = pairs[i] >>> 8;
    out[at + 1] = pairs[i];
    at = writeUint32(out, at + 2, pairs[i + 1]);
  }
  return at;
}

export function writeSettingsAck(out: Uint8Array, at: number): number {
  return writeFrameHeader(out, at, 0, SETTINGS, ACK, 0);
}

/** Bytes of the priority in HEADERS, and of PRIORITY. */
export const PRIORITY_SIZE = 5;

/** Bytes of PING's payload. */
export const PING_SIZE = 8;

/** With the 8 bytes at `from` of `data`. */
export function writePing(
  out: Uint8Array,
  at: number,
  flags: number,
  data: Uint8Array,
  from: number,
): number {
  at = writeFrameHeader(out, at, PING_SIZE, PING, flags, 0);
  for (let i = 0; i < PING_SIZE; i++) out[at + i] = data[from + i];
  return at + PING_SIZE;
}

/** Bytes of GOAWAY besides its debug data. */
export const GOAWAY_SIZE = 8;

/** `debug` is one byte a character: ours are ASCII. */
export function writeGoaway(
  out: Uint8Array,
  at: number,
  lastId: number,
  code: number,
  debug: string,
): number {
  at = writeFrameHeader(out, at, GOAWAY_SIZE + debug.length, GOAWAY, 0, 0);
  at = writeUint32(out, at, lastId);
  at = writeUint32(out, at, code);
  for (let i = 0; i < debug.length; i++) out[at + i] = debug.charCodeAt(i);
  return at + debug.length;
}
