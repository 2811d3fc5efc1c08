/**
 * Where an answer of HTTP/1.1 ends. In: the bytes that have come on a connection on which one
 * request is under way. Out: whether the answer is whole, and whether it is a success. It reads
 * what proxies say in a benchmark, and is no parser for strangers.
 */

/** More is to come. */
export const PARTIAL = 0;
/** Whole, and its status is 200. */
export const DONE = 1;
/** Another status, or nothing that is an answer. */
export const REFUSED = 2;

const CR = 13;
const LF = 10;
const ZERO = 48;
const NINE = 57;
const SPACE = 32;
const COLON = 58;

/** `HTTP/1.1 200 `. */
const SUCCESS = new TextEncoder().encode("HTTP/1.1 200 ");
const LENGTH = new TextEncoder().encode("content-length");
const ENCODING = new TextEncoder().encode("transfer-encoding");

/** @param filled how many of `bytes` have come. Allocates nothing. */
export function answerOf(bytes: Uint8Array, filled: number): number {
  if (filled < SUCCESS.length) return PARTIAL;
  for (let at = 0; at < SUCCESS.length; at++) if (bytes[at] !== SUCCESS[at]) return REFUSED;
  let length = -1;
  let chunked = false;
  let line = endOfLine(bytes, 0, filled);
  while (line !== -1) {
    const next = endOfLine(bytes, line, filled);
    if (next === -1) return PARTIAL;
    // The empty line that ends the head.
    if (next - line === 2) {
      if (chunked) return endsChunks(bytes, next, filled) ? DONE : PARTIAL;
      if (length === -1) return REFUSED;
      return filled - next >= length ? DONE : PARTIAL;
    }
    if (isNamed(bytes, line, LENGTH)) length = numberAt(bytes, line + LENGTH.length + 1);
    else if (isNamed(bytes, line, ENCODING)) chunked = true;
    line = next;
  }
  return PARTIAL;
}

/** Where the next line begins, or -1. */
function endOfLine(bytes: Uint8Array, from: number, filled: number): number {
  for (let at = from; at + 1 < filled; at++) {
    if (bytes[at] === CR && bytes[at + 1] === LF) return at + 2;
  }
  return -1;
}

function isNamed(bytes: Uint8Array, from: number, name: Uint8Array): boolean {
  if (bytes[from + name.length] !== COLON) return false;
  for (let at = 0; at < name.length; at++) {
    // Names are of letters and hyphens, which this bit leaves as they are, but for the case.
    if ((bytes[from + at] | 0x20) !== name[at]) return false;
  }
  return true;
}

function numberAt(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === SPACE) at++;
  let value = 0;
  for (; bytes[at] >= ZERO && bytes[at] <= NINE; at++) value = value * 10 + bytes[at] - ZERO;
  return value;
}

/** The last chunk, without trailers: `0` on a line of its own, and an empty line. */
function endsChunks(bytes: Uint8Array, from: number, filled: number): boolean {
  const at = filled - 5;
  return at >= from && bytes[at] === ZERO && bytes[at + 1] === CR && bytes[at + 2] === LF &&
    bytes[at + 3] === CR && bytes[at + 4] === LF && (at === from || bytes[at - 1] === LF);
}
