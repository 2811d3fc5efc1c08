/**
 * HPACK's encoder (RFC 7541), one for each direction of a connection. In: heads, field by field.
 * Out: their header blocks, to be sent in the order in which they were made. Which field goes into
 * the table `indexing.ts` says. Work is linear in the input: a field is hashed, compared with one
 * entry, and written and inserted at most once.
 */
import { asciiBytes, type Fields, OTHER, writeLatin1 } from "../../http/fields.ts";
import { COLON, SP } from "../../http/grammar.ts";
import { copy, DynamicTable } from "./dynamic_table.ts";
import { ENTRY_OVERHEAD, LINE_OVERHEAD, META } from "./field_lines.ts";
import { huffmanLength, writeHuffman } from "./huffman.ts";
import {
  ALWAYS,
  LITERAL,
  LOWER,
  nameHash,
  NEVER,
  pairHash,
  REPEATED,
  ruleOf,
  RULES,
  STATIC_OF_ID,
  wholeHash,
} from "./indexing.ts";
import { MAX_INTEGER_BYTES, writeInteger } from "./integer.ts";
import { STATIC_COUNT, STATIC_LINES, staticName } from "./static_table.ts";

/** What the peer's table may hold at most, whatever it allows, in bytes. */
const MAX_TABLE_SIZE = 4096;
/** Bytes of pending size updates at most: `begin` needs as many. */
export const SIZE_UPDATES = 2 * MAX_INTEGER_BYTES;
/** Bytes of a literal at most, besides its name and value. */
const LITERAL_OVERHEAD = 3 * MAX_INTEGER_BYTES;

/** Slots for the numbers of entries by the hash of the field, and how many a field may be in. */
const PAIR_SLOTS = 256;
const PAIR_WAYS = 4;
const NAME_SLOTS = 64;
/** Slots for hashes of fields that came once, and how many a field may be in. */
const SEEN_SLOTS = 128;
const SEEN_WAYS = 4;

// Indexes of the static table.
const AUTHORITY = 1;
const METHOD_GET = 2;
const METHOD_POST = 3;
const PATH_ROOT = 4;
const PATH_INDEX = 5;
const SCHEME_HTTP = 6;
const SCHEME_HTTPS = 7;
const STATUS_200 = 8;
const STATUSES: readonly number[] = [200, 204, 206, 304, 400, 404, 500];
const PROTOCOL_NAME = asciiBytes(":protocol");

/** Fields are put together here. One for all: nothing of it is read after a call has returned. */
let scratch = new Uint8Array(1024);

/** An upper bound for a field of so many bytes of name and value. */
export function fieldBound(nameLength: number, valueLength: number): number {
  return nameLength + valueLength + LITERAL_OVERHEAD;
}

/** An upper bound for what `fields` writes, in bytes. */
export function fieldsBound(fields: Fields): number {
  let size = 0;
  for (let i = 0; i < fields.count; i++) {
    size += fields.valueEnd(i) - fields.nameStart(i) + LITERAL_OVERHEAD;
  }
  return size;
}

/**
 * Every writer takes the output and a position in it, with room for what the bounds say, and gives
 * the position behind what it wrote. Strings have one character a byte.
 */
export class HpackEncoder {
  readonly #table = new DynamicTable(MAX_TABLE_SIZE);
  readonly #rules: Uint8Array;
  /** The number of the entry behind the one that was sent last. */
  #next = 0;
  /** Of each hash, the number of the entry that came last with it, and 1; 0 for none. */
  #pairs: Int32Array | null = null;
  #names: Int32Array | null = null;
  /** Hashes of fields that came once. */
  #seen: Int32Array | null = null;
  /** The smallest size and the last since the last head (§4.2); -1 where nothing changed. */
  #smallest = -1;
  #wanted = MAX_TABLE_SIZE;

  /** @param rules one of `indexing.ts` for each name of the static table, by index. */
  constructor(rules: Uint8Array = RULES) {
    this.#rules = rules;
  }

