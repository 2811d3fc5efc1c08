/** Heads for tests. In: pairs of strings. Out: header blocks and decoded heads, and back. */
import { asciiBytes, fieldsOf } from "../../proxy/http/fields.ts";
import type { HpackEncoder } from "../../proxy/http2/hpack/encoder.ts";
import { MAX_INTEGER_BYTES, writeInteger } from "../../proxy/http2/hpack/integer.ts";
import { HeadBlock } from "../../proxy/http2/hpack/head_block.ts";

export type Field = readonly [string, string];

export function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.replace(/ /g, "").match(/../g) ?? [], (byte) => parseInt(byte, 16));
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A head that has begun, with limits that are not met by accident. */
export function newHead(maxBytes = 65_536, maxFields = 1000, isTrailers = false): HeadBlock {
  const head = new HeadBlock();
  head.begin(maxBytes, maxFields, isTrailers);
  return head;
}

/** All that a head holds, pseudo-fields first, in an order of their own. */
export function fieldsOfHead(head: HeadBlock): Field[] {
  const pairs: Field[] = [];
  if (head.status !== -1) pairs.push([":status", String(head.status)]);
  for (const name of ["method", "scheme", "path", "authority", "protocol"] as const) {
    const value = head[name];
    if (value !== null) pairs.push([`:${name}`, value]);
  }
  for (let i = 0; i < head.fields.count; i++) {
    pairs.push([head.fields.name(i), head.fields.value(i)]);
  }
  return pairs;
}

const NO_SKIPS = new Uint8Array(256);

/** Encodes the fields in their order; how many bytes there are. */
export function writeHead(
  encoder: HpackEncoder,
  out: Uint8Array,
  fields: readonly Field[],
): number {
  let at = encoder.begin(out, 0);
  for (const [name, value] of fields) {
    switch (name) {
      case ":status":
        at = encoder.status(out, at, Number(value));
        break;
      case ":method":
        at = encoder.method(out, at, value);
        break;
      case ":scheme":
        at = encoder.scheme(out, at, value);
        break;
      case ":authority":
        at = encoder.authority(out, at, value);
        break;
      case ":path": {
        const [path, ...query] = value.split(/(?=\?)/);
        at = encoder.path(out, at, path, query.join(""));
        break;
      }
      case ":protocol":
        at = encoder.protocol(out, at, value);
        break;
      default:
        at = encoder.fields(out, at, fieldsOf([[name, value]]), NO_SKIPS);
    }
  }
  return at;
}

/** A literal whose strings are as they are, raw, and in any form: what our encoder never writes. */
export function rawLiteral(first: number, name: string | null, value: string): number[] {
  return [first, ...(name === null ? [] : rawString(name)), ...rawString(value)];
}

function rawString(text: string): number[] {
  const length = new Uint8Array(MAX_INTEGER_BYTES);
  const end = writeInteger(length, 0, 0, 0x7f, text.length);
  return [...length.subarray(0, end), ...asciiBytes(text)];
}
