/**
 * Fields of a table as `name: value CRLF` lines in one buffer, as http1 writes them, with what was
 * found out about each when it came. In: bytes of a name and a value. Out: lines that are copied by
 * runs, their ids, and what is wrong with them (RFC 9113 §8.2.1, §8.3).
 */
import { asciiBytes, fieldIdBy } from "../../http/fields.ts";
import { COLON, CR, HTAB, LF, SP, TOKEN, VALUE } from "../../http/grammar.ts";

/** What an entry costs besides its name and value (RFC 7541 §4.1, RFC 9113 §10.5.1), in bytes. */
export const ENTRY_OVERHEAD = 32;
/** What a line has besides its name and value, in bytes: `: ` and CRLF. */
export const LINE_OVERHEAD = 4;

/** Integers that describe a line in `meta`: start, end of the name, end of the value, info. */
export const META = 4;

// Info of a line: its field's id in the lowest byte, above it the kind of its name, and what is
// wrong with the value.
const KIND_SHIFT = 8;
const KIND_MASK = 0xf;
const VALUE_SHIFT = 12;
/** An info up to here is that of a regular field with nothing wrong. */
export const MAX_REGULAR = 0xff;
/** The bits that tell of the name alone. */
export const NAME_INFO = 0xfff;

// Kinds of names. Regular ones are 0; those behind PROTOCOL are wrong.
export const METHOD = 1;
export const SCHEME = 2;
export const AUTHORITY = 3;
export const PATH = 4;
export const STATUS = 5;
export const PROTOCOL = 6;
const UNKNOWN_PSEUDO = 7;
const EMPTY_NAME = 8;
const UPPER_CASE = 9;
const BAD_NAME = 10;

const BAD_VALUE = 1;
const BLANK_VALUE = 2;

const NAME_PROBLEMS: readonly string[] = [
  "",
  "",
  "",
  "",
  "",
  "",
  "",
  "unknown pseudo-field",
  "empty field name",
  "upper case in a field name",
  "bad byte in a field name",
];
const VALUE_PROBLEMS: readonly string[] = [
  "",
  "bad byte in a field value",
  "white space around a field value",
];

/** The pseudo-fields by kind. */
export const PSEUDO_NAMES: readonly string[] = [
  "",
  ":method",
  ":scheme",
  ":authority",
  ":path",
  ":status",
  ":protocol",
];
const PSEUDO_BYTES = PSEUDO_NAMES.map(asciiBytes);

/** The kind in an info: 0 for a regular field, METHOD … PROTOCOL, or what is wrong with the name. */
export function kindOf(info: number): number {
  return info >>> KIND_SHIFT & KIND_MASK;
}

/** What is wrong with a field of that info in itself, or null. */
export function problemOf(info: number): string | null {
  return NAME_PROBLEMS[kindOf(info)] || VALUE_PROBLEMS[info >>> VALUE_SHIFT] || null;
}

/** The info of the name at `bytes[start, end)`. */
export function nameInfo(bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return EMPTY_NAME << KIND_SHIFT;
  if (bytes[start] === COLON) return pseudoKind(bytes, start, end) << KIND_SHIFT;
  let flags = 0;
  for (let i = start; i < end; i++) {
    const byte = bytes[i];
    const kind = TOKEN[byte];
    if (kind === 0) return BAD_NAME << KIND_SHIFT;
    if (byte >= 0x41 && byte <= 0x5a) return UPPER_CASE << KIND_SHIFT;
    flags |= kind;
  }
  return fieldIdBy(flags, bytes, start, end);
}

function pseudoKind(bytes: Uint8Array, start: number, end: number): number {
  for (let kind = METHOD; kind <= PROTOCOL; kind++) {
    const name = PSEUDO_BYTES[kind];
    if (name.length !== end - start) continue;
    let i = 1;
    while (i < name.length && bytes[start + i] === name[i]) i++;
    if (i === name.length) return kind;
  }
  return UNKNOWN_PSEUDO;
}

/** The part of an info that tells of the value at `bytes[start, end)`. */
export function valueInfo(bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return 0;
  for (let i = start; i < end; i++) {
    if (VALUE[bytes[i]] === 0) return BAD_VALUE << VALUE_SHIFT;
  }
  return isBlank(bytes[start]) || isBlank(bytes[end - 1]) ? BLANK_VALUE << VALUE_SHIFT : 0;
}

function isBlank(byte: number): boolean {
  return byte === SP || byte === HTAB;
}

// Of tables in which nothing is yet, such as those of clients at rest: an array of its own takes 200 bytes.
const NO_BYTES = new Uint8Array(0);
const NO_META = new Int32Array(0);

/** Lines of a table. Which of them hold is for the table to know. */
export class FieldLines {
  bytes = NO_BYTES;
  /** META integers a slot. */
  meta = NO_META;
  /** The value of a pseudo-field as a string, made when first asked for. */
  texts: (string | null)[] = [];

  /** Writes the CRLF and what describes the line `bytes[start, end)` into a slot. */
  set(slot: number, start: number, nameEnd: number, end: number, info: number): void {
    const { bytes, meta } = this;
    bytes[end] = CR;
    bytes[end + 1] = LF;
    const at = slot * META;
    meta[at] = start;
    meta[at + 1] = nameEnd;
    meta[at + 2] = end;
    meta[at + 3] = info;
    this.texts[slot] = null;
  }
}
