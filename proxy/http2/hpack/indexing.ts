/**
 * Which fields the encoder puts into its table (RFC 7541 §6.2, §7.1). In: a field. Out: its rule, and
 * hashes to find it by.
 *
 * A table of 4 KiB serves whoever shares the connection. So values that mostly change stay out of it,
 * whatever is not known to repeat must come twice before it goes in, and secrets never do.
 */
import {
  asciiBytes,
  fieldId,
  OTHER,
  SENSITIVE,
  TRACEPARENT,
  X_REQUEST_ID,
} from "../../http/fields.ts";
import { STATIC_COUNT, STATIC_TABLE } from "./static_table.ts";

/** Into the table when first seen. */
export const ALWAYS = 0;
/** Into the table when seen for the second time in short. */
export const REPEATED = 1;
/** Not into the table. */
export const LITERAL = 2;
/** Nor into that of anyone who sends it on (RFC 7541 §6.2.3, §7.1.3). */
export const NEVER = 3;

const RULES_BY_NAME: readonly (readonly [number, readonly string[]])[] = [
  [ALWAYS, [
    ":authority",
    ":status",
    "accept-encoding",
    "accept-ranges",
    "allow",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-type",
    "date",
    "expect",
    "server",
    "strict-transport-security",
    "vary",
    "via",
  ]],
  [LITERAL, [
    ":path",
    "age",
    "content-length",
    "content-location",
    "content-range",
    "etag",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "range",
  ]],
  [NEVER, ["authorization", "cookie", "proxy-authorization", "set-cookie"]],
];

/** The rule of each name of the static table, by index; at 0 that of all other names. */
export const RULES = new Uint8Array(STATIC_COUNT + 1).fill(REPEATED);
/** Index in the static table of the name that has this id of `fields.ts`; 0 where it must be sought. */
export const STATIC_OF_ID = new Uint8Array(256);

for (const [rule, names] of RULES_BY_NAME) {
  for (const [i, [name]] of STATIC_TABLE.entries()) if (names.includes(name)) RULES[i + 1] = rule;
}
for (const [i, [name]] of STATIC_TABLE.entries()) {
  const id = fieldId(asciiBytes(name), 0, name.length);
  if (id !== OTHER) STATIC_OF_ID[id] = i + 1;
}

/** The rule of a field with that id and that index of its name, by `rules` (as RULES). */
export function ruleOf(rules: Uint8Array, id: number, nameIndex: number): number {
  if (id === SENSITIVE) return NEVER;
  return id === X_REQUEST_ID || id === TRACEPARENT ? LITERAL : rules[nameIndex];
}

/** A byte of a name in lower case. */
export const LOWER = new Uint8Array(256).map((_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
);

/**
 * A hash of a field: of the lengths and some bytes. It only says where to look, and whether there
 * is what was sought is compared; so fields that share a hash cost a literal, and no more.
 */
export function pairHash(
  bytes: Uint8Array,
  nameStart: number,
  nameEnd: number,
  valueStart: number,
  valueEnd: number,
): number {
  const length = valueEnd - valueStart;
  let hash = nameHash(bytes, nameStart, nameEnd) + length;
  if (length > 0) {
    hash = Math.imul(hash, 31) + bytes[valueStart];
    hash = Math.imul(hash, 31) + bytes[valueStart + (length >>> 2)];
    hash = Math.imul(hash, 31) + bytes[valueStart + (length >>> 1)];
    hash = Math.imul(hash, 31) + bytes[valueEnd - 1];
  }
  return hash ^ hash >>> 8 ^ hash >>> 16;
}

/** The same of a name, in any case. */
export function nameHash(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length === 0) return 0;
  return Math.imul(length, 961) + Math.imul(LOWER[bytes[start + (length >>> 1)]], 31) +
    LOWER[bytes[end - 1]];
}

/** A hash of all of `name: value` in `bytes[start, end)`. */
export function wholeHash(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193);
  return hash ^ hash >>> 15;
}
