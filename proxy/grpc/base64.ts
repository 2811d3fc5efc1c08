/**
 * Base64 (RFC 4648 §4) of a stream. In: bytes in parts, cut anywhere. Out: the decoded or encoded
 * bytes of each part. Padding may come wherever a writer has flushed (gRPC's doc/PROTOCOL-WEB.md).
 */
import { asciiBytes } from "../http/fields.ts";

const ALPHABET = asciiBytes("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
const PADDING = 64;
const EQUALS = 0x3d;

/** The value of each digit; PADDING for `=`, 255 for what is none. */
const VALUES = new Uint8Array(256).fill(255);
ALPHABET.forEach((byte, value) => VALUES[byte] = value);
VALUES[EQUALS] = PADDING;

/** Bytes that `count` digits come to at most, whatever was kept of those before. */
export function decodedSize(count: number): number {
  return Math.floor((count + 3) / 4) * 3;
}

/** Digits, padded, that `count` bytes come to. */
export function encodedSize(count: number): number {
  return Math.ceil(count / 3) * 4;
}

export class Base64Decoder {
  /** Digits of a group of four that has begun, and how many of them are padding. */
  #count = 0;
  #padding = 0;
  #bits = 0;

  /** No group has begun: the text may end here. */
  get isWhole(): boolean {
    return this.#count === 0;
  }

  /** Decodes `text` to the front of `out`; how many bytes came of it, -1 where it is malformed. */
  decode(text: Uint8Array, out: Uint8Array): number {
    let at = 0;
    for (let i = 0; i < text.length; i++) {
      const value = VALUES[text[i]];
      if (value < PADDING) {
        if (this.#padding > 0) return -1;
        this.#bits = this.#bits << 6 | value;
      } else {
        if (value !== PADDING || this.#count < 2) return -1;
        this.#padding++;
        this.#bits <<= 6;
      }
      if (++this.#count < 4) continue;
      const bits = this.#bits;
      out[at++] = bits >> 16;
      if (this.#padding < 2) out[at++] = bits >> 8;
      if (this.#padding < 1) out[at++] = bits;
      this.#count = this.#padding = this.#bits = 0;
    }
    return at;
  }
}

/** Encodes `bytes`, padded, to the front of `out`; how many digits came of it. */
export function encodeBase64(bytes: Uint8Array, out: Uint8Array): number {
  const { length } = bytes;
  const whole = length - length % 3;
  let at = 0;
  for (let i = 0; i < whole; i += 3) {
    const bits = bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2];
    out[at++] = ALPHABET[bits >> 18];
    out[at++] = ALPHABET[bits >> 12 & 63];
    out[at++] = ALPHABET[bits >> 6 & 63];
    out[at++] = ALPHABET[bits & 63];
  }
  if (whole === length) return at;
  const bits = bytes[whole] << 16 | (whole + 1 < length ? bytes[whole + 1] << 8 : 0);
  out[at++] = ALPHABET[bits >> 18];
  out[at++] = ALPHABET[bits >> 12 & 63];
  out[at++] = whole + 1 < length ? ALPHABET[bits >> 6 & 63] : EQUALS;
  out[at++] = EQUALS;
  return at;
}
