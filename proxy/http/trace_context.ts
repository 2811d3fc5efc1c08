/**
 * The headers of W3C Trace Context. In: values as they have come. Out: whether they say anything, and
 * where in them what stands.
 *
 *     00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *
 * https://www.w3.org/TR/trace-context/
 */

import { splitList } from "./field_values.ts";

/** Of the parts of a traceparent, from its beginning. */
export const TRACE_ID_AT = 3;
export const TRACE_ID_LENGTH = 32;
export const PARENT_ID_AT = 36;
export const PARENT_ID_LENGTH = 16;
export const FLAGS_AT = 53;
/** Of version 00; later ones may go on behind it. */
export const TRACEPARENT_LENGTH = 55;

/** What a tracestate may have at least by the specification, in bytes: what is longer is dropped. */
const MAX_STATE = 512;
const MAX_MEMBERS = 32;

const HYPHEN = 0x2d;
const ZERO = 0x30;
const LOWER_F = 0x66;

/** 1 for `0-9a-f`. */
const HEX = new Uint8Array(256);
HEX.fill(1, ZERO, ZERO + 10);
HEX.fill(1, 0x61, LOWER_F + 1);

/** Whether `bytes[start, end)` is a traceparent with a parent to be the child of. */
export function isTraceparent(bytes: Uint8Array, start: number, end: number): boolean {
  const length = end - start;
  if (length < TRACEPARENT_LENGTH) return false;
  const flagsAt = start + FLAGS_AT;
  if (
    !isHex(bytes, start, start + 2) ||
    !isHex(bytes, start + TRACE_ID_AT, start + TRACE_ID_AT + TRACE_ID_LENGTH) ||
    !isHex(bytes, start + PARENT_ID_AT, start + PARENT_ID_AT + PARENT_ID_LENGTH) ||
    !isHex(bytes, flagsAt, flagsAt + 2)
  ) return false;
  for (const at of [TRACE_ID_AT, PARENT_ID_AT, FLAGS_AT]) {
    if (bytes[start + at - 1] !== HYPHEN) return false;
  }
  const isFirstVersion = bytes[start] === ZERO && bytes[start + 1] === ZERO;
  const isInvalidVersion = bytes[start] === LOWER_F && bytes[start + 1] === LOWER_F;
  if (isInvalidVersion || (isFirstVersion && length !== TRACEPARENT_LENGTH)) return false;
  if (length > TRACEPARENT_LENGTH && bytes[start + TRACEPARENT_LENGTH] !== HYPHEN) return false;
  return !isZero(bytes, start + TRACE_ID_AT, TRACE_ID_LENGTH) &&
    !isZero(bytes, start + PARENT_ID_AT, PARENT_ID_LENGTH);
}

/** Whether the flags at `at` say that the trace is sampled. */
export function isSampled(bytes: Uint8Array, at: number): boolean {
  const digit = bytes[at + 1];
  return ((digit & 1) === 1) === (digit <= ZERO + 9);
}

function isHex(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (HEX[bytes[i]] === 0) return false;
  return true;
}

function isZero(bytes: Uint8Array, start: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[start + i] !== ZERO) return false;
  return true;
}

/** One `key=value`; the value has visible ASCII and blanks but at its end. */
const MEMBER =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Whether a tracestate, all lines of it joined by commas, may go on. */
export function isTracestate(value: string): boolean {
  if (value.length > MAX_STATE) return false;
  const keys = new Set<string>();
  let members = 0;
  for (const member of splitList(value)) {
    if (member === "") continue;
    members++;
    if (!MEMBER.test(member)) return false;
    keys.add(member.slice(0, member.indexOf("=")));
  }
  return members <= MAX_MEMBERS && keys.size === members;
}
