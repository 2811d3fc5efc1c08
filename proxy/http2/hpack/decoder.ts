/**
 * HPACK's decoder (RFC 7541), one for each direction of a connection. In: whole header blocks, in
 * their order. Out: heads; or what is wrong, after which the connection must end, as the tables of
 * both sides may differ. Work is linear in the input: a byte of it makes at most one entry of the
 * table move, and a head that is full takes nothing more.
 */
import { OTHER, SENSITIVE } from "../../http/fields.ts";
import { COLON, SP } from "../../http/grammar.ts";
import { copy, DynamicTable } from "./dynamic_table.ts";
import { LINE_OVERHEAD, META, NAME_INFO, nameInfo, valueInfo } from "./field_lines.ts";
import type { HeadBlock } from "./head_block.ts";
import { decodedBound, readHuffman } from "./huffman.ts";
import { integer, readInteger } from "./integer.ts";
import { STATIC_COUNT, STATIC_LINES } from "./static_table.ts";

/** The table's size before any SETTINGS (RFC 9113 §6.5.2), in bytes. */
export const DEFAULT_TABLE_SIZE = 4096;

const BAD_INTEGER = "integer cut short or too large";
const BAD_INDEX = "index of no entry";
const BAD_STRING = "string cut short";
const BAD_HUFFMAN = "bad Huffman code or padding";
const LATE_UPDATE = "table size update behind a field";
const BAD_UPDATE = "table size update past the limit";

const FIRST_SCRATCH = 4096;
/** A larger scratch is given back after its head, in bytes. */
const MAX_KEPT_SCRATCH = 65_536;

/**
 * Where literals are decoded to, as `name: value`. One for all: nothing of it is read after `decode`
 * has returned.
 */
let scratch = new Uint8Array(FIRST_SCRATCH);

export class HpackDecoder {
  readonly #table: DynamicTable;
  readonly #limit: number;
  /** Where the string that was read last ends in the input. */
  #next = 0;

  /**
   * @param tableSize what we announce as SETTINGS_HEADER_TABLE_SIZE, in bytes. Below
   * DEFAULT_TABLE_SIZE it holds at once, not only once the peer has read it.
   */
  constructor(tableSize: number) {
    this.#limit = tableSize;
    this.#table = new DynamicTable(Math.min(tableSize, DEFAULT_TABLE_SIZE));
  }

  /** What the dynamic table holds (RFC 7541 §4.1), in bytes. */
  get tableSize(): number {
    return this.#table.size;
  }

  /**
   * Decodes the whole header block `bytes[start, end)` into `head`, which has begun. Null, or what
   * is wrong: a connection error COMPRESSION_ERROR (RFC 9113 §4.3).
   */
  decode(bytes: Uint8Array, start: number, end: number, head: HeadBlock): string | null {
    const error = this.#decode(bytes, start, end, head);
    head.flush();
    if (scratch.length > MAX_KEPT_SCRATCH) scratch = new Uint8Array(FIRST_SCRATCH);
    return error;
  }

  #decode(bytes: Uint8Array, start: number, end: number, head: HeadBlock): string | null {
    const table = this.#table;
    let at = start;
    let hasFields = false;
    while (at < end) {
      const byte = bytes[at];
      if (byte >= 0x80) {
        // §6.1 Indexed field
        let index = byte & 0x7f;
        if (index === 0x7f) {
          if (!readInteger(bytes, at, end, 0x7f)) return BAD_INTEGER;
          index = integer.value;
          at = integer.end;
        } else at++;
        if (index > STATIC_COUNT) {
          const age = index - STATIC_COUNT;
          if (age > table.count) return BAD_INDEX;
          head.addLine(table.lines, table.slotOf(table.inserted - age));
        } else {
          if (index === 0) return BAD_INDEX;
          head.addLine(STATIC_LINES, index - 1);
        }
        hasFields = true;
        continue;
      }
      if ((byte & 0xe0) === 0x20) {
        // §6.3 Dynamic table size update
        if (hasFields) return LATE_UPDATE;
        if (!readInteger(bytes, at, end, 0x1f)) return BAD_INTEGER;
        if (integer.value > this.#limit) return BAD_UPDATE;
        at = integer.end;
        table.resize(integer.value);
        continue;
      }
      // §6.2 Literal: with indexing, or without, or never to be indexed
      if (!readInteger(bytes, at, end, byte >= 0x40 ? 0x3f : 0x0f)) return BAD_INTEGER;
      const error = this.#literal(bytes, integer.end, end, integer.value, byte, head);
      if (error !== null) return error;
      at = this.#next;
      hasFields = true;
    }
    return null;
  }

