/**
 * Lines of the access log as JSON objects. In: exchanges that have ended. Out: a line each, with the
 * fields of `--access-log-fields` in their order.
 *
 * No value can end its string or its line, or reach a terminal as a command: control characters,
 * quotes, and what turns the direction of text leave as JSON escapes. Bytes above ASCII stand as one
 * character each (latin1), so that a line never depends on what a client calls its encoding.
 */
import { formatAddress } from "../../../shared/net/address.ts";
import { X_REQUEST_ID } from "../../http/fields.ts";
import { TRACEPARENT_INDEX } from "../../http/forwarded_fields.ts";
import { requestIdOf } from "../../http/forwarded_headers.ts";
import { type Exchange, UNTRACED } from "../../http/message.ts";
import { TRACE_ID_AT, TRACE_ID_LENGTH } from "../../http/trace_context.ts";
import { type AccessLogField, ALL_FIELDS } from "./options.ts";
import { keepFields, loggedReferer } from "../lines/kept_fields.ts";
import { type LogBuffer, type Piece, pieceOf } from "../lines/log_buffer.ts";

/** `,"client":` for each field; the comma of the first one in a line becomes its brace. */
const NAMES = Object.fromEntries(
  ALL_FIELDS.map((field) => [field, pieceOf(`,${JSON.stringify(field)}:`)]),
) as Readonly<Record<AccessLogField, Piece>>;

const LOG = pieceOf(`,"log":"access"`);
const HTTPS = pieceOf(`,"scheme":"https"`);
const HTTP = pieceOf(`,"scheme":"http"`);
const UTC = pieceOf(`Z"`);
const EMPTY_OBJECT = pieceOf("{");
const END = pieceOf("}\n");
const OPENING_BRACE = 0x7b;

/** By `ExchangeRecord.version`. */
const VERSIONS: Readonly<Record<number, Piece>> = {
  10: pieceOf(`,"version":"1.0"`),
  11: pieceOf(`,"version":"1.1"`),
  20: pieceOf(`,"version":"2"`),
};

/** Writes one field of an exchange, unless it is empty. */
type FieldWriter = (line: JsonLine, exchange: Exchange) => void;

