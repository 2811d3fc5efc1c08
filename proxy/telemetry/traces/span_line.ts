/**
 * Spans as OTLP has them in JSON. In: requests that have ended, and their attempts. Out: an object each
 * with a comma before it, by the stable semantic conventions of HTTP.
 *
 * Written straight into bytes: a library's span is some twenty objects, and these are made by the thread
 * that serves the traffic (figures in `docs/traces.md`).
 *
 * https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 * https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 */
import { ERROR_KINDS, type ErrorCode } from "../../../shared/error_kinds.ts";
import { formatAddress } from "../../../shared/net/address.ts";
import { serviceOf } from "../../../shared/snapshot/forward_action.ts";
import type { AttemptSpan, RequestTrace } from "../../http/message.ts";
import { type LogBuffer, type Piece, pieceOf } from "../lines/log_buffer.ts";

/** Values of the enumerations `SpanKind` and `StatusCode`. */
const SERVER = 2;
const CLIENT = 3;
const STATUS_ERROR = 2;
/** Of `SpanFlags`: whether the parent is of another process is known, and is so. */
const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

/** RFC 9110 and RFC 5789; others are `_OTHER`, so that clients cannot make up names of spans. */
const METHODS: ReadonlySet<string> = new Set([
  ...["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE", "QUERY"],
]);

const OPENING = pieceOf(`,{"traceId":`);
const SPAN_ID = pieceOf(`,"spanId":`);
const PARENT_ID = pieceOf(`,"parentSpanId":`);
const STATE = pieceOf(`,"traceState":`);
const FLAGS = pieceOf(`,"flags":`);
const NAME = pieceOf(`,"name":`);
const KIND = pieceOf(`,"kind":`);
const START = pieceOf(`,"startTimeUnixNano":"`);
const END = pieceOf(`000","endTimeUnixNano":"`);
const ATTRIBUTES = pieceOf(`000","attributes":[`);
const CLOSING = pieceOf(`],"status":{}}`);
const FAILED = pieceOf(`],"status":{"code":${STATUS_ERROR}}}`);
const TEXT_END = pieceOf(`}},`);
const INTEGER_END = pieceOf(`"}},`);

/** What stands before the value of an attribute. */
function text(key: string): Piece {
  return pieceOf(`{"key":"${key}","value":{"stringValue":`);
}

function integer(key: string): Piece {
  return pieceOf(`{"key":"${key}","value":{"intValue":"`);
}

const KEYS = {
  method: text("http.request.method"),
  originalMethod: text("http.request.method_original"),
  status: integer("http.response.status_code"),
  resends: integer("http.request.resend_count"),
  httpRoute: text("http.route"),
  scheme: text("url.scheme"),
  path: text("url.path"),
  query: text("url.query"),
  full: text("url.full"),
  serverAddress: text("server.address"),
  serverPort: integer("server.port"),
  clientAddress: text("client.address"),
  peerAddress: text("network.peer.address"),
  peerPort: integer("network.peer.port"),
  version: text("network.protocol.version"),
  userAgent: text("user_agent.original"),
  errorType: text("error.type"),
  namespace: text("k8s.namespace.name"),
  service: text("k8s.service.name"),
  requestId: text("pingress.request_id"),
  route: text("pingress.route"),
  filter: text("pingress.filter"),
  error: text("pingress.error"),
  side: text("pingress.error.side"),
} as const;

/** By `ExchangeRecord.version`. */
const VERSIONS: Readonly<Record<number, string>> = { 10: "1.0", 11: "1.1", 20: "2" };

/** The path of a route in the id that most have: `app.example.com Prefix /api`. */
const ROUTE_PATH = /^\S+ (?:Exact|Prefix|StringPrefix|Regex) (\S+)/;

