/**
 * Our request parser and writer on bytes in memory. In: a client's whole stream. Out: the requests in
 * it with the offsets at which they end, as far as `Http1ServerConnection` would serve them, and the bytes
 * that a backend would get.
 *
 * Drives the same parts in the same order as `Http1ServerConnection`, which keeps its offsets to itself;
 * `parsers_test.ts` holds the two against each other.
 */
import { BufferPool, type Buffers, createBuffers } from "../../proxy/io/buffer_pool.ts";
import { type ErrorCode, ProxyError } from "../../proxy/errors.ts";
import { InputBody } from "../../proxy/http1/body.ts";
import { writeBody } from "../../proxy/http1/body_writer.ts";
import { HeadParser } from "../../proxy/http1/head_parser.ts";
import { Input } from "../../proxy/io/input.ts";
import {
  readRequestFields,
  readRequestLine,
  type RequestConnection,
} from "../../proxy/http1/request_head.ts";
import { requestHeadSize, writeRequestHead } from "../../proxy/http1/request_writer.ts";
import { DEFAULT_LIMITS, type Limits } from "../../proxy/http/limits.ts";
import type { Body } from "../../proxy/http/body.ts";
import { RequestHead, UNKNOWN_LENGTH } from "../../proxy/http/message.ts";
import { textOf } from "../support/latin1.ts";
import { MemoryTransport } from "./memory_transport.ts";
import type { ParsedRequest, ParsedStream } from "./parsed.ts";

/** A request as our own parser understands it. */
export interface OwnRequest extends ParsedRequest {
  /** The path that goes to the backend, and the query. */
  readonly canonicalTarget: string;
  readonly trailers: readonly (readonly [string, string])[];
}

export interface OwnStream extends ParsedStream {
  readonly requests: readonly OwnRequest[];
  /** The requests as they go to a backend, one behind the other. */
  readonly forwarded: Uint8Array;
}

const buffers: Buffers = createBuffers();

/** Parses `stream`, delivered in pieces that end at `cuts`. Rejects only for a mistake of ours. */
export async function parseStream(
  stream: Uint8Array,
  cuts: readonly number[] = [],
  limits: Limits = DEFAULT_LIMITS,
): Promise<OwnStream> {
  const transport = new MemoryTransport(stream, cuts);
  const input = new Input(transport, buffers.head);
  const head = new RequestHead();
  const connection: RequestConnection = { keepAlive: false };
  const parser = new HeadParser(head.fields, limits.requestHeadBytes, limits.requestFields);
  const body = new InputBody(input, buffers.bulk, {
    malformed: "bad_chunk",
    trailersTooLarge: "head_too_large",
    cut: "client_gone",
    tooLarge: "body_too_large",
    maxTrailerBytes: limits.requestHeadBytes,
    maxTrailerFields: limits.requestFields,
  });
  const requests: OwnRequest[] = [];
  let forwarded = new Uint8Array(0);
  const ended = (outcome: ParsedStream["outcome"], detail = ""): OwnStream => {
    transport.close();
    body.release();
    input.release();
    return { requests, forwarded, outcome, detail };
  };
  for (;;) {
    body.release();
    parser.begin(input.bytes, input.start, true);
    for (;;) {
      const result = input.isEmpty ? "pending" : parser.parse(input.end);
      if (result === "complete") break;
      if (result === "pending") {
        if (input.isOver) return ended(input.isEmpty ? "complete" : "incomplete");
        const room = input.makeRoom(limits.requestHeadBytes);
        if (room !== "room" || (!parser.hasBegun && input.isEmpty)) {
          parser.begin(input.bytes, input.start, true);
        }
        await input.fill();
        continue;
      }
      const code: ErrorCode | null = result === "start_line"
        ? readRequestLine(input.bytes, parser.startLineStart, parser.startLineEnd, head)
        : "bad_request";
      if (code !== null) return ended("rejected", result === "start_line" ? code : result);
    }
    const [, target] = textOf(input.bytes.subarray(parser.startLineStart, parser.startLineEnd))
      .split(" ");
    input.start = parser.end;
    const code = readRequestFields(head, connection);
    if (code !== null) return ended("rejected", code);
    const request = {
      method: head.method,
      target,
      canonicalTarget: head.path + head.query,
      fields: pairsOf(head.fields),
    };
    body.begin(head.bodyLength, false);
    body.limit(limits.bodyBytes);
    const copy = new CopiedBody(body);
    const pieces: Uint8Array[] = [];
    try {
      await forward(head, copy, pieces);
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      if (error.code === "client_gone") return ended("incomplete");
      return ended("rejected", `${error.code}: ${error.message}`);
    }
    requests.push({
      ...request,
      body: copy.text,
      trailers: body.trailers === null ? [] : pairsOf(body.trailers),
      end: transport.delivered - (input.end - input.start),
    });
    forwarded = joined([forwarded, ...pieces]);
    if (!connection.keepAlive) return ended("closed");
  }
}

/** Every field, those included that go no further. */
function pairsOf(fields: RequestHead["fields"]): (readonly [string, string])[] {
  return Array.from({ length: fields.count }, (_, i) => [fields.name(i), fields.value(i)] as const);
}

const BUFFERS = new BufferPool(1024, 1);

/** HTTP/1.0 requests may name no host; the peers want one. */
const NO_HOST = "none";

/** Writes a request as `Http1ClientConnection` does; the body's bytes are read on the way. */
async function forward(head: RequestHead, body: CopiedBody, pieces: Uint8Array[]): Promise<void> {
  const out = new Uint8Array(Math.max(requestHeadSize(head, null) + NO_HOST.length, 1024));
  const at = writeRequestHead(out, head, null, head.authority || NO_HOST);
  const chunked = head.bodyLength === UNKNOWN_LENGTH;
  await writeBody(out, at, body.read(), body, chunked, head.isGrpc, {
    writeThen(bytes, length, waiter) {
      pieces.push(bytes.slice(0, length));
      Promise.resolve().then(() => waiter.wrote());
    },
    endWrites() {},
  }, BUFFERS);
}

/** A body that keeps what it hands out. */
class CopiedBody implements Body {
  text = "";
  readonly #body: Body;

  constructor(body: Body) {
    this.#body = body;
  }

  get done(): boolean {
    return this.#body.done;
  }

  get trailers(): Body["trailers"] {
    return this.#body.trailers;
  }

  read(): ReturnType<Body["read"]> {
    const view = this.#body.read();
    return view instanceof Promise ? view.then(this.#copied) : this.#copied(view);
  }

  #copied = (view: Uint8Array | null): Uint8Array | null => {
    if (view !== null) this.text += textOf(view);
    return view;
  };
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
