/**
 * Integers with a prefix (RFC 7541 §5.1). In: bytes, or a number. Out: the number and where it ends,
 * or bytes. Bounded: a number past 2^28 or of more than five bytes is an error, long before it could
 * overflow.
 */

/** What `readInteger` has read; one object for all, as everything here is synchronous. */
export const integer = { value: 0, end: 0 };

/** Bytes of an integer at most, as `writeInteger` writes it. */
export const MAX_INTEGER_BYTES = 6;

/**
 * Reads the integer whose prefix is the low bits `mask` (2^N - 1) of `bytes[at]`, into `integer`.
 * False where it does not end before `end`, or is too large.
 */
export function readInteger(bytes: Uint8Array, at: number, end: number, mask: number): boolean {
  let value = bytes[at++] & mask;
  if (value === mask) {
    let shift = 0;
    let byte = 0;
    do {
      if (at === end || shift > 21) return false;
      byte = bytes[at++];
      value += (byte & 0x7f) << shift;
      shift += 7;
    } while (byte >= 0x80);
  }
  integer.value = value;
  integer.end = at;
  return true;
}

/**
 * Writes `value` (less than 2^28) with a prefix of the low bits `mask`; `first` are the bits above
 * it. The position after it.
 */
export function writeInteger(
  out: Uint8Array,
  at: number,
  first: number,
  mask: number,
  value: number,
): number {
  if (value < mask) {
    out[at++] = first | value;
    return at;
  }
  out[at++] = first | mask;
  value -= mask;
  while (value >= 0x80) {
    out[at++] = (value & 0x7f) | 0x80;
    value >>>= 7;
  }
  out[at++] = value;
  return at;
}