/** What its spans show of a request that has ended; the objects of its exchange serve the next one. */
export interface EndedRequest {
  readonly trace: RequestTrace;
  /** Hexadecimal digits. */
  readonly traceId: string;
  readonly isSampled: boolean;
  /** When it ended, in ms since the epoch. */
  readonly endedAt: number;
  /** The same moment on the clock of `turnNow`, which attempts use. */
  readonly endedTurn: number;
  /** In ms. */
  readonly duration: number;
  readonly method: string;
  /** Before filters changed them; the query with its `?`, or "". */
  readonly path: string;
  readonly query: string;
  /** As backends got them. */
  readonly sentPath: string;
  readonly sentQuery: string;
  readonly host: string;
  readonly authority: string;
  readonly isSecure: boolean;
  readonly clientAddress: string;
  readonly peerAddress: string;
  readonly peerPort: number;
  /** As `ExchangeRecord.version`. */
  readonly version: number;
  readonly userAgent: string;
  readonly requestId: string;
  readonly route: string;
  readonly upstream: string;
  /** 0 for no response. */
  readonly status: number;
  readonly error: ErrorCode | null;
}

export class SpanLine {
  readonly #out: LogBuffer;
  /** Whether queries are written. */
  readonly #query: boolean;

  constructor(out: LogBuffer, query: boolean) {
    this.#out = out;
    this.#query = query;
  }

  /** The span of a request, and those of its attempts. */
  request(request: EndedRequest): void {
    this.#ofRequest(request);
    for (const attempt of request.trace.attempts) this.#ofAttempt(request, attempt);
  }

  #ofRequest(request: EndedRequest): void {
    const { trace, status, error } = request;
    const method = METHODS.has(request.method) ? request.method : "_OTHER";
    const path = ROUTE_PATH.exec(request.route)?.[1] ?? "";
    this.#begin(request.traceId, trace.spanId, trace.parentId, trace.state);
    const remote = trace.parentId === "" ? 0 : IS_REMOTE;
    this.#flags((request.isSampled ? 1 : 0) | HAS_IS_REMOTE | remote);
    this.#named(trace.name || nameOf(method, path), SERVER);
    this.#times(request.endedAt, request.duration, 0);
    this.#text(KEYS.method, method);
    if (method !== request.method) this.#text(KEYS.originalMethod, request.method);
    if (status !== 0) this.#integer(KEYS.status, status);
    this.#text(KEYS.httpRoute, path);
    this.#text(KEYS.scheme, request.isSecure ? "https" : "http");
    this.#text(KEYS.path, request.path);
    if (this.#query) this.#text(KEYS.query, request.query.slice(1));
    this.#text(KEYS.serverAddress, request.host);
    this.#integer(KEYS.serverPort, portOf(request.authority, request.isSecure));
    this.#text(KEYS.clientAddress, request.clientAddress);
    this.#text(KEYS.peerAddress, request.peerAddress);
    this.#integer(KEYS.peerPort, request.peerPort);
    this.#text(KEYS.version, VERSIONS[request.version] ?? "");
    this.#text(KEYS.userAgent, request.userAgent);
    this.#text(KEYS.requestId, request.requestId);
    this.#text(KEYS.route, request.route);
    this.#text(KEYS.filter, trace.filter);
    this.#service(request.upstream);
    const isFailure = status >= 500 || status === 0 || isServerError(error);
    this.#end(error, isFailure ? status : 0, isFailure);
  }

