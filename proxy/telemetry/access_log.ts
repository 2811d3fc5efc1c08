/**
 * The access log: one JSON object a line for each exchange. In: exchanges that have ended. Out: lines
 * in batches, so that thousands of requests cost one write. `docs/access-log.md` is made from
 * `ACCESS_LOG_FIELDS`.
 *
 * No value can end its string or its line, or reach a terminal as a command: control characters,
 * quotes, and what turns the direction of text leave as JSON escapes. Bytes above ASCII stand as one
 * character each (latin1), so that a line never depends on what a client calls its encoding.
 */
import { formatAddress } from "../../shared/net/address.ts";
import { REFERER, USER_AGENT, X_REQUEST_ID } from "../http/fields.ts";
import { requestIdOf } from "../http/forwarded_headers.ts";
import type { Exchange } from "../http/message.ts";
import { LogBuffer, type Piece, pieceOf } from "./log_buffer.ts";

/** Every field there is, in the order of a line. Those that have nothing to say are left out. */
export const ACCESS_LOG_FIELDS = {
  time: "End of the exchange, RFC 3339 in UTC with milliseconds.",
  log: "Always `access`; distinguishes these lines from log messages.",
  requestId: "The `X-Request-Id` sent to the backend and the client.",
  client: "The client's address; behind a trusted proxy, the address that the proxy reports.",
  peer: "The address of the trusted proxy, if there is one.",
  method: "As sent by the client.",
  scheme: "`http` or `https`, of the connection.",
  host: "Lower case, without port.",
  path: "The canonical path that routes are matched with, without the query.",
  query: "With its `?`; only with `--access-log-query`.",
  version: "`1.0`, `1.1` or `2`.",
  status: "Of the response; omitted if the client closed before it.",
  bytesIn: "Head and body of the request, without chunk framing; 0 for a head that was rejected " +
    "before its end.",
  bytesOut: "Head and body of the response, as sent.",
  durationMs: "From the first byte of the request to the last byte of the response.",
  upstreamMs:
    "From the choice of the endpoint, including the connect, to the head of its response.",
  route: "Id of the route; omitted if none matched.",
  upstream:
    "Namespace, Service and port; `+https` or the like if an annotation of the Ingress sets the " +
    "protocol.",
  endpoint: "Address and port of the pod of the last attempt.",
  tries: "Number of attempts.",
  error: "The error code, as in `pingress_request_errors_total`.",
  userAgent: "The header `User-Agent`.",
  referer: "The header `Referer` without user and password; its query only with " +
    "`--access-log-query`.",
} as const;

export interface AccessLogOptions {
  /** Whether queries are written: they carry tokens and names. */
  readonly query: boolean;
}

/** Where batches go. */
export interface AccessLogSink {
  /** Takes whole lines with their newlines; `bytes` is no longer the caller's. */
  readonly write: (bytes: Uint8Array<ArrayBuffer>, lines: number) => void;
  readonly dropped: (lines: number) => void;
}