  /** The peer's SETTINGS_HEADER_TABLE_SIZE, in bytes; told to it with the next head. */
  setTableLimit(bytes: number): void {
    this.#wanted = Math.min(bytes, MAX_TABLE_SIZE);
    if (this.#smallest === -1 || this.#wanted < this.#smallest) this.#smallest = this.#wanted;
  }

  /**
   * Gives back what finds entries of the table, which stay: fields of heads that follow a rest are
   * inserted anew. It takes 2.4 of the 15 KB of a client at rest.
   */
  rest(): void {
    this.#pairs = this.#names = this.#seen = null;
  }

  /** Begins a head: writes pending size updates, at most SIZE_UPDATES bytes. */
  begin(out: Uint8Array, at: number): number {
    if (this.#smallest === -1) return at;
    if (this.#smallest < this.#table.maxSize) at = this.#resize(out, at, this.#smallest);
    if (this.#wanted !== this.#table.maxSize) at = this.#resize(out, at, this.#wanted);
    this.#smallest = -1;
    return at;
  }

  #resize(out: Uint8Array, at: number, size: number): number {
    this.#table.resize(size);
    return writeInteger(out, at, 0x20, 0x1f, size);
  }

  /** `:status`, from 100 to 999. */
  status(out: Uint8Array, at: number, status: number): number {
    const known = STATUSES.indexOf(status);
    if (known === -1) return this.#pseudo(out, at, STATUS_200, String(status));
    out[at] = 0x80 | STATUS_200 + known;
    return at + 1;
  }

  method(out: Uint8Array, at: number, method: string): number {
    if (method === "GET") out[at] = 0x80 | METHOD_GET;
    else if (method === "POST") out[at] = 0x80 | METHOD_POST;
    else return this.#pseudo(out, at, METHOD_GET, method);
    return at + 1;
  }

  scheme(out: Uint8Array, at: number, scheme: string): number {
    if (scheme === "https") out[at] = 0x80 | SCHEME_HTTPS;
    else if (scheme === "http") out[at] = 0x80 | SCHEME_HTTP;
    else return this.#pseudo(out, at, SCHEME_HTTP, scheme);
    return at + 1;
  }

  authority(out: Uint8Array, at: number, authority: string): number {
    return this.#pseudo(out, at, AUTHORITY, authority);
  }

  /** `:path`; `query` with its `?`, or "". */
  path(out: Uint8Array, at: number, path: string, query: string): number {
    if (query !== "") return this.#pseudo(out, at, PATH_ROOT, path, query);
    if (path === "/") out[at] = 0x80 | PATH_ROOT;
    else if (path === "/index.html") out[at] = 0x80 | PATH_INDEX;
    else return this.#pseudo(out, at, PATH_ROOT, path);
    return at + 1;
  }

  /** `:protocol` (RFC 8441 §4). */
  protocol(out: Uint8Array, at: number, protocol: string): number {
    return this.pair(out, at, PROTOCOL_NAME, protocol);
  }

  /** A field of our own making; the name is in lower case, and `id` what `fields.ts` says of it. */
  pair(out: Uint8Array, at: number, name: Uint8Array, value: string, id: number = OTHER): number {
    const nameEnd = name.length;
    reserve(nameEnd + value.length + LINE_OVERHEAD);
    copy(scratch, 0, name, 0, nameEnd);
    const end = writeLatin1(scratch, nameEnd + 2, value);
    return this.#field(out, at, scratch, 0, nameEnd, nameEnd + 2, end, id, 0);
  }

  /** Every field whose id is not 1 in `skips`, with its name in lower case. */
  fields(out: Uint8Array, at: number, fields: Fields, skips: Uint8Array): number {
    const { bytes, ids, ranges, count } = fields;
    for (let i = 0, r = 0; i < count; i++, r += 4) {
      const id = ids[i];
      if (skips[id] === 1) continue;
      const name = ranges[r];
      at = this.#field(out, at, bytes, name, ranges[r + 1], ranges[r + 2], ranges[r + 3], id, 0);
    }
    return at;
  }

  /** A pseudo-field whose name has that index. */
  #pseudo(out: Uint8Array, at: number, nameIndex: number, text: string, rest = ""): number {
    const { bytes, meta } = STATIC_LINES;
    const start = meta[(nameIndex - 1) * META];
    const nameEnd = meta[(nameIndex - 1) * META + 1] - start;
    reserve(nameEnd + text.length + rest.length + LINE_OVERHEAD);
    copy(scratch, 0, bytes, start, start + nameEnd);
    const end = writeLatin1(scratch, writeLatin1(scratch, nameEnd + 2, text), rest);
    return this.#field(out, at, scratch, 0, nameEnd, nameEnd + 2, end, OTHER, nameIndex);
  }

  /** @param nameIndex of the static table, where it is known; else 0. */
  #field(
    out: Uint8Array,
    at: number,
    bytes: Uint8Array,
    nameStart: number,
    nameEnd: number,
    valueStart: number,
    valueEnd: number,
    id: number,
    nameIndex: number,
  ): number {
    const table = this.#table;
    let hash = 0;
    // Heads resemble each other: what comes next is mostly what was inserted next.
    let n = this.#next;
    if (!this.#isEntry(n, bytes, nameStart, nameEnd, valueStart, valueEnd)) {
      hash = pairHash(bytes, nameStart, nameEnd, valueStart, valueEnd);
      n = this.#find(hash, bytes, nameStart, nameEnd, valueStart, valueEnd);
    }
    if (n !== -1) {
      this.#next = n + 1;
      return writeInteger(out, at, 0x80, 0x7f, STATIC_COUNT + table.inserted - n);
    }
    // Not in the dynamic table: the whole field is put together, with its name in lower case.
    const end = nameEnd - nameStart + 2 + valueEnd - valueStart;
    if (bytes !== scratch) {
      reserve(end + LINE_OVERHEAD);
      for (let i = nameStart, to = 0; i < nameEnd; i++, to++) scratch[to] = LOWER[bytes[i]];
      copy(scratch, nameEnd - nameStart + 2, bytes, valueStart, valueEnd);
    }
    nameIndex ||= STATIC_OF_ID[id] || staticName(scratch, 0, nameEnd - nameStart);
    return this.#literal(out, at, nameEnd - nameStart, end, id, nameIndex, hash);
  }

  /** The number of the entry that is this field, by its hash; -1 for none that is found. */
  #find(
    hash: number,
    bytes: Uint8Array,
    nameStart: number,
    nameEnd: number,
    valueStart: number,
    valueEnd: number,
  ): number {
    const pairs = this.#pairs;
    if (pairs === null) return -1;
    for (let way = 0; way < PAIR_WAYS; way++) {
      const n = pairs[hash + way & PAIR_SLOTS - 1] - 1;
      if (n < 0) return -1;
      if (this.#isEntry(n, bytes, nameStart, nameEnd, valueStart, valueEnd)) return n;
    }
    return -1;
  }

  /** Whether the table holds entry number `n`, and it is this field. */
  #isEntry(
    n: number,
    bytes: Uint8Array,
    nameStart: number,
    nameEnd: number,
    valueStart: number,
    valueEnd: number,
  ): boolean {
    const table = this.#table;
    if (!table.holds(n)) return false;
    const { bytes: held, meta } = table.lines;
    const from = table.slotOf(n) * META;
    const start = meta[from];
    const middle = meta[from + 1];
    return middle - start === nameEnd - nameStart &&
      meta[from + 2] - middle - 2 === valueEnd - valueStart &&
      isSame(held, middle + 2, bytes, valueStart, valueEnd) &&
      isSameName(held, start, bytes, nameStart, nameEnd);
  }

