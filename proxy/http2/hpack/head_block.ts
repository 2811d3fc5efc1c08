/**
 * One head as the HPACK decoder lays it out (RFC 9113 §8.2, §8.3). In: fields in their order, from a
 * table's lines or as literals. Out: pseudo-fields as strings, the others as `name: value CRLF` lines
 * in bytes of its own, for http1's writer to copy whole; the first rule that is broken; the limits.
 */
import { asciiBytes, COOKIE, DROPPED, Fields, latin1, writeLatin1 } from "../../http/fields.ts";
import { COLON, CR, LF, SEMICOLON, SP } from "../../http/grammar.ts";
import { copy } from "./dynamic_table.ts";
import {
  AUTHORITY,
  ENTRY_OVERHEAD,
  type FieldLines,
  kindOf,
  LINE_OVERHEAD,
  MAX_REGULAR,
  META,
  METHOD,
  PATH,
  problemOf,
  PROTOCOL,
  PSEUDO_NAMES,
  SCHEME,
  STATUS,
} from "./field_lines.ts";

const FIRST_BYTES = 1024;
/** More than this is given back before the next head, in bytes. */
const MAX_KEPT_BYTES = 8192;
/** Of the size of a line in `size` (RFC 9113 §10.5.1), what its bytes up to the CRLF do not have. */
const SIZE_OVERHEAD = ENTRY_OVERHEAD - (LINE_OVERHEAD - 2);
const NO_BYTES = new Uint8Array(0);
const COOKIE_NAME = asciiBytes("cookie");

/** A decoded head or trailer section. It owns its bytes and serves many heads in turn. */
export class HeadBlock {
  /** The regular fields; `fields.bytes` is this block's own, and holds until `begin`. */
  readonly fields = Fields.usual();
  /** Pseudo-fields, one character a byte; null where absent. */
  method: string | null = null;
  scheme: string | null = null;
  authority: string | null = null;
  path: string | null = null;
  protocol: string | null = null;
  /** 100 to 999; -1 where absent. */
  status = -1;
  /**
   * The first rule of RFC 9113 §8.2, §8.2.1 or §8.3 that a field breaks by itself or by its place;
   * for logs and debug data. Fields behind it are decoded, for the table's sake, and not kept.
   */
  malformed: string | null = null;
  /** There are more fields or bytes than `begin` allows; those past it are not kept. */
  tooLarge = false;
  /** RFC 9113 §10.5.1, in bytes, of all fields, kept or not. */
  size = 0;
  #bytes: Uint8Array = NO_BYTES;
  #length = 0;
  #maxBytes = 0;
  #maxFields = 0;
  #isTrailers = false;
  /** Neither malformed nor too large so far. */
  #isOpen = true;
  #seen = 0;
  // A run of a table's neighbouring lines whose bytes are yet to be copied to the end of what is here.
  #run: Uint8Array = NO_BYTES;
  #runStart = 0;
  #runEnd = 0;