/** A batch leaves at the latest after this, in ms. */
const FLUSH_INTERVAL = 100;
/** Or when it has this many bytes. */
const BATCH_SIZE = 64 * 1024;
/** Bytes that may be on their way to a writer that is busy; then lines are dropped. */
const MAX_ON_THE_WAY = 4 * 1024 * 1024;
/** `user:password@` (RFC 3986 §3.2.1), up to the last `@` before the path. */
const USERINFO = /^([^/?#]*\/\/)[^/?#]*@/;

/** What stands between values. */
const PIECES = {
  HTTPS: pieceOf(`,"scheme":"https"`),
  HTTP: pieceOf(`,"scheme":"http"`),
  LOG: pieceOf(`Z","log":"access"`),
  REQUEST_ID: pieceOf(`,"requestId":`),
  CLIENT: pieceOf(`,"client":`),
  PATH: pieceOf(`,"path":`),
  DURATION_MS: pieceOf(`,"durationMs":`),
  UPSTREAM_MS: pieceOf(`,"upstreamMs":`),
  ROUTE: pieceOf(`,"route":`),
  REFERER: pieceOf(`,"referer":`),
  END: pieceOf("}\n"),
  PEER: pieceOf(`,"peer":`),
  METHOD: pieceOf(`,"method":`),
  HOST: pieceOf(`,"host":`),
  QUERY: pieceOf(`,"query":`),
  STATUS: pieceOf(`,"status":`),
  BYTES_IN: pieceOf(`,"bytesIn":`),
  BYTES_OUT: pieceOf(`,"bytesOut":`),
  UPSTREAM: pieceOf(`,"upstream":`),
  ENDPOINT: pieceOf(`,"endpoint":`),
  TRIES: pieceOf(`,"tries":`),
  ERROR: pieceOf(`,"error":`),
  USER_AGENT: pieceOf(`,"userAgent":`),
} as const;

/** By `ExchangeRecord.version`. */
const VERSIONS: Readonly<Record<number, Piece>> = {
  10: pieceOf(`,"version":"1.0"`),
  11: pieceOf(`,"version":"1.1"`),
  20: pieceOf(`,"version":"2"`),
};

export class AccessLog {
  readonly #options: AccessLogOptions;
  readonly #sink: AccessLogSink;
  readonly #batch = new LogBuffer(BATCH_SIZE);
  /** How endpoints are written. */
  readonly #endpoints = new WeakMap<object, string>();
  #lines = 0;
  #onTheWay = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #second = NaN;
  #secondText = pieceOf("");

  constructor(options: AccessLogOptions, sink: AccessLogSink) {
    this.#options = options;
    this.#sink = sink;
  }

  /** Adds an exchange's line. `now` in ms since the epoch. */
  add(exchange: Exchange, now: number): void {
    if (this.#onTheWay > MAX_ON_THE_WAY) return this.#sink.dropped(1);
    this.#line(exchange, now);
    this.#lines++;
    if (this.#batch.length >= BATCH_SIZE) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_INTERVAL);
  }

  /** Hands over what there is. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines === 0) return;
    const bytes = this.#batch.take();
    const lines = this.#lines;
    this.#lines = 0;
    this.#onTheWay += bytes.length;
    this.#sink.write(bytes, lines);
  }

  /** The writer has taken this many bytes. */
  taken(bytes: number): void {
    this.#onTheWay -= bytes;
  }

  #line(exchange: Exchange, now: number): void {
    const { record, request, client, added } = exchange;
    const out = this.#batch;
    this.#time(now);
    out.piece(PIECES.LOG);
    const idAt = record.requestId === "" && record.prepared ? added?.find(X_REQUEST_ID) ?? -1 : -1;
    if (idAt !== -1) {
      out.piece(PIECES.REQUEST_ID);
      out.latin1(added!.bytes, added!.valueStart(idAt), added!.valueEnd(idAt));
    } else {
      this.#text(
        PIECES.REQUEST_ID,
        record.requestId || (record.prepared ? requestIdOf(exchange) : ""),
      );
    }
    const original = record.clientAddress || client.address;
    out.piece(PIECES.CLIENT);
    out.quoted(original);
    if (original !== client.address) this.#text(PIECES.PEER, client.address);
    this.#text(PIECES.METHOD, record.method);
    out.piece(client.secure ? PIECES.HTTPS : PIECES.HTTP);
    if (record.hasHead) this.#text(PIECES.HOST, request.host);
    if (record.method !== "") {
      out.piece(PIECES.PATH);
      const isRewritten = record.requestedPath !== null;
      out.quoted(record.requestedPath ?? request.path);
      if (this.#options.query) {
        this.#text(PIECES.QUERY, isRewritten ? record.requestedQuery : request.query);
      }
      out.piece(VERSIONS[record.version] ?? VERSIONS[11]);
    }
    if (record.status !== 0) this.#number(PIECES.STATUS, record.status);
    this.#number(PIECES.BYTES_IN, record.bytesIn);
    this.#number(PIECES.BYTES_OUT, record.bytesOut);
    out.piece(PIECES.DURATION_MS);
    out.thousandths(record.duration);
    if (record.answeredAt !== 0) {
      out.piece(PIECES.UPSTREAM_MS);
      out.thousandths(record.answeredAt - record.triedAt);
    }
    const { route, endpoint } = record;
    if (route !== null) {
      out.piece(PIECES.ROUTE);
      out.quoted(route);
    }
    this.#text(PIECES.UPSTREAM, record.upstream);
    if (endpoint !== null) this.#text(PIECES.ENDPOINT, this.#endpointText(endpoint));
    if (record.tries > 0) this.#number(PIECES.TRIES, record.tries);
    if (record.error !== null) this.#text(PIECES.ERROR, record.error);
    if (record.hasHead) {
      keepFields(exchange);
      const { userAgent, referer } = record;
      this.#text(PIECES.USER_AGENT, userAgent!);
      if (referer !== "") {
        out.piece(PIECES.REFERER);
        out.quoted(this.#withoutSecrets(referer!));
      }
    }
    out.piece(PIECES.END);
  }

  /** A field, unless it is empty. */
  #text(name: Piece, value: string): void {
    if (value === "") return;
    this.#batch.piece(name);
    this.#batch.quoted(value);
  }

  #number(name: Piece, value: number): void {
    this.#batch.piece(name);
    this.#batch.integer(value);
  }

  #endpointText(endpoint: { readonly address: string; readonly port: number }): string {
    let text = this.#endpoints.get(endpoint);
    if (text === undefined) {
      text = formatAddress({ hostname: endpoint.address, port: endpoint.port });
      this.#endpoints.set(endpoint, text);
    }
    return text;
  }

  /** ISO 8601; the text of the second is made once. */
  #time(now: number): void {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = pieceOf(`{"time":"${new Date(second * 1000).toISOString().slice(0, 20)}`);
    }
    this.#batch.piece(this.#secondText);
    this.#batch.padded(now - second * 1000, 3);
  }

  #withoutSecrets(referer: string): string {
    const url = referer.replace(USERINFO, "$1");
    if (this.#options.query) return url;
    const end = url.search(/[?#]/);
    return end === -1 ? url : url.slice(0, end);
  }
}

/**
 * Keeps the fields that a line shows, if that has not been done. Their bytes hold until the exchange
 * ends, but where a body follows only until that is read.
 */
export function keepFields({ record, request: { fields } }: Exchange): void {
  if (record.userAgent !== null) return;
  const userAgent = fields.find(USER_AGENT);
  const referer = fields.find(REFERER);
  record.userAgent = userAgent === -1 ? "" : fields.value(userAgent);
  record.referer = referer === -1 ? "" : fields.value(referer);
}