  /** Writes the field in the scratch, and inserts it where its rule says so. */
  #literal(
    out: Uint8Array,
    at: number,
    nameEnd: number,
    end: number,
    id: number,
    nameIndex: number,
    hash: number,
  ): number {
    const valueStart = nameEnd + 2;
    let rule = ruleOf(this.#rules, id, nameIndex);
    if (nameIndex !== 0 && rule !== NEVER) {
      const from = (nameIndex - 1) * META;
      const start = STATIC_LINES.meta[from + 1] + 2;
      if (
        STATIC_LINES.meta[from + 2] - start === end - valueStart &&
        isSame(STATIC_LINES.bytes, start, scratch, valueStart, end)
      ) {
        out[at] = 0x80 | nameIndex;
        return at + 1;
      }
    }
    scratch[nameEnd] = COLON;
    scratch[nameEnd + 1] = SP;
    if (rule <= REPEATED) rule = this.#indexing(rule, end);
    if (nameIndex === 0) nameIndex = this.#nameIndex(nameEnd);
    at = rule === ALWAYS
      ? writeInteger(out, at, 0x40, 0x3f, nameIndex)
      : writeInteger(out, at, rule === NEVER ? 0x10 : 0, 0x0f, nameIndex);
    if (nameIndex === 0) at = writeString(out, at, scratch, 0, nameEnd);
    at = writeString(out, at, scratch, valueStart, end);
    if (rule === ALWAYS) this.#insert(nameEnd, end, hash);
    return at;
  }

  /** ALWAYS where the field in the scratch is to be inserted now, else LITERAL. */
  #indexing(rule: number, end: number): number {
    // One that takes most of the table would push out all others.
    if ((end - 2 + ENTRY_OVERHEAD) * 4 > this.#table.maxSize * 3) return LITERAL;
    if (rule === ALWAYS) return ALWAYS;
    return this.#isRepeated(wholeHash(scratch, 0, end)) ? ALWAYS : LITERAL;
  }

  /** Whether a field with that hash came before; remembers it. */
  #isRepeated(hash: number): boolean {
    this.#seen ??= new Int32Array(SEEN_SLOTS);
    const slots = this.#seen;
    const first = hash * SEEN_WAYS & SEEN_SLOTS - 1;
    for (let way = first; way < first + SEEN_WAYS; way++) if (slots[way] === hash) return true;
    slots.copyWithin(first + 1, first, first + SEEN_WAYS - 1);
    slots[first] = hash;
    return false;
  }

  /** The index of an entry that has the name in the scratch; 0 for none that is found. */
  #nameIndex(nameEnd: number): number {
    if (this.#names === null) return 0;
    const table = this.#table;
    const n = this.#names[nameHash(scratch, 0, nameEnd) & NAME_SLOTS - 1] - 1;
    if (n < 0 || !table.holds(n)) return 0;
    const from = table.slotOf(n) * META;
    const start = table.lines.meta[from];
    return table.lines.meta[from + 1] - start === nameEnd &&
        isSame(table.lines.bytes, start, scratch, 0, nameEnd)
      ? STATIC_COUNT + table.inserted - n
      : 0;
  }

  #insert(nameEnd: number, end: number, hash: number): void {
    const table = this.#table;
    table.insert(scratch, 0, nameEnd, end, 0);
    this.#pairs ??= new Int32Array(PAIR_SLOTS);
    this.#names ??= new Int32Array(NAME_SLOTS);
    this.#names[nameHash(scratch, 0, nameEnd) & NAME_SLOTS - 1] = table.inserted;
    // In the first slot that is free, or the one whose entry will be the next to go.
    let slot = hash & PAIR_SLOTS - 1;
    for (let way = 1; way < PAIR_WAYS && this.#pairs[slot] !== 0; way++) {
      const other = hash + way & PAIR_SLOTS - 1;
      if (this.#pairs[other] < this.#pairs[slot]) slot = other;
    }
    this.#pairs[slot] = table.inserted;
  }
}

/** A string literal (§5.2), by the Huffman code where that is no longer. */
function writeString(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  const coded = huffmanLength(bytes, start, end);
  if (coded > end - start) {
    at = writeInteger(out, at, 0, 0x7f, end - start);
    copy(out, at, bytes, start, end);
    return at + end - start;
  }
  return writeHuffman(out, writeInteger(out, at, 0x80, 0x7f, coded), bytes, start, end);
}

/** Whether `a` has at `at` what `bytes[start, end)` is. */
function isSame(
  a: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  while (start < end) if (a[at++] !== bytes[start++]) return false;
  return true;
}

/** The same of a name in any case; `a` is in lower case. */
function isSameName(
  a: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  while (start < end) if (a[at++] !== LOWER[bytes[start++]]) return false;
  return true;
}

/** A scratch of at least `length` bytes; what it held is lost. */
function reserve(length: number): void {
  if (length > scratch.length) scratch = new Uint8Array(length * 2);
}