  /**
   * Starts a new head.
   * @param maxBytes of names and values and 32 a field, as RFC 9113 §10.5.1 counts.
   * @param maxFields without pseudo-fields.
   */
  begin(maxBytes: number, maxFields: number, isTrailers: boolean): void {
    const { length } = this.#bytes;
    if (length < FIRST_BYTES || length > MAX_KEPT_BYTES) this.#bytes = NO_BYTES;
    this.fields.clear(this.#bytes);
    this.method = null;
    this.scheme = null;
    this.authority = null;
    this.path = null;
    this.protocol = null;
    this.status = -1;
    this.malformed = null;
    this.tooLarge = false;
    this.size = 0;
    this.#length = 0;
    this.#maxBytes = maxBytes;
    this.#maxFields = maxFields;
    this.#isTrailers = isTrailers;
    this.#isOpen = true;
    this.#seen = 0;
    this.#runStart = this.#runEnd = 0;
  }

  /** Moves the head to a buffer of its size, for an exchange that may last. */
  shrink(): void {
    this.#bytes = this.#bytes.slice(0, this.#length);
    this.fields.bytes = this.#bytes;
  }

  /** Lets go of its bytes and fields: of a head too large, nobody wants what there is of it. */
  release(): void {
    this.#bytes = NO_BYTES;
    this.#length = 0;
    this.#runStart = this.#runEnd = 0;
    this.fields.clear(NO_BYTES);
  }

  /** Adds a table's line. Its bytes are copied by `flush`, before the table changes. */
  addLine(lines: FieldLines, slot: number): void {
    const { meta } = lines;
    const at = slot * META;
    const start = meta[at];
    const end = meta[at + 2];
    const info = meta[at + 3];
    this.size += end - start + SIZE_OVERHEAD;
    if (!this.#isOpen) return;
    const nameEnd = meta[at + 1];
    if (info > MAX_REGULAR) {
      if (!this.#takesPseudo(info)) return;
      const text = lines.texts[slot] ??= latin1(lines.bytes, nameEnd + 2, end);
      this.#setPseudo(kindOf(info), text);
      return;
    }
    const to = this.#length;
    const length = end + 2 - start;
    if (!this.#takesField(to + length)) return;
    if (start !== this.#runEnd || lines.bytes !== this.#run) {
      this.flush();
      this.#run = lines.bytes;
      this.#runStart = start;
    }
    this.#runEnd = end + 2;
    this.#length = to + length;
    this.fields.push(info, to, to + nameEnd - start, to + nameEnd + 2 - start, to + end - start);
  }

  /** Adds the field `name: value` that is `bytes[start, end)`, with two bytes of room behind it. */
  addLiteral(bytes: Uint8Array, start: number, nameEnd: number, end: number, info: number): void {
    this.size += end - start + SIZE_OVERHEAD;
    if (!this.#isOpen) return;
    if (info > MAX_REGULAR) {
      if (this.#takesPseudo(info)) this.#setPseudo(kindOf(info), latin1(bytes, nameEnd + 2, end));
      return;
    }
    this.flush();
    const to = this.#length;
    if (!this.#takesField(to + end + 2 - start)) return;
    bytes[end] = CR;
    bytes[end + 1] = LF;
    copy(this.#bytes, to, bytes, start, end + 2);
    this.#length = to + end + 2 - start;
    this.fields.push(info, to, to + nameEnd - start, to + nameEnd + 2 - start, to + end - start);
  }

  /** Adds a field of our own making behind the others; the name is in lower case. */
  add(name: Uint8Array, value: string, id: number): void {
    this.flush();
    const start = this.#length;
    const end = start + name.length + value.length + 2;
    this.#reserve(end + 2);
    const bytes = this.#bytes;
    copy(bytes, start, name, 0, name.length);
    const nameEnd = start + name.length;
    bytes[nameEnd] = COLON;
    bytes[nameEnd + 1] = SP;
    writeLatin1(bytes, nameEnd + 2, value);
    bytes[end] = CR;
    bytes[end + 1] = LF;
    this.#length = end + 2;
    this.fields.push(id, start, nameEnd, nameEnd + 2, end);
  }

  /** False once nothing more is kept. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Copies the run of lines that is still the table's alone. */
  flush(): void {
    const length = this.#runEnd - this.#runStart;
    if (length === 0) return;
    // Nothing has been added behind the run: whoever adds flushes before.
    copy(this.#bytes, this.#length - length, this.#run, this.#runStart, this.#runEnd);
    this.#runStart = this.#runEnd = 0;
    this.#run = NO_BYTES;
  }

  /**
   * Joins cookie crumbs into one field (RFC 9113 §8.2.3), in the place of the first. Fits within the
   * head's limits: a crumb costs more than what joins it to the others.
   */
  joinCookies(): void {
    const { fields } = this;
    const first = fields.find(COOKIE);
    if (first === -1 || fields.find(COOKIE, first + 1) === -1) return;
    let length = COOKIE_NAME.length + LINE_OVERHEAD;
    for (let i = first; i !== -1; i = fields.find(COOKIE, i + 1)) {
      length += fields.valueEnd(i) - fields.valueStart(i) + 2;
    }
    const start = this.#length;
    this.#reserve(start + length);
    const bytes = this.#bytes;
    copy(bytes, start, COOKIE_NAME, 0, COOKIE_NAME.length);
    const nameEnd = start + COOKIE_NAME.length;
    bytes[nameEnd] = COLON;
    bytes[nameEnd + 1] = SP;
    let at = nameEnd + 2;
    for (let i = first; i !== -1; i = fields.find(COOKIE, i + 1)) {
      if (i !== first) fields.ids[i] = DROPPED;
      const from = fields.valueStart(i);
      const to = fields.valueEnd(i);
      // Joined to one that is empty, the value would end in a blank.
      if (from === to) continue;
      if (at > nameEnd + 2) {
        bytes[at++] = SEMICOLON;
        bytes[at++] = SP;
      }
      copy(bytes, at, bytes, from, to);
      at += to - from;
    }
    const { ranges } = fields;
    ranges[first * 4] = start;
    ranges[first * 4 + 1] = nameEnd;
    ranges[first * 4 + 2] = nameEnd + 2;
    ranges[first * 4 + 3] = at;
    bytes[at] = CR;
    bytes[at + 1] = LF;
    this.#length = at + 2;
  }

  /** Makes room for a regular field that ends at `end` of the bytes, within the limits. */
  #takesField(end: number): boolean {
    if (this.size > this.#maxBytes || this.fields.count >= this.#maxFields) {
      this.tooLarge = true;
      this.#isOpen = false;
      return false;
    }
    if (end > this.#bytes.length) this.#reserve(end);
    return true;
  }

  /** Whether a field with that info, not that of a sound regular one, is a pseudo-field to keep. */
  #takesPseudo(info: number): boolean {
    const kind = kindOf(info);
    this.malformed = problemOf(info) ?? this.#misplaced(kind);
    if (this.malformed === null && this.size > this.#maxBytes) this.tooLarge = true;
    this.#isOpen = this.malformed === null && !this.tooLarge;
    return this.#isOpen;
  }

  #misplaced(kind: number): string | null {
    if (this.#isTrailers) return `${PSEUDO_NAMES[kind]} in trailers`;
    if (this.fields.count > 0) return `${PSEUDO_NAMES[kind]} behind a field`;
    if ((this.#seen & 1 << kind) !== 0) return `${PSEUDO_NAMES[kind]} twice`;
    this.#seen |= 1 << kind;
    return null;
  }

  #setPseudo(kind: number, text: string): void {
    switch (kind) {
      case METHOD:
        this.method = text;
        break;
      case SCHEME:
        this.scheme = text;
        break;
      case AUTHORITY:
        this.authority = text;
        break;
      case PATH:
        this.path = text;
        break;
      case PROTOCOL:
        this.protocol = text;
        break;
      case STATUS:
        if (/^[1-9][0-9]{2}$/.test(text)) this.status = Number(text);
        else {
          this.malformed = ":status is no status";
          this.#isOpen = false;
        }
        break;
    }
  }

  #reserve(length: number): void {
    let capacity = this.#bytes.length || FIRST_BYTES;
    while (capacity < length) capacity *= 2;
    if (capacity === this.#bytes.length) return;
    const bytes = new Uint8Array(capacity);
    bytes.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = bytes;
    this.fields.bytes = bytes;
  }
}