  #ofAttempt(request: EndedRequest, attempt: AttemptSpan): void {
    const { address, port } = attempt.endpoint;
    const { trace, endedTurn } = request;
    const method = METHODS.has(request.method) ? request.method : "_OTHER";
    const where = formatAddress({ hostname: address, port });
    const query = this.#query ? request.sentQuery : "";
    this.#begin(request.traceId, attempt.id, trace.spanId, trace.state);
    this.#flags((request.isSampled ? 1 : 0) | HAS_IS_REMOTE);
    this.#named(method === "_OTHER" ? "HTTP" : method, CLIENT);
    this.#times(request.endedAt, endedTurn - attempt.startedAt, endedTurn - attempt.endedAt);
    this.#text(KEYS.method, method);
    if (attempt.status !== 0) this.#integer(KEYS.status, attempt.status);
    if (attempt.resends > 0) this.#integer(KEYS.resends, attempt.resends);
    this.#text(KEYS.full, `${schemeOf(attempt.endpoint)}://${where}${request.sentPath}${query}`);
    this.#text(KEYS.serverAddress, address);
    this.#integer(KEYS.serverPort, port);
    this.#service(request.upstream);
    const isFailure = attempt.status >= 400 || attempt.error !== null;
    this.#end(attempt.error, isFailure ? attempt.status : 0, isFailure);
  }

  #begin(traceId: string, id: string, parentId: string, state: string): void {
    const out = this.#out;
    out.piece(OPENING);
    out.quoted(traceId);
    out.piece(SPAN_ID);
    out.quoted(id);
    if (parentId !== "") {
      out.piece(PARENT_ID);
      out.quoted(parentId);
    }
    if (state !== "") {
      out.piece(STATE);
      out.quoted(state);
    }
  }

  #flags(flags: number): void {
    this.#out.piece(FLAGS);
    this.#out.integer(flags);
  }

  #named(name: string, kind: number): void {
    const out = this.#out;
    out.piece(NAME);
    out.quoted(name);
    out.piece(KIND);
    out.integer(kind);
  }

  /**
   * What follows are attributes, of which there is one at least.
   *
   * @param now in ms since the epoch, whole ones. @param start and `end`: how long ago, in ms. A fraction of a
   *   time since the epoch is no more exact than a quarter of a microsecond, and a request began 1 µs after its
   *   attempt then.
   */
  #times(now: number, start: number, end: number): void {
    const out = this.#out;
    out.piece(START);
    out.ascii(String(now * 1000 - Math.round(start * 1000)));
    out.piece(END);
    out.ascii(String(now * 1000 - Math.round(end * 1000)));
    out.piece(ATTRIBUTES);
  }

  /** An attribute, unless it is empty. */
  #text(key: Piece, value: string): void {
    if (value === "") return;
    const out = this.#out;
    out.piece(key);
    out.quoted(value);
    out.piece(TEXT_END);
  }

  #integer(key: Piece, value: number): void {
    const out = this.#out;
    out.piece(key);
    out.integer(value);
    out.piece(INTEGER_END);
  }

  #service(upstream: string): void {
    const service = serviceOf(upstream);
    if (service === null) return;
    this.#text(KEYS.namespace, service.namespace);
    this.#text(KEYS.service, service.name);
  }

  /** @param status of a failure that has no code. */
  #end(error: ErrorCode | null, status: number, isFailure: boolean): void {
    const out = this.#out;
    if (isFailure) this.#text(KEYS.errorType, error ?? String(status));
    if (error !== null) {
      this.#text(KEYS.error, error);
      this.#text(KEYS.side, ERROR_KINDS[error].side);
    }
    // The comma of the last attribute.
    out.shorten(1);
    out.piece(isFailure ? FAILED : CLOSING);
  }
}

/** Of few values, as a name should be: what a client can make up is not in it. */
function nameOf(method: string, path: string): string {
  const shown = method === "_OTHER" ? "HTTP" : method;
  return path === "" ? shown : `${shown} ${path}`;
}

function isServerError(error: ErrorCode | null): boolean {
  return error !== null && ERROR_KINDS[error].status >= 500;
}

function portOf(authority: string, secure: boolean): number {
  const [, port] = /:(\d{1,5})$/.exec(authority) ?? [];
  return port === undefined ? (secure ? 443 : 80) : Number(port);
}

function schemeOf({ protocol = "http" }: AttemptSpan["endpoint"]): "http" | "https" {
  return protocol === "https" || protocol === "h2" ? "https" : "http";
}
