/**
 * The dynamic table (RFC 7541 §2.3.2, §4) of a decoder or an encoder. In: lines. Out: the same lines
 * until others have pushed them out. Memory is taken as the table fills, and is bounded by its size:
 * at most twice that in bytes, and a slot for each 32 bytes.
 */
import { ENTRY_OVERHEAD, FieldLines, META } from "./field_lines.ts";

/** For a client that sends few fields, of which there may be thousands at rest. */
const FIRST_BYTES = 512;
const FIRST_SLOTS = 8;

export class DynamicTable {
  readonly lines = new FieldLines();
  /** Entries that it holds. */
  count = 0;
  /** Entries that were ever inserted; the newest is number `inserted - 1`. */
  inserted = 0;
  /** RFC 7541 §4.1, in bytes. */
  size = 0;
  #maxSize: number;
  /** A power of two; entry n is in slot n modulo it. */
  #slots = 0;
  /** The byte behind the newest line. Lines stand in the order of insertion, without gaps. */
  #end = 0;

  /** @param maxSize in bytes, as §4.1 counts them. */
  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get maxSize(): number {
    return this.#maxSize;
  }

  /** A new maximum in bytes; evicts what no longer fits. */
  resize(maxSize: number): void {
    this.#maxSize = maxSize;
    this.#evict(maxSize);
  }

  /** The slot of entry number `n` (as `inserted` counts), which the table holds. */
  slotOf(n: number): number {
    return n & (this.#slots - 1);
  }

  /** Whether entry number `n` has been inserted, and not been evicted. */
  holds(n: number): boolean {
    return n < this.inserted && n >= this.inserted - this.count;
  }

  /**
   * Inserts `bytes[start, end)`, a line `name: value` of another buffer without its CRLF. One that
   * is larger than the table empties it (§4.4).
   */
  insert(bytes: Uint8Array, start: number, nameEnd: number, end: number, info: number): void {
    const size = end - start - 2 + ENTRY_OVERHEAD;
    this.#evict(this.#maxSize - size);
    if (size > this.#maxSize) return;
    const length = end - start + 2;
    const { lines } = this;
    if (this.#end + length > lines.bytes.length) this.#makeRoom(length);
    if (this.count === this.#slots) this.#addSlots();
    const at = this.#end;
    copy(lines.bytes, at, bytes, start, end);
    lines.set(this.slotOf(this.inserted), at, at + nameEnd - start, at + end - start, info);
    this.#end = at + length;
    this.size += size;
    this.count++;
    this.inserted++;
  }

  #evict(maxSize: number): void {
    while (this.count > 0 && this.size > maxSize) {
      const at = this.slotOf(this.inserted - this.count) * META;
      const { meta } = this.lines;
      this.size -= meta[at + 2] - meta[at] - 2 + ENTRY_OVERHEAD;
      this.count--;
    }
    if (this.count === 0) this.#end = 0;
  }

  /** Moves the lines to the front, of a larger buffer where less than half of it would be free. */
  #makeRoom(length: number): void {
    const { lines, count, inserted } = this;
    const from = count === 0 ? 0 : lines.meta[this.slotOf(inserted - count) * META];
    const live = this.#end - from;
    let capacity = lines.bytes.length || FIRST_BYTES;
    while (capacity < (live + length) * 2) capacity *= 2;
    // Moving comes after at least as many bytes of new lines, so the work stays linear.
    if (capacity > lines.bytes.length) {
      const bytes = new Uint8Array(capacity);
      bytes.set(lines.bytes.subarray(from, this.#end));
      lines.bytes = bytes;
    } else {
      lines.bytes.copyWithin(0, from, this.#end);
    }
    for (let n = inserted - count; n < inserted; n++) {
      const at = this.slotOf(n) * META;
      lines.meta[at] -= from;
      lines.meta[at + 1] -= from;
      lines.meta[at + 2] -= from;
    }
    this.#end = live;
  }

  #addSlots(): void {
    const { lines, count, inserted } = this;
    const slots = this.#slots * 2 || FIRST_SLOTS;
    const meta = new Int32Array(slots * META);
    const texts: (string | null)[] = new Array(slots).fill(null);
    for (let n = inserted - count; n < inserted; n++) {
      const old = this.slotOf(n);
      const slot = n & (slots - 1);
      meta.set(lines.meta.subarray(old * META, (old + 1) * META), slot * META);
      texts[slot] = lines.texts[old];
    }
    lines.meta = meta;
    lines.texts = texts;
    this.#slots = slots;
  }
}

/** Shorter ranges are copied byte by byte: a view costs more than that. */
const SHORT_RANGE = 48;

/** Copies `bytes[start, end)` to `out` from `at` on. */
export function copy(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): void {
  if (end - start > SHORT_RANGE) out.set(bytes.subarray(start, end), at);
  else while (start < end) out[at++] = bytes[start++];
}
