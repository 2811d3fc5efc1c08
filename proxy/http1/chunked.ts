/**
 * The chunked coding, both ways (RFC 9112 §7.1). In: bytes as they arrive, or data to send. Out:
 * data, moved together in the same buffer so that many small chunks make one view, or the bytes of
 * one chunk's frame. Extensions are checked and dropped.
 */
import { CR, DQUOTE, EQUALS, HEX, HTAB, LF, SEMICOLON, SP, TOKEN, VALUE } from "../http/grammar.ts";
import { BACKSLASH } from "../http/grammar.ts";

/** Chunk extensions are read and dropped; long ones only burn CPU (CVE-2023-39326). */
const MAX_EXTENSION = 4096;
/**
 * Bytes of framing that a chunk may have without being counted, besides twice its data: a stream of
 * one-byte chunks without extensions is tedious, and no attack.
 */
const FREE_FRAMING = 16;
/** What framing may exceed that by, over a whole body, before it is a flood. */
const MAX_EXCESS = 64 * 1024;
/** 13 hexadecimal digits stay below 2^53; leading zeros count. */
const MAX_SIZE_DIGITS = 13;

const SIZE = 0;
const AFTER_SIZE = 1;
const EXTENSION_NAME = 2;
const AFTER_NAME = 3;
const EXTENSION_VALUE = 4;
const QUOTED = 5;
const QUOTED_PAIR = 6;
const AFTER_VALUE = 7;
const SIZE_LF = 8;
const DATA = 9;
const DATA_CR = 10;
const DATA_LF = 11;
const TRAILERS = 12;

export class ChunkDecoder {
  /** The data of the last call: `bytes[dataStart, dataEnd)`. */
  dataStart = 0;
  dataEnd = 0;
  /** The byte behind the last one that the call consumed. */
  consumed = 0;
  #state = SIZE;
  #size = 0;
  #digits = 0;
  #extension = 0;
  #token = 0;
  #excess = 0;

  begin(): void {
    this.#state = SIZE;
    this.#size = 0;
    this.#digits = 0;
    this.#extension = 0;
    this.#excess = 0;
  }

  /** Counts `bytes` of data in whole chunks that were not decoded: each has at most `FREE_FRAMING` of framing. */
  skipped(bytes: number): void {
    this.#excess = Math.max(0, this.#excess - 2 * bytes);
  }

  /** A chunk ended with the last byte. */
  get isBetweenChunks(): boolean {
    return this.#state === SIZE && this.#digits === 0;
  }

  /** The last chunk has been read: what follows is the trailer section. */
  get inTrailers(): boolean {
    return this.#state === TRAILERS;
  }

