/**
 * A plain HPACK decoder (RFC 7541) for peers in tests. In: blocks, in their order. Out: fields. Slow
 * and simple; of the proxy's own codec it shares only the lengths of Huffman's code.
 */
import { CODE_BITS, CODES } from "../../proxy/http2/hpack/huffman.ts";
import type { Field } from "./h2_frames.ts";
import { textOf } from "./latin1.ts";

/** Appendix A. */
const STATIC_TABLE: readonly Field[] = `:authority
:method=GET
:method=POST
:path=/
:path=/index.html
:scheme=http
:scheme=https
:status=200
:status=204
:status=206
:status=304
:status=400
:status=404
:status=500
accept-charset
accept-encoding=gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`.split("\n").map((line) => {
  const [name, value = ""] = line.split("=", 2);
  return [name, value];
});

const SYMBOLS = new Map(
  Array.from(CODES, (code, symbol) => [`${CODE_BITS[symbol]} ${code}`, symbol]),
);

export class HeadDecoder {
  readonly #table: Field[] = [];
  #size = 0;
  #maxSize: number;
  #block: Uint8Array = new Uint8Array(0);
  #at = 0;

  /** @param maxSize of the dynamic table, in bytes, as this end has set it. */
  constructor(maxSize = 4096) {
    this.#maxSize = maxSize;
  }

  /** How many fields the dynamic table has. */
  get tableLength(): number {
    return this.#table.length;
  }

  /** Throws where the block is malformed. */
  decode(block: Uint8Array): Field[] {
    this.#block = block;
    this.#at = 0;
    const fields: Field[] = [];
    while (this.#at < block.length) {
      const first = block[this.#at];
      if (first & 0x80) {
        fields.push(this.#entry(this.#integer(7)));
      } else if (first & 0x40) {
        const field = this.#literal(6);
        fields.push(field);
        this.#remember(field);
      } else if (first & 0x20) {
        this.#maxSize = this.#integer(5);
        this.#evict();
      } else {
        fields.push(this.#literal(4));
      }
    }
    return fields;
  }

  #literal(bits: number): Field {
    const index = this.#integer(bits);
    const name = index === 0 ? this.#string() : this.#entry(index)[0];
    return [name, this.#string()];
  }

  #entry(index: number): Field {
    const field = index <= STATIC_TABLE.length
      ? STATIC_TABLE[index - 1]
      : this.#table[index - STATIC_TABLE.length - 1];
    if (field === undefined) throw new Error(`no entry ${index}`);
    return field;
  }

  #remember(field: Field): void {
    this.#table.unshift(field);
    this.#size += sizeOf(field);
    this.#evict();
  }

  #evict(): void {
    while (this.#size > this.#maxSize) this.#size -= sizeOf(this.#table.pop()!);
  }

  #integer(bits: number): number {
    const max = (1 << bits) - 1;
    let value = this.#byte() & max;
    if (value < max) return value;
    for (let factor = 1;; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  #byte(): number {
    if (this.#at === this.#block.length) throw new Error("the block is cut off");
    return this.#block[this.#at++];
  }

  #string(): string {
    const isCoded = this.#block[this.#at] >= 0x80;
    const length = this.#integer(7);
    const bytes = this.#block.subarray(this.#at, this.#at += length);
    if (bytes.length < length) throw new Error("a string is cut off");
    return isCoded ? decodeHuffman(bytes) : textOf(bytes);
  }
}

function sizeOf([name, value]: Field): number {
  return name.length + value.length + 32;
}

function decodeHuffman(bytes: Uint8Array): string {
  let text = "";
  let code = 0;
  let length = 0;
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    code = (code << 1 | bytes[bit >> 3] >> (7 - (bit & 7)) & 1) >>> 0;
    const symbol = SYMBOLS.get(`${++length} ${code}`);
    if (symbol === undefined) continue;
    text += String.fromCharCode(symbol);
    code = length = 0;
  }
  if (length > 7 || code !== 2 ** length - 1) throw new Error("bad padding of Huffman's code");
  return text;
}
