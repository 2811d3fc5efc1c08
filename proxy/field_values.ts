/**
 * Values that framing depends on (RFC 9110 §5.6, §8.6). In: a field's value. Out: its meaning, or a
 * refusal. Nothing here is lenient: a value that has two readings has none.
 */
import { asciiBytes, DROPPED, equalsLower, type Fields } from "./fields.ts";
import { isDigit } from "./grammar.ts";

/**
 * Content-Length's value (digits only, below 2^53), or -1. Digits are counted, never parsed by
 * `Number()`, which takes `0x10`, `1e3` and blanks.
 */
export function readContentLength(bytes: Uint8Array, start: number, end: number): number {
  if (end === start || end - start > 16) return -1;
  let length = 0;
  for (let i = start; i < end; i++) {
    if (!isDigit(bytes[i])) return -1;
    length = length * 10 + (bytes[i] - 0x30);
  }
  return Number.isSafeInteger(length) ? length : -1;
}

/** The elements of a comma-separated list without the white space around them; empty ones stay "". */
export function splitList(value: string): string[] {
  return value.split(",").map((element) => element.replace(/^[ \t]+|[ \t]+$/g, ""));
}

const KEEP_ALIVE_VALUE = asciiBytes("keep-alive");

/** Whether a Connection field holds this alone, as nearly every one does: it needs no list. */
export function isKeepAlive(fields: Fields, index: number): boolean {
  const start = fields.valueStart(index);
  return fields.valueEnd(index) - start === KEEP_ALIVE_VALUE.length &&
    equalsLower(fields.bytes, start, KEEP_ALIVE_VALUE);
}

/** Drops every field of this name (lower case). */
export function dropNamed(fields: Fields, name: Uint8Array): void {
  for (let i = 0; i < fields.count; i++) {
    const start = fields.nameStart(i);
    if (fields.nameEnd(i) - start === name.length && equalsLower(fields.bytes, start, name)) {
      fields.ids[i] = DROPPED;
    }
  }
}
