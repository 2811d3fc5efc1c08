/**
 * A header block that comes in pieces (RFC 9113 §4.3, §6.10). In: the fragments of HEADERS and its
 * CONTINUATION frames. Out: the block in one piece, or that it is too large to be waited for.
 */
const NOTHING = new Uint8Array(0);
const FIRST_BYTES = 4096;

export class HeadAssembly {
  /** A block has begun: nothing but its CONTINUATION may come. */
  isOpen = false;
  id = 0;
  /** What its HEADERS has said. */
  endStream = false;
  /** Its HEADERS had a priority that is an error of the stream. */
  isWrong = false;
  length = 0;
  #bytes = NOTHING;
  readonly #maxBytes: number;

  /** @param maxBytes of a block, as it is sent. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes the fragment of HEADERS, `bytes[start, end)`. */
  begin(
    id: number,
    endStream: boolean,
    isWrong: boolean,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): void {
    this.isOpen = true;
    this.id = id;
    this.endStream = endStream;
    this.isWrong = isWrong;
    this.length = 0;
    this.add(bytes, start, end);
  }

  /** Takes the next fragment; false where there are too many bytes. */
  add(bytes: Uint8Array, start: number, end: number): boolean {
    const length = this.length + end - start;
    if (length > this.#maxBytes) return false;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.length, FIRST_BYTES));
      larger.set(this.#bytes.subarray(0, this.length));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes.subarray(start, end), this.length);
    this.length = length;
    return true;
  }

  /** The whole block, `[0, length)` of what it gives; it is the caller's. */
  close(): Uint8Array {
    const bytes = this.#bytes;
    this.#bytes = NOTHING;
    this.isOpen = false;
    return bytes;
  }
}