export class JsonLine {
  static readonly #WRITERS: Readonly<Record<AccessLogField, FieldWriter>> = {
    time: (line) => line.#time(),
    log: ({ out }) => out.piece(LOG),
    requestId: (line, exchange) => line.#requestId(exchange),
    traceId: (line, exchange) => line.#traceId(exchange),
    client: ({ out }, { record, client }) => {
      out.piece(NAMES.client);
      out.quoted(record.clientAddress || client.address);
    },
    peer: (line, { record, client }) => {
      const original = record.clientAddress || client.address;
      if (original !== client.address) line.#text("peer", client.address);
    },
    method: (line, { record }) => line.#text("method", record.method),
    scheme: ({ out }, { client }) => out.piece(client.secure ? HTTPS : HTTP),
    host: (line, { record, request }) => {
      if (record.hasHead) line.#text("host", request.host);
    },
    path: ({ out }, { record, request }) => {
      const path = record.requestedPath ?? request.path;
      if (record.method === "" || path === "") return;
      out.piece(NAMES.path);
      out.quoted(path);
    },
    query: (line, { record, request }) => {
      if (!line.query || record.method === "") return;
      line.#text("query", record.requestedPath === null ? request.query : record.requestedQuery);
    },
    version: ({ out }, { record }) => {
      if (record.method === "" || record.refusedLine !== null) return;
      out.piece(VERSIONS[record.version] ?? VERSIONS[11]);
    },
    status: (line, { record }) => {
      if (record.status !== 0) line.#number("status", record.status);
    },
    bytesIn: (line, { record }) => line.#number("bytesIn", record.bytesIn),
    bytesOut: (line, { record }) => line.#number("bytesOut", record.bytesOut),
    durationMs: ({ out }, { record }) => {
      out.piece(NAMES.durationMs);
      out.thousandths(record.duration);
    },
    upstreamMs: ({ out }, { record }) => {
      if (record.answeredAt === 0) return;
      out.piece(NAMES.upstreamMs);
      out.thousandths(record.answeredAt - record.triedAt);
    },
    route: ({ out }, { record }) => {
      if (record.route === null) return;
      out.piece(NAMES.route);
      out.quoted(record.route);
    },
    upstream: (line, { record }) => line.#text("upstream", record.upstream),
    endpoint: (line, { record }) => line.#endpoint(record.endpoint),
    tries: (line, { record }) => {
      if (record.tries > 0) line.#number("tries", record.tries);
    },
    error: (line, { record }) => {
      if (record.error !== null) line.#text("error", record.error);
    },
    userAgent: (line, exchange) => {
      const { record } = exchange;
      if (!record.hasHead) return;
      keepFields(exchange);
      line.#text("userAgent", record.userAgent!);
    },
    referer: ({ out, query }, exchange) => {
      const { record } = exchange;
      if (!record.hasHead) return;
      keepFields(exchange);
      if (record.referer === "") return;
      out.piece(NAMES.referer);
      out.quoted(loggedReferer(record.referer!, query));
    },
  };

  readonly out: LogBuffer;
  /** Whether queries are written. */
  readonly query: boolean;
  readonly #writers: readonly FieldWriter[];
  /** How endpoints are written. */
  readonly #endpoints = new WeakMap<object, string>();
  #now = 0;
  #second = NaN;
  #secondText = pieceOf("");

  constructor(out: LogBuffer, fields: readonly AccessLogField[], query: boolean) {
    this.out = out;
    this.query = query;
    this.#writers = fields.map((field) => JsonLine.#WRITERS[field]);
  }

  /** Adds an exchange's line. `now` in ms since the epoch. */
  write(exchange: Exchange, now: number): void {
    const { out } = this;
    const writers = this.#writers;
    const start = out.length;
    this.#now = now;
    for (let i = 0; i < writers.length; i++) writers[i](this, exchange);
    if (out.length === start) out.piece(EMPTY_OBJECT);
    else out.replace(start, OPENING_BRACE);
    out.piece(END);
  }

  /** A field, unless it is empty. */
  #text(field: AccessLogField, value: string): void {
    if (value === "") return;
    this.out.piece(NAMES[field]);
    this.out.quoted(value);
  }

  #number(field: AccessLogField, value: number): void {
    this.out.piece(NAMES[field]);
    this.out.integer(value);
  }

  /** ISO 8601; the text of the second is made once. */
  #time(): void {
    const second = Math.floor(this.#now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = pieceOf(
        `,"time":"${new Date(second * 1000).toISOString().slice(0, 20)}`,
      );
    }
    this.out.piece(this.#secondText);
    this.out.padded(this.#now - second * 1000, 3);
    this.out.piece(UTC);
  }

  #requestId(exchange: Exchange): void {
    const { out } = this;
    const { record, added } = exchange;
    const idAt = record.requestId === "" && record.prepared ? added?.find(X_REQUEST_ID) ?? -1 : -1;
    if (idAt === -1) {
      const id = record.requestId || (record.prepared ? requestIdOf(exchange) : "");
      return this.#text("requestId", id);
    }
    out.piece(NAMES.requestId);
    out.latin1(added!.bytes, added!.valueStart(idAt), added!.valueEnd(idAt));
  }

  #traceId({ record, added }: Exchange): void {
    if (record.tracing === UNTRACED || added === null) return;
    const { out } = this;
    const at = added.valueStart(TRACEPARENT_INDEX) + TRACE_ID_AT;
    out.piece(NAMES.traceId);
    out.latin1(added.bytes, at, at + TRACE_ID_LENGTH);
  }

  #endpoint(endpoint: { readonly address: string; readonly port: number } | null): void {
    if (endpoint === null) return;
    let text = this.#endpoints.get(endpoint);
    if (text === undefined) {
      text = formatAddress({ hostname: endpoint.address, port: endpoint.port });
      this.#endpoints.set(endpoint, text);
    }
    this.out.piece(NAMES.endpoint);
    this.out.quoted(text);
  }
}