  /**
   * Decodes `bytes[start, end)`, all of it or up to the trailer section. Data of several chunks is
   * moved together within the buffer. Null, or what is wrong.
   */
  decode(bytes: Uint8Array, start: number, end: number): string | null {
    let at = start;
    this.dataStart = this.dataEnd = start;
    while (at < end) {
      if (this.#state === DATA) {
        const length = Math.min(this.#size, end - at);
        if (this.dataEnd === this.dataStart) {
          this.dataStart = this.dataEnd = at;
        } else if (this.dataEnd !== at) {
          bytes.copyWithin(this.dataEnd, at, at + length);
        }
        this.dataEnd += length;
        at += length;
        this.#size -= length;
        if (this.#size === 0) this.#state = DATA_CR;
        continue;
      }
      const error = this.#step(bytes[at]);
      if (error !== null) return error;
      at++;
      if (this.#state === TRAILERS) break;
    }
    this.consumed = at;
    return null;
  }

  /** One byte of a chunk's frame. */
  #step(byte: number): string | null {
    if (++this.#excess > MAX_EXCESS) return "more chunk framing than data";
    const state = this.#state;
    if (state > SIZE && state < SIZE_LF && ++this.#extension > MAX_EXTENSION) {
      return "chunk extension too long";
    }
    switch (state) {
      case SIZE: {
        const digit = HEX[byte];
        if (digit !== 255) {
          if (++this.#digits > MAX_SIZE_DIGITS) return "chunk size too large";
          this.#size = this.#size * 16 + digit;
          return null;
        }
        if (this.#digits === 0) return "chunk size without digits";
        this.#extension = 0;
        return this.#afterSize(byte, false);
      }
      case AFTER_SIZE: // white space came: only an extension may follow
        return this.#afterSize(byte, true);
      case EXTENSION_NAME:
        if (TOKEN[byte] !== 0) {
          this.#token++;
          return null;
        }
        if (this.#token === 0) {
          return byte === SP || byte === HTAB ? null : "chunk extension without a name";
        }
        if (byte === EQUALS) return this.#begin(EXTENSION_VALUE);
        if (byte === SP || byte === HTAB) return this.#go(AFTER_NAME);
        return this.#afterSize(byte, false);
      case AFTER_NAME:
        if (byte === SP || byte === HTAB) return null;
        if (byte === EQUALS) return this.#begin(EXTENSION_VALUE);
        return this.#afterSize(byte, true);
      case EXTENSION_VALUE:
        if (TOKEN[byte] !== 0) {
          this.#token++;
          return null;
        }
        if (this.#token === 0) {
          if (byte === DQUOTE) return this.#go(QUOTED);
          return byte === SP || byte === HTAB ? null : "chunk extension without a value";
        }
        return this.#afterSize(byte, false);
      case QUOTED:
        if (byte === DQUOTE) return this.#go(AFTER_VALUE);
        if (byte === BACKSLASH) return this.#go(QUOTED_PAIR);
        return VALUE[byte] === 1 ? null : "bad byte in a chunk extension";
      case QUOTED_PAIR:
        return VALUE[byte] === 1 ? this.#go(QUOTED) : "bad byte in a chunk extension";
      case AFTER_VALUE:
        return this.#afterSize(byte, false);
      case SIZE_LF:
        if (byte !== LF) return "chunk size line without CRLF";
        this.#digits = 0;
        this.#excess = Math.max(0, this.#excess - FREE_FRAMING - 2 * this.#size);
        return this.#go(this.#size === 0 ? TRAILERS : DATA);
      case DATA_CR:
        return byte === CR ? this.#go(DATA_LF) : "chunk data longer than its size";
      default: // DATA_LF
        return byte === LF ? this.#go(SIZE) : "chunk data without CRLF";
    }
  }

  /** What may follow a size or a whole extension: the line's end, white space, or an extension. */
  #afterSize(byte: number, blanks: boolean): string | null {
    if (byte === SEMICOLON) return this.#begin(EXTENSION_NAME);
    // BWS belongs to an extension (RFC 9112 §7.1.1); before the line's end it is a bad size.
    if (byte === SP || byte === HTAB) return this.#go(AFTER_SIZE);
    if (byte === CR && !blanks) return this.#go(SIZE_LF);
    return "bad chunk size line";
  }

  #begin(state: number): null {
    this.#token = 0;
    this.#state = state;
    return null;
  }

  #go(state: number): null {
    this.#state = state;
    return null;
  }
}

/** Digits of a chunk's size that is relayed: a larger chunk does not fit the buffers of streams. */
const MAX_WHOLE_DIGITS = 4;

/**
 * Bytes of data in `bytes[0, length)`, if these are whole chunks that can be relayed unchanged: without
 * extensions and leading zeros, and without the last chunk. Else -1: `ChunkDecoder` reads them.
 */
export function wholeChunks(bytes: Uint8Array, length: number): number {
  let data = 0;
  for (let at = 0; at < length;) {
    let size = 0;
    const start = at;
    for (let digit = HEX[bytes[at]]; digit !== 255; digit = HEX[bytes[++at]]) {
      size = size * 16 + digit;
      if (size === 0 || at - start === MAX_WHOLE_DIGITS) return -1;
    }
    const end = at + 2 + size;
    if (size === 0 || end + 2 > length) return -1;
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return -1;
    if (bytes[end] !== CR || bytes[end + 1] !== LF) return -1;
    data += size;
    at = end + 2;
  }
  return data;
}

/** Longest frame before a chunk's data: a CRLF that ends the chunk before, 8 digits, CRLF. */
export const CHUNK_FRAME_BYTES = 12;

/** Writes `size` in hexadecimal and CRLF at `at`; the position after it. Size is below 2^32. */
export function writeChunkSize(bytes: Uint8Array, at: number, size: number): number {
  let shift = 28;
  while (shift > 0 && (size >>> shift) === 0) shift -= 4;
  for (; shift >= 0; shift -= 4) {
    const digit = (size >>> shift) & 15;
    bytes[at++] = digit < 10 ? 0x30 + digit : 0x57 + digit;
  }
  bytes[at++] = CR;
  bytes[at++] = LF;
  return at;
}