  /** Reads a literal from behind its index on; `form` is its first byte. */
  #literal(
    bytes: Uint8Array,
    at: number,
    end: number,
    index: number,
    form: number,
    head: HeadBlock,
  ): string | null {
    const table = this.#table;
    const isIndexed = form >= 0x40;
    let nameEnd = 0;
    let info = 0;
    this.#next = at;
    if (index === 0) {
      nameEnd = this.#readString(bytes, end, 0);
      if (nameEnd < 0) return stringError(nameEnd);
      info = nameInfo(scratch, 0, nameEnd);
    } else {
      let lines = STATIC_LINES;
      let slot = index - 1;
      if (index > STATIC_COUNT) {
        const age = index - STATIC_COUNT;
        if (age > table.count) return BAD_INDEX;
        lines = table.lines;
        slot = table.slotOf(table.inserted - age);
      }
      const { meta } = lines;
      const from = meta[slot * META];
      const to = meta[slot * META + 1];
      nameEnd = to - from;
      info = meta[slot * META + 3] & NAME_INFO;
      // The copy is left out where nobody would read it: a name may be as long as the table.
      if (isIndexed || head.isOpen) {
        if (nameEnd + LINE_OVERHEAD > scratch.length) growScratch(nameEnd + LINE_OVERHEAD, 0);
        copy(scratch, 0, lines.bytes, from, to);
      }
    }
    const valueStart = nameEnd + 2;
    const valueEnd = this.#readString(bytes, end, valueStart);
    if (valueEnd < 0) return stringError(valueEnd);
    scratch[nameEnd] = COLON;
    scratch[nameEnd + 1] = SP;
    info |= valueInfo(scratch, valueStart, valueEnd);
    if (info === OTHER && (form & 0xf0) === 0x10) info = SENSITIVE;
    head.addLiteral(scratch, 0, nameEnd, valueEnd, info);
    if (isIndexed) {
      head.flush();
      table.insert(scratch, 0, nameEnd, valueEnd, info);
    }
    return null;
  }

  /**
   * Reads the string literal (§5.2) at `#next` to the scratch from `to` on, with room for a line's
   * end behind it; where it ends there, or a negative number for `stringError`.
   */
  #readString(bytes: Uint8Array, end: number, to: number): number {
    const at = this.#next;
    if (at === end) return STRING_CUT;
    const isCoded = bytes[at] >= 0x80;
    if (!readInteger(bytes, at, end, 0x7f)) return INTEGER_WRONG;
    const start = integer.end;
    const length = integer.value;
    if (length > end - start) return STRING_CUT;
    this.#next = start + length;
    const room = to + (isCoded ? decodedBound(length) : length) + LINE_OVERHEAD;
    if (room > scratch.length) growScratch(room, to);
    if (isCoded) return readHuffman(bytes, start, start + length, scratch, to);
    copy(scratch, to, bytes, start, start + length);
    return to + length;
  }
}

const HUFFMAN_WRONG = -1; // as `readHuffman` has it
const STRING_CUT = -2;
const INTEGER_WRONG = -3;

function stringError(code: number): string {
  return code === HUFFMAN_WRONG ? BAD_HUFFMAN : code === STRING_CUT ? BAD_STRING : BAD_INTEGER;
}

/** A scratch of at least `length` bytes, with the first `kept` of the old one. */
function growScratch(length: number, kept: number): void {
  let capacity = scratch.length;
  while (capacity < length) capacity *= 2;
  const larger = new Uint8Array(capacity);
  larger.set(scratch.subarray(0, kept));
  scratch = larger;
}
