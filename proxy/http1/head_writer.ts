/**
 * Heads as HTTP/1.1 bytes. In: fields as validated ranges, framing that we decided. Out: bytes in a
 * buffer. Every line is one that the parser (or `fieldsOf`) has checked; a run of neighbouring lines
 * in plain form is copied in one go, any other line is written anew.
 */
import { asciiBytes, type Fields, NEVER_CROSSES, writeLatin1 } from "../http/fields.ts";
import { COLON, CR, LF, SP } from "../http/grammar.ts";

/** Shorter ranges are copied byte by byte: a view costs more than that. */
const SHORT_RANGE = 32;

/** An upper bound for what `writeFields` writes, in bytes. */
export function fieldsSize(fields: Fields): number {
  let size = 0;
  for (let i = 0; i < fields.count; i++) {
    size += fields.valueEnd(i) - fields.nameStart(i) + 4;
  }
  return size;
}

/**
 * Writes every field that crosses, as `name: value CRLF`; the position after them. `ending` has 1 for
 * ids that do not cross.
 */
export function writeFields(
  out: Uint8Array,
  at: number,
  fields: Fields,
  ending: Uint8Array = NEVER_CROSSES,
): number {
  const { bytes, ids, ranges, count } = fields;
  let runStart = 0;
  let runEnd = 0;
  for (let i = 0, r = 0; i < count; i++, r += 4) {
    if (ending[ids[i]] === 1) continue;
    const nameStart = ranges[r];
    const nameEnd = ranges[r + 1];
    const valueStart = ranges[r + 2];
    const valueEnd = ranges[r + 3];
    if (valueStart === nameEnd + 2 && bytes[nameEnd + 1] === SP && bytes[valueEnd] === CR) {
      if (nameStart !== runEnd) {
        at = copyRange(out, at, bytes, runStart, runEnd);
        runStart = nameStart;
      }
      runEnd = valueEnd + 2;
      continue;
    }
    at = copyRange(out, at, bytes, runStart, runEnd);
    runStart = runEnd = 0;
    at = copyRange(out, at, bytes, nameStart, nameEnd);
    out[at++] = COLON;
    out[at++] = SP;
    at = copyRange(out, at, bytes, valueStart, valueEnd);
    out[at++] = CR;
    out[at++] = LF;
  }
  return copyRange(out, at, bytes, runStart, runEnd);
}

/** Copies `bytes[start, end)`; the position after it. */
export function copyRange(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  if (end - start > SHORT_RANGE) {
    out.set(bytes.subarray(start, end), at);
    return at + end - start;
  }
  while (start < end) out[at++] = bytes[start++];
  return at;
}

/** `name: digits CRLF`; `name` comes with its colon and blank. */
export function writeNumberField(
  out: Uint8Array,
  at: number,
  name: Uint8Array,
  value: number,
): number {
  at = copyRange(out, at, name, 0, name.length);
  at = writeLatin1(out, at, String(value));
  out[at++] = CR;
  out[at++] = LF;
  return at;
}

const UPGRADE_LINES = asciiBytes("Connection: upgrade\r\nUpgrade: ");

/** The two lines that ask for, or confirm, a switch to `protocol`. */
export function writeUpgrade(out: Uint8Array, at: number, protocol: string): number {
  at = copyRange(out, at, UPGRADE_LINES, 0, UPGRADE_LINES.length);
  at = writeLatin1(out, at, protocol);
  out[at++] = CR;
  out[at++] = LF;
  return at;
}
