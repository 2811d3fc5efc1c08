/**
 * Lines of a stream. In: its bytes, in chunks that end anywhere. Out: the text of each line that is
 * complete, without its end. What follows the last end of a line has been cut, and is no line.
 */
import { joined } from "../bytes.ts";

/** What the chunks so far have brought. */
export type Lines =
  | { readonly ok: true; readonly lines: readonly string[] }
  /** The stream cannot be read on: a line is longer than the limit, or is no UTF-8. */
  | { readonly ok: false; readonly lines: readonly string[]; readonly reason: string };

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Splits one stream. Lines end with LF or CR LF; empty ones are left out. */
export class LineSplitter {
  readonly #maxBytes: number;
  /** Chunks of a line whose end has not come. They are copies. */
  #begun: Uint8Array[] = [];
  #begunBytes = 0;
  #broken: string | null = null;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  /** @param maxBytes of one line, without its end. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of the line that has begun. */
  get pendingBytes(): number {
    return this.#begunBytes;
  }

  /**
   * The lines that end in this chunk. A chunk may be used for something else afterwards. After the
   * first failure nothing more is read.
   */
  push(chunk: Uint8Array): Lines {
    const lines: string[] = [];
    let start = 0;
    while (this.#broken === null) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) {
        this.#begin(chunk.slice(start));
        break;
      }
      const line = this.#finish(chunk.subarray(start, end));
      if (line !== null && line !== "") lines.push(line);
      start = end + 1;
    }
    return this.#broken === null ? { ok: true, lines } : { ok: false, lines, reason: this.#broken };
  }

  #begin(rest: Uint8Array): void {
    if (rest.length === 0) return;
    this.#begun.push(rest);
    this.#begunBytes += rest.length;
    // One more than the limit may be the CR of a line's end.
    if (this.#begunBytes > this.#maxBytes + 1) this.#break();
  }

  #finish(rest: Uint8Array): string | null {
    let bytes = rest;
    if (this.#begunBytes > 0) {
      if (this.#begunBytes + rest.length > this.#maxBytes + 1) return this.#break();
      bytes = joined([...this.#begun, rest], this.#begunBytes + rest.length);
      this.#begun = [];
      this.#begunBytes = 0;
    }
    if (bytes.at(-1) === RETURN) bytes = bytes.subarray(0, -1);
    if (bytes.length > this.#maxBytes) return this.#break();
    try {
      return this.#decoder.decode(bytes);
    } catch {
      return this.#break("a line is not UTF-8");
    }
  }

  #break(reason = `a line is longer than ${this.#maxBytes} bytes`): null {
    this.#broken = reason;
    this.#begun = [];
    this.#begunBytes = 0;
    return null;
  }
}
