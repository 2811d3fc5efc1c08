/**
 * The mark that ends forwarding loops (RFC 8586). In: the published mark, the values of `CDN-Loop`
 * fields. Out: the element that the proxy adds to each request, and how often a request has it.
 *
 * It is not `Via`: nginx does not compress responses to requests that have one.
 */
import type { Fields } from "./fields.ts";

/**
 * A request that already has as many own marks is refused with 508: the next would be the third. One
 * repetition is legitimate: a backend that copies a request's fields may call another host here.
 */
export const MAX_OWN_MARKS = 2;

const COMMA = 0x2c;
const SEMICOLON = 0x3b;
const SP = 0x20;
const HTAB = 0x09;

/** The mark of this process: the published one, or where none is published its own. */
export class LoopMark {
  readonly #own: string;
  #value: string;

  /** @param own The same in all workers. */
  constructor(own: string) {
    this.#own = own;
    this.#value = own;
  }

  get value(): string {
    return this.#value;
  }

  /** @param published null for none. */
  publish(published: string | null): void {
    this.#value = published ?? this.#own;
  }
}

/**
 * How many elements of the field at `index` are `mark`, in one pass. A comma inside a quoted
 * parameter counts as a separator: whoever writes our mark into one only refuses its own request.
 */
export function countMarks(fields: Fields, index: number, mark: string): number {
  const { bytes } = fields;
  const end = fields.valueEnd(index);
  let count = 0;
  for (let at = fields.valueStart(index); at < end; at++) {
    while (at < end && isBlank(bytes[at])) at++;
    if (hasMark(bytes, at, end, mark)) count++;
    while (at < end && bytes[at] !== COMMA) at++;
  }
  return count;
}

/** Whether the element at `at` is `mark`, with or without parameters. */
function hasMark(bytes: Uint8Array, at: number, end: number, mark: string): boolean {
  const after = at + mark.length;
  if (after > end) return false;
  for (let i = 0; i < mark.length; i++) if (bytes[at + i] !== mark.charCodeAt(i)) return false;
  return after === end || bytes[after] === COMMA || bytes[after] === SEMICOLON ||
    isBlank(bytes[after]);
}

function isBlank(byte: number): boolean {
  return byte === SP || byte === HTAB;
}
