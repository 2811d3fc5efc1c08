/**
 * The little of Protocol Buffers' wire format that a sample backend needs. In: numbers and values of
 * fields. Out: bytes; and the other way round.
 *
 * https://protobuf.dev/programming-guides/encoding/
 */

/** An encoded message, or a part of one: parts in a row are one message. */
export type Message = Uint8Array;

export interface WireField {
  readonly number: number;
  /** Bytes of texts and messages. */
  readonly value: number | Uint8Array;
}

const VARINT = 0;
const LENGTH = 2;

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

/** One field: a number, a text, a message, or the parts of one. */
export function field(
  number: number,
  value: number | string | Message | readonly Message[],
): Message {
  if (typeof value === "number") return new Uint8Array([number << 3 | VARINT, ...varint(value)]);
  const bytes = typeof value === "string"
    ? ENCODER.encode(value)
    : value instanceof Uint8Array
    ? value
    : value.flatMap((part) => [...part]);
  return new Uint8Array([number << 3 | LENGTH, ...varint(bytes.length), ...bytes]);
}

/** The fields of a message in their order, as far as it can be read. */
export function* fieldsOf(message: Uint8Array): Generator<WireField> {
  let at = 0;
  /** Up to 2^28; nothing here is larger. */
  const number = () => {
    let value = 0;
    for (let shift = 0; at < message.length && shift < 28; shift += 7) {
      const byte = message[at++];
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < message.length) {
    const tag = number();
    const type = tag & 7;
    if (type !== VARINT && type !== LENGTH) return;
    const value = number();
    if (type === VARINT) {
      yield { number: tag >> 3, value };
      continue;
    }
    yield { number: tag >> 3, value: message.subarray(at, at + value) };
    at += value;
  }
}

export function text(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value;; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest];
    bytes.push(rest & 0x7f | 0x80);
  }
}
