/**
 * Lines of a log in bytes. In: pieces of lines: what is plain by itself, values, numbers. Out: all of
 * them in UTF-8. Values are looked at while they are written: no string is made of those that need no
 * escape, which are nearly all.
 */
import { escapeUnsafe } from "../../../shared/log.ts";
import { latin1 } from "../../http/fields.ts";

/** Room that every piece leaves for names and numbers behind it, in bytes. */
const SLACK = 1024;
/**
 * What is written of a value, at most, in bytes: 480 bytes of HPACK may stand for 500 KiB of fields,
 * and a byte of them for six in JSON.
 */
const MAX_VALUE = 1024;

const QUOTE = 0x22;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const LOWER_X = 0x78;
/** Powers of ten, up to the first that no number here reaches. */
const POWERS = Int32Array.from({ length: 10 }, (_, exponent) => 10 ** exponent);

/** 1 for characters that stand in a JSON string as they are, and in nginx's log. */
const PLAIN = new Uint8Array(256);
PLAIN.fill(1, 0x20, 0x7f);
PLAIN[QUOTE] = PLAIN[BACKSLASH] = 0;

const HEX_DIGITS = Uint8Array.from("0123456789ABCDEF", (digit) => digit.charCodeAt(0));

/** A text that stands in many lines, ready to be written by four bytes at a time. */
export interface Piece {
  readonly words: Int32Array;
  /** In bytes; the last word may be longer. */
  readonly length: number;
}

/** @param text of ASCII that needs no escape, at most 512 bytes. */
export function pieceOf(text: string): Piece {
  const words = new Int32Array(Math.ceil(text.length / 4));
  for (let i = 0; i < text.length; i++) words[i >> 2] |= text.charCodeAt(i) << (8 * (i & 3));
  return { words, length: text.length };
}

export class LogBuffer {
  readonly #encoder = new TextEncoder();
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView<ArrayBuffer>;
  #at = 0;

  /** @param size bytes that are there from the start; more are made when they are needed. */
  constructor(size: number) {
    this.#bytes = new Uint8Array(size + SLACK);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** In bytes. */
  get length(): number {
    return this.#at;
  }

  /** What was written, which is the caller's; the buffer is empty then. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes.slice(0, this.#at);
    this.#at = 0;
    return bytes;
  }

  /** Names, and what stands between values. */
  piece({ words, length }: Piece): void {
    this.#reserve(length);
    const view = this.#view;
    let at = this.#at;
    for (let i = 0; i < words.length; i++, at += 4) view.setInt32(at, words[i], true);
    this.#at += length;
  }

  /** A short text of ASCII that needs no escape. */
  ascii(text: string): void {
    this.#reserve(text.length);
    const bytes = this.#bytes;
    let at = this.#at;
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
    this.#at = at;
  }

  /** A JSON string. */
  quoted(text: string): void {
    if (text.length > MAX_VALUE) return this.#escaped(text);
    this.#reserve(text.length + 2);
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at++] = QUOTE;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0xff || PLAIN[code] === 0) return this.#escaped(text);
      bytes[at++] = code;
    }
    bytes[at++] = QUOTE;
    this.#at = at;
  }

  /** Takes the last bytes away. */
  shorten(count: number): void {
    this.#at -= count;
  }

  /** Writes over a byte that is there. */
  replace(at: number, byte: number): void {
    this.#bytes[at] = byte;
  }

  /**
   * A value of latin1 as `ngx_http_log_escape` writes it: `"`, `\`, and what is no visible ASCII as
   * `\xXX`. What is too long is cut off.
   */
  escapedAsNginx(text: string): void {
    const length = Math.min(text.length, MAX_VALUE);
    this.#reserve(4 * length);
    const bytes = this.#bytes;
    let at = this.#at;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i) & 0xff;
      if (PLAIN[code] === 1) bytes[at++] = code;
      else {
        bytes[at++] = BACKSLASH;
        bytes[at++] = LOWER_X;
        bytes[at++] = HEX_DIGITS[code >> 4];
        bytes[at++] = HEX_DIGITS[code & 15];
      }
    }
    this.#at = at;
  }

  /** The JSON string of a short value that is there in bytes, one character each. */
  latin1(from: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start + 2);
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at++] = QUOTE;
    for (let i = start; i < end; i++) {
      if (PLAIN[from[i]] === 0) {
        return this.#escaped(latin1(from, start, end));
      }
      bytes[at++] = from[i];
    }
    bytes[at++] = QUOTE;
    this.#at = at;
  }

  /** A whole number below 10^9, with zeros before it up to so many digits. */
  padded(value: number, least: number): void {
    this.#digits(value, least);
  }

  integer(value: number): void {
    // Beyond these, and for what is none, digits are not worth a way of their own.
    if (!(value >= 0 && value <= 999_999_999) || !Number.isInteger(value)) {
      return this.ascii(String(value));
    }
    this.#digits(value, 1);
  }

  /** A number of at most three decimals: microseconds of milliseconds are as fine as is of use. */
  thousandths(value: number): void {
    const rounded = Math.round(value * 1000);
    if (!(rounded >= 0 && rounded <= 999_999_999)) return this.ascii(String(rounded / 1000));
    // As integers: V8 takes the remainder of doubles by a call of the C library.
    const all = rounded | 0;
    const whole = (all / 1000) | 0;
    this.#digits(whole, 1);
    let fraction = all - whole * 1000;
    if (fraction === 0) return;
    let digits = 3;
    while (fraction % 10 === 0) {
      fraction = (fraction / 10) | 0;
      digits--;
    }
    this.#bytes[this.#at++] = 0x2e;
    this.#digits(fraction, digits);
  }

  /** See `padded`. */
  #digits(value: number, least: number): void {
    this.#reserve(16);
    value |= 0;
    let count = least;
    while (value >= POWERS[count]) count++;
    const bytes = this.#bytes;
    const start = this.#at;
    for (let i = start + count - 1; i >= start; i--) {
      const rest = (value / 10) | 0;
      bytes[i] = ZERO + value - rest * 10;
      value = rest;
    }
    this.#at = start + count;
  }

  #escaped(text: string): void {
    const json = escapeUnsafe(JSON.stringify(text.slice(0, MAX_VALUE)));
    const bytes = this.#encoder.encode(json);
    const end = cutOf(bytes);
    const isCut = text.length > MAX_VALUE || end < bytes.length - 1;
    const mark = this.#encoder.encode(isCut ? `… (${text.length} characters)"` : `"`);
    this.#reserve(end + mark.length);
    this.#bytes.set(bytes.subarray(0, end), this.#at);
    this.#bytes.set(mark, this.#at + end);
    this.#at += end + mark.length;
  }

  #reserve(count: number): void {
    const needed = this.#at + count + SLACK;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/** Where a JSON string is to end that has no more room than `MAX_VALUE`: not within an escape. */
function cutOf(json: Uint8Array): number {
  const last = json.length - 1;
  if (last <= 1 + MAX_VALUE) return last;
  for (let at = 1;;) {
    const next = at + lengthAt(json, at);
    if (next > 1 + MAX_VALUE) return at;
    at = next;
  }
}

/** Bytes of the character or escape at `at`. */
function lengthAt(json: Uint8Array, at: number): number {
  const byte = json[at];
  if (byte === BACKSLASH) return json[at + 1] === LOWER_U ? 6 : 2;
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}
