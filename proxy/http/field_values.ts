/**
 * Values that framing depends on (RFC 9110 §5.6, §8.6). In: a field's value. Out: its meaning, or a
 * refusal. Nothing here is lenient: a value that has two readings has none.
 */
import { asciiBytes, CONNECTION, DROPPED, type Fields } from "./fields.ts";
import { equalsLower } from "./letter_case.ts";
import { isDigit, TOKEN } from "./grammar.ts";

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
  return value.split(",").map(trimmed);
}

/**
 * Without blanks and tabs at both ends. By index: `/[ \t]+$/` begins anew at each blank inside, which
 * took a second for 32 KiB of them.
 */
export function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/**
 * Connection options of a message, on all lines together. Browsers and proxies send up to three, and
 * each names fields to look for among all others.
 */
const MAX_CONNECTION_OPTIONS = 32;

/**
 * The options of all Connection fields (RFC 9110 §7.6.1), in lower case, without empty ones; null
 * where one is no token, so also where it has a blank inside, or where there are too many.
 */
export function connectionOptions(fields: Fields): readonly string[] | null {
  const options: string[] = [];
  let count = 0;
  for (let i = fields.find(CONNECTION); i !== -1; i = fields.find(CONNECTION, i + 1)) {
    if (isKeepAlive(fields, i)) {
      if (++count > MAX_CONNECTION_OPTIONS) return null;
      options.push("keep-alive");
      continue;
    }
    for (const option of splitList(fields.value(i).toLowerCase())) {
      if (++count > MAX_CONNECTION_OPTIONS) return null;
      if (option === "") continue; // RFC 9110 §5.6.1.2
      for (let at = 0; at < option.length; at++) {
        const code = option.charCodeAt(at);
        if (code > 0xff || TOKEN[code] === 0) return null;
      }
      options.push(option);
    }
  }
  return options;
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
  for (let i = 0; i < fields.count; i++) if (isNamed(fields, i, name)) fields.ids[i] = DROPPED;
}

/** Whether there is a field of this name (lower case), be it a dropped one. */
export function hasNamed(fields: Fields, name: Uint8Array): boolean {
  for (let i = 0; i < fields.count; i++) if (isNamed(fields, i, name)) return true;
  return false;
}

function isNamed(fields: Fields, index: number, name: Uint8Array): boolean {
  const start = fields.nameStart(index);
  return fields.nameEnd(index) - start === name.length && equalsLower(fields.bytes, start, name);
}
