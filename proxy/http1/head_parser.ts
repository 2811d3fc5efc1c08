/**
 * The syntax of a head or a trailer section (RFC 9112 §2–5), byte by byte. In: a buffer that fills,
 * however it is cut. Out: the range of the start line and the fields, or the first error.
 *
 * The state is kept between calls, so no byte is looked at twice, and the outcome depends on the
 * bytes alone, never on how they were split: an error is told at the byte that makes it certain.
 * Strict where a lenient peer could frame differently: CRLF only, no folding, no space before the
 * colon, no control byte anywhere.
 */
import { fieldIdBy, type Fields } from "../http/fields.ts";
import { COLON, CR, HTAB, LF, SP, TOKEN, VALUE } from "../http/grammar.ts";

/**
 * What `parse` says. `pending` wants more bytes; `start_line` is said once, when that line is whole
 * and its owner can judge it before a field arrives; the last three are errors.
 */
export type ParseResult =
  | "pending"
  | "start_line"
  | "complete"
  | "malformed"
  | "too_long"
  | "too_many";

const BEFORE_START = 0;
const BEFORE_START_LF = 1;
const START_LINE = 2;
const START_LINE_LF = 3;
const FIELD_START = 4;
const NAME = 5;
const VALUE_START = 6;
const VALUE_REST = 7;
const VALUE_LF = 8;
const END_LF = 9;

export class HeadParser {
  /** Where the start line's first byte is, and the one behind its last (its CR). */
  startLineStart = 0;
  startLineEnd = 0;
  /** The byte behind the whole section, once complete. */
  end = 0;
  readonly #fields: Fields;
  readonly #maxBytes: number;
  readonly #maxFields: number;
  #state = BEFORE_START;
  #position = 0;
  #start = 0;
  #nameStart = 0;
  #nameEnd = 0;
  #nameFlags = 0;
  #valueStart = 0;
  #valueEnd = 0;

  /** @param fields receives the fields; its ranges point into the buffer that `begin` names. */
  constructor(fields: Fields, maxBytes: number, maxFields: number) {
    this.#fields = fields;
    this.#maxBytes = maxBytes;
    this.#maxFields = maxFields;
  }

  /** Starts anew at `start` of `bytes`; `withStartLine` is false for trailers. */
  begin(bytes: Uint8Array, start: number, withStartLine: boolean): void {
    this.#fields.clear(bytes);
    this.#start = start;
    this.#position = start;
    this.#state = withStartLine ? BEFORE_START : FIELD_START;
    this.startLineStart = start;
    this.startLineEnd = start;
  }

  /** True once the start line's first byte has been seen. */
  get hasBegun(): boolean {
    return this.#state !== BEFORE_START;
  }

  /** True while the start line has not ended. */
  get inStartLine(): boolean {
    return this.#state <= START_LINE_LF;
  }

  /** Goes on up to `end`, the byte behind the last that arrived. */
  parse(end: number): ParseResult {
    const limit = this.#start + this.#maxBytes;
    const result = this.#run(end < limit ? end : limit);
    return result === "pending" && end >= limit ? "too_long" : result;
  }

  #run(end: number): ParseResult {
    const bytes = this.#fields.bytes;
    let at = this.#position;
    let state = this.#state;
    while (at < end) {
      let byte = bytes[at];
      switch (state) {
        case BEFORE_START:
          // RFC 9112 §2.2: one empty line before a request line is ignored, for old clients.
          if (byte === CR && at === this.#start) {
            at++;
            state = BEFORE_START_LF;
            break;
          }
          this.startLineStart = at;
          state = START_LINE;
          break;
        case BEFORE_START_LF:
          if (byte !== LF) return "malformed";
          at++;
          this.startLineStart = at;
          state = START_LINE;
          break;
        case START_LINE:
          while (at < end && VALUE[byte = bytes[at]] === 1) at++;
          if (at === end) break;
          if (byte !== CR || at === this.startLineStart) return "malformed";
          this.startLineEnd = at++;
          state = START_LINE_LF;
          break;
        case START_LINE_LF:
          if (byte !== LF) return "malformed";
          this.#position = at + 1;
          this.#state = FIELD_START;
          return "start_line";
        case FIELD_START:
          if (byte === CR) {
            at++;
            state = END_LF;
            break;
          }
          if (this.#fields.count === this.#maxFields) return "too_many";
          this.#nameStart = at;
          this.#nameFlags = 0;
          state = NAME;
          break;
        case NAME: {
          let flags = this.#nameFlags;
          let kind = 0;
          while (at < end && (kind = TOKEN[bytes[at]]) !== 0) {
            flags |= kind;
            at++;
          }
          this.#nameFlags = flags;
          if (at === end) break;
          if (bytes[at] !== COLON || at === this.#nameStart) return "malformed";
          this.#nameEnd = at++;
          state = VALUE_START;
          break;
        }
        case VALUE_START:
          if (byte === SP || byte === HTAB) {
            at++;
            break;
          }
          this.#valueStart = at;
          this.#valueEnd = at;
          state = VALUE_REST;
          break;
        case VALUE_REST:
          while (at < end && VALUE[byte = bytes[at]] === 1) at++;
          if (at === end) break;
          if (byte !== CR) return "malformed";
          this.#valueEnd = at++;
          state = VALUE_LF;
          break;
        case VALUE_LF:
          if (byte !== LF) return "malformed";
          at++;
          this.#push(bytes);
          state = FIELD_START;
          break;
        default: // END_LF
          if (byte !== LF) return "malformed";
          this.end = at + 1;
          this.#position = at + 1;
          return "complete";
      }
    }
    this.#position = at;
    this.#state = state;
    return "pending";
  }

  #push(bytes: Uint8Array): void {
    let end = this.#valueEnd;
    while (end > this.#valueStart && (bytes[end - 1] === SP || bytes[end - 1] === HTAB)) end--;
    const id = fieldIdBy(this.#nameFlags, bytes, this.#nameStart, this.#nameEnd);
    this.#fields.push(id, this.#nameStart, this.#nameEnd, this.#valueStart, end);
  }
}
