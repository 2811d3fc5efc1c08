/**
 * Heads of requests out of an input. In: bytes as they arrive. Out: a `RequestHead` that has been
 * judged, or the code that refuses it.
 */
import type { ErrorCode } from "../errors.ts";
import { asciiBytes, latin1 } from "../http/fields.ts";
import type { Limits } from "../http/limits.ts";
import type { RequestHead } from "../http/message.ts";
import { CR, LF } from "../http/grammar.ts";
import { HeadParser } from "./head_parser.ts";
import type { Input } from "../io/input.ts";
import {
  headError,
  readRequestFields,
  readRequestLine,
  type RequestConnection,
} from "./request_head.ts";

const HEAD = asciiBytes("HEAD ");
const FOREIGN = /^(?!(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) )[^ ]+ [^ ]+ [A-Za-z]+$/;
const PREFACE = asciiBytes("PRI * HTTP/2.0\r\n\r\n");

/** Refusals of a line that is one: fields follow, and Accept and X-Request-Id among them count. */
const NEEDS_FIELDS: ReadonlySet<ErrorCode> = new Set([
  "bad_target",
  "bad_version",
  "method_refused",
]);

/** Of a line that was refused, what is shown of it, in bytes: more than the access log writes. */
const SHOWN = 2048;

/** A code that refuses the head; `whole` once all of its fields have been judged. */
export interface HeadRefusal {
  readonly code: ErrorCode;
  readonly whole: boolean;
}

export class RequestReader {
  readonly #input: Input;
  readonly #request: RequestHead;
  readonly #connection: RequestConnection;
  readonly #limits: Limits;
  readonly #parser: HeadParser;
  /** Why the request line is refused, while the fields behind it are read for the sake of the response. */
  #refusal: ErrorCode | null = null;
  /** The request line was taken. */
  #hasLine = false;

  constructor(
    input: Input,
    request: RequestHead,
    connection: RequestConnection,
    limits: Limits,
  ) {
    this.#input = input;
    this.#request = request;
    this.#connection = connection;
    this.#limits = limits;
    this.#parser = new HeadParser(request.fields, limits.requestHeadBytes, limits.requestFields);
  }

  /** A byte of the next head has come. */
  get hasBegun(): boolean {
    return this.#parser.hasBegun;
  }

  /** Why the head will be refused, whatever is still to come of it. */
  get refusal(): ErrorCode | null {
    return this.#refusal;
  }

  /** Whether a response has no body (RFC 9110 §9.3.2): known from the first blank on. */
  get isHead(): boolean {
    if (this.#request.method !== "") return this.#request.method === "HEAD";
    const { startLineStart } = this.#parser;
    return HEAD.every((byte, i) => this.#input.bytes[startLineStart + i] === byte);
  }

  /** All that has come, where it begins as HTTP/2 does (RFC 9113 §3.4); known once it is refused. */
  get preface(): Uint8Array | null {
    const { bytes, end } = this.#input;
    const begins = this.#parser.startLineStart === 0 &&
      PREFACE.every((byte, i) => bytes[i] === byte);
    return begins ? bytes.slice(0, end) : null;
  }

  /**
   * A line of three words of which neither the first nor the last is one of HTTP/1.1's: another
   * protocol, or a broken preface, to which a response in HTTP/1.1 would be a frame of nonsense
   * (RFC 9113 §3.4).
   */
  get isForeign(): boolean {
    const { startLineStart, startLineEnd } = this.#parser;
    return FOREIGN.test(latin1(this.#input.bytes, startLineStart, startLineEnd));
  }

  /** As much as has come of a request line that was not taken, in latin1; null of one that was. */
  get refusedLine(): string | null {
    if (this.#hasLine) return null;
    const { bytes, end } = this.#input;
    const start = this.#parser.startLineStart;
    const limit = Math.min(end, start + SHOWN);
    let at = start;
    while (at < limit && bytes[at] !== CR && bytes[at] !== LF) at++;
    return latin1(bytes, start, at);
  }

  /** Where the head ends in the bytes that it has come in. */
  get end(): number {
    return this.#parser.end;
  }

  /** Bytes of the whole head. */
  get size(): number {
    return this.#parser.end - this.#parser.startLineStart;
  }

  /** The next head begins where the input stands. */
  begin(): void {
    this.#request.method = "";
    this.#refusal = null;
    this.#hasLine = false;
    this.#parser.begin(this.#input.bytes, this.#input.start, true);
  }

  /** Reads on in what has arrived. "complete" has consumed the head. */
  advance(): "pending" | "complete" | HeadRefusal {
    const input = this.#input;
    const parser = this.#parser;
    for (;;) {
      const result = input.isEmpty ? "pending" : parser.parse(input.end);
      if (result === "pending") return result;
      if (result === "complete") break;
      const code = result === "start_line"
        ? readRequestLine(
          input.bytes,
          parser.startLineStart,
          parser.startLineEnd,
          this.#request,
          this.#limits,
        )
        : headError(result, parser, input.bytes);
      if (result === "start_line") this.#lineJudged(code);
      if (code !== null && !(result === "start_line" && NEEDS_FIELDS.has(code))) {
        return { code: this.#refusal ?? code, whole: false };
      }
      this.#refusal = code;
    }
    input.start = parser.end;
    if (this.#refusal !== null) return { code: this.#refusal, whole: false };
    const code = readRequestFields(this.#request, this.#connection);
    return code === null ? "complete" : { code, whole: true };
  }

  #lineJudged(code: ErrorCode | null): void {
    this.#hasLine = code === null;
    if (code === null) return;
    // Those of the request before.
    const request = this.#request;
    request.path = request.received = request.query = "";
  }

  /** Makes room for more; a head that moves for it is read anew. */
  makeRoom(): void {
    const input = this.#input;
    const room = input.makeRoom(this.#limits.requestHeadBytes);
    if (room !== "room" || (!this.hasBegun && input.isEmpty)) this.begin();
  }
}
