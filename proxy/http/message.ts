/**
 * Heads, bodies and the exchange, neutral of the HTTP version. In: what `http1` (and later `http2`)
 * has parsed and validated. Out: what `forwarder.ts`, the router and the other side's codec read.
 */
import type { Body, LATER } from "./body.ts";
import type { Timeouts } from "./limits.ts";
import type { Output, WriteWaiter } from "../io/output.ts";
import type { Cancellation } from "./cancellation.ts";
import { Fields } from "./fields.ts";
import type { ErrorCode, ProxyError } from "../errors.ts";

/** Length of a body whose end only its coding tells (chunked, or until the connection closes). */
export const UNKNOWN_LENGTH = -1;

/** A request's head. One object serves many requests of a connection; it holds during one exchange. */
export class RequestHead {
  method = "";
  /** Lower case, without port and trailing dot; "" when an HTTP/1.0 request named none. */
  host = "";
  /** As the client wrote it, port included: the value for the backend's Host. */
  authority = "";
  /** Canonical, as `shared/path/canonical_path.ts` makes it. */
  path = "";
  /** The path as the client has sent it. */
  received = "";
  /** With its `?`, or "". */
  query = "";
  /** 10, 11 or 20 (HTTP/1.0, HTTP/1.1, HTTP/2). */
  version = 11;
  readonly fields: Fields;
  /** Fields of the route's filters, sent behind all others; null for none. */
  extra: Fields | null = null;
  /** Bytes of body, 0 for none, or UNKNOWN_LENGTH. */
  bodyLength = 0;
  /** What Content-Length says; -1 when absent. */
  contentLength = -1;
  /** The client waits for 100 (Continue) before it sends the body. */
  expectsContinue = false;
  /** The client said `TE: trailers`. */
  acceptsTrailers = false;
  /** No tunnel, and Content-Type is `application/grpc`, with or without a suffix (`+proto`) or parameters. */
  isGrpc = false;
  /** It is gRPC, and has been sent to a backend that speaks HTTP/2. */
  isGrpcByHttp2 = false;
  /** The protocol that the client asks to switch to, in lower case; "" for a plain request. */
  upgrade = "";

  /** @param fields of whoever reads the head; its own by default. */
  constructor(fields: Fields = Fields.usual()) {
    this.fields = fields;
  }

  /**
   * The value of the header with this name in lower case, all lines of it, as text; null for none.
   * What ends here is none of its headers, nor is what the proxy adds. `host` is the authority.
   */
  header(name: string): string | null {
    return name === "host" ? this.authority || null : this.fields.joined(name);
  }
}

/** A response's head, from a backend or of our own making. */
export class ResponseHead {
  status = 0;
  /** Reason phrase as the backend wrote it (latin1); HTTP/1 only. */
  reason = "";
  fields: Fields;
  /** Fields of the route's filters, sent behind `fields`; null for none. They belong to the filters. */
  extra: Fields | null = null;
  /** Bytes of body, 0 for none, or UNKNOWN_LENGTH. */
  bodyLength = 0;
  /** What Content-Length says, also where no body follows (HEAD, 304); -1 when absent. */
  contentLength = -1;
  /** The client's connection ends with it; HTTP/1 only. */
  closes = false;
  /** Without a Server, none is added. */
  hidesServer = false;

  constructor(fields: Fields = new Fields()) {
    this.fields = fields;
  }
}

/** Whether a field with this id is sent. */
export function hasField({ fields, extra }: ResponseHead, id: number): boolean {
  return fields.find(id) !== -1 || (extra !== null && extra.find(id) !== -1);
}

/** A response in place of an upstream's. */
export interface Reply {
  readonly head: ResponseHead;
  readonly body: Body;
}

/** A certificate as a connection has shown it. */
export interface ShownCertificate {
  /** Of the certificate; missing where nobody needs it. */
  readonly id?: string;
  covers(host: string): boolean;
}

/** The client's end of a connection, as far as forwarding needs it. */
export interface Client {
  /** IP address without port; IPv4-mapped IPv6 as IPv4. */
  readonly address: string;
  readonly port: number;
  /**
   * The listener that it came to: `http` or `https`, which every proxy has; or a socket of a Gateway, whose
   * listener each request's Host decides. None of these once its socket is that of another Gateway.
   */
  listener: string;
  /** Over TLS. */
  readonly secure: boolean;
  /** The certificate that it was shown, and for which hosts that is right; null for plain connections. */
  readonly certificate: ShownCertificate | null;
  /** The port that the client dialled, or knows that of a Gateway by, for X-Forwarded-Port. */
  readonly localPort: number;
  /** Its forwarded fields are believed, from the next request on; see `TrustedProxies`. */
  trusted: boolean;
  /** Its connection was trusted when it came, so that no limit of its address counts it. */
  readonly isExempt: boolean;
}

/** One end of a tunnel: bytes both ways, after both sides have switched protocols. */
export interface Duplex {
  /** What comes from this end, until its FIN. */
  readonly body: Body;
  /** Settles when all of `view` is written; rejects with a ProxyError. */
  write(view: Uint8Array): Promise<void>;
  /** As `write`, without a promise where one can be spared; not beside another write. */
  readonly sink: DuplexSink;
  /** Sends FIN: the other end has no more to say. */
  end(): Promise<void>;
  /** Closes both ways at once. */
  abort(error: ProxyError): void;
  /**
   * Calls `listener` once this end has ended its side and reads no more bytes either; at once if that has
   * happened already. Missing where only a failed write shows it.
   */
  readonly onWriteClosed?: (listener: () => void) => void;
}

/** Where bytes for one end of a tunnel go. */
export interface DuplexSink {
  /** Writes `bytes[0, length)`, and tells `waiter`; then they may be used again. */
  writeThen(bytes: Uint8Array, length: number, waiter: WriteWaiter): void;
  /** Missing where it has no connection to itself. */
  readonly output?: Output;
}

/** No traceparent goes to its backend but what the client has sent. */
export const UNTRACED = 0;
/** Spans are made only where it fails. */
export const UNSAMPLED = 1;
export const SAMPLED = 2;
export type Tracing = typeof UNTRACED | typeof UNSAMPLED | typeof SAMPLED;

/** What a route says of the traces of its requests. */
export interface RouteTracing {
  readonly isTraced: boolean;
  /** Of the request's span; "" for one of method and path. */
  readonly name: string;
  /** Whether a traceparent counts, whoever sends it; null: that of trusted proxies. */
  readonly trust: boolean | null;
}

export interface AskedEndpoint {
  readonly address: string;
  readonly port: number;
  /** As `Upstream.protocol`; plain HTTP where it is missing. */
  readonly protocol?: string;
}

/** An attempt that has ended, for a span of its own. Times as in the record. */
export interface AttemptSpan {
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly endpoint: AskedEndpoint;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Of the final response's head; 0 where there was none. */
  readonly status: number;
  readonly error: ErrorCode | null;
  /** How many attempts came before it. */
  readonly resends: number;
}

/** What the spans of a request need. Ids are hexadecimal digits; "" where there is none. */
export class RequestTrace {
  /** Of the span that the client names as its own. */
  parentId = "";
  /** The tracestate that goes on. */
  state = "";
  /** Of the request's own span; "" where it has not been told to anybody. */
  spanId = "";
  /** As the route says; "" where it does not. */
  name = "";
  /** The filter that has replied in place of a backend; "" where none has. */
  filter = "";
  readonly attempts: AttemptSpan[] = [];
}

/**
 * What is known of an exchange when it has ended, for metrics and the access log. One object serves
 * the exchanges of a connection in turn. Times are in ms, monotonic.
 */
export class ExchangeRecord {
  /** When the request's first byte was seen; 0 where there was none. */
  startedAt = 0;
  /** From then to the end. */
  duration = 0;
  /** Of the final answer, 101 included; 0 where there was none. */
  status = 0;
  error: ErrorCode | null = null;
  /** Head and body, without the framing of chunks. */
  bytesIn = 0;
  /** As they were handed to the system. */
  bytesOut = 0;
  /** Heads among them, those of interim responses too. */
  headBytesOut = 0;
  /** Of the request line; "" where that could not be read. */
  method = "";
  version = 11;
  /** As much as has come of a request line that was refused, in latin1; null where there is none. */
  refusedLine: string | null = null;
  /** The request's host and fields are its own, not those of the one before. */
  hasHead = false;
  /** It has a line in the access log, where one is written. */
  isLogged = true;
  /** `forwarded_headers.ts` has prepared it: it has an id. */
  prepared = false;
  /** The trusted proxy that sends it has given it its id; says nothing of requests of others. */
  hasPeersId = false;
  /**
   * The client's address; behind a trusted proxy, the one that it names. "" until `prepared`.
   */
  clientAddress = "";
  /** Where its body is counted among its client's (`body_counts.ts`); null where it is not. */
  bodyCounts: { leave(exchange: CountedExchange): void } | null = null;
  /** The id in an answer to a request that could not be read; else "". */
  requestId = "";
  /** Those of its route, for responses that its connection makes; null where it has none. */
  filters: ResponseFilters | null = null;
  /** Where it is counted, and which routes were in force then; see `Metrics.routed`. */
  counters = 0;
  routedAt = -1;
  /** Whether spans are made of it. */
  tracing: Tracing = UNTRACED;
  /** What its spans need beyond this record; null where nothing does. */
  trace: RequestTrace | null = null;
  /** Id of the route, for access log and spans alone; null where none was looked for or found. */
  route: string | null = null;
  upstream = "";
  /** The one that was asked last. */
  endpoint: AskedEndpoint | null = null;
  /** How many times an endpoint was asked. */
  tries = 0;
  /** When the last try began, when its first byte was sent, and when its answer's head had come, or 0. */
  triedAt = 0;
  sentAt = 0;
  answeredAt = 0;
  /** The target as the client has sent it, where a filter has changed it; null where none has. */
  requestedPath: string | null = null;
  requestedQuery = "";
  /** Kept for the access log; null until then. */
  userAgent: string | null = null;
  referer: string | null = null;

  /** Begins anew, for the connection's next request. */
  begin(): void {
    this.startedAt = 0;
    this.duration = 0;
    this.status = 0;
    this.error = null;
    this.bytesIn = 0;
    this.bytesOut = 0;
    this.headBytesOut = 0;
    this.method = "";
    this.version = 11;
    this.refusedLine = null;
    this.hasHead = false;
    this.isLogged = true;
    this.prepared = false;
    this.clientAddress = "";
    this.bodyCounts = null;
    this.requestId = "";
    this.filters = null;
    this.counters = 0;
    this.routedAt = -1;
    this.tracing = UNTRACED;
    this.trace = null;
    this.route = null;
    this.upstream = "";
    this.endpoint = null;
    this.tries = 0;
    this.triedAt = 0;
    this.sentAt = 0;
    this.answeredAt = 0;
    this.requestedPath = null;
    this.requestedQuery = "";
    this.userAgent = null;
    this.referer = null;
  }
}

/** What a response passes through on its way to the client. */
export interface ResponseFilters {
  /** Throws a ProxyError where a filter fails. */
  filter(head: ResponseHead, body: Body): Reply;
}

/** What is needed of an exchange to know whose its body is. */
export type CountedExchange = Pick<Exchange, "client" | "record">;

/** A request and its response, seen from the client's side. */
export interface Exchange {
  readonly request: RequestHead;
  readonly record: ExchangeRecord;
  /** The whole body, where it came along with the head; then `body` is done. Holds to the end. */
  readonly payload: Uint8Array | null;
  readonly body: Body;
  readonly client: Client;
  /** Fields that go to the backend besides the request's own (`forwarded_headers.ts`); null before that. */
  added: Fields | null;
  /** The authority that `added` names: a connection's next request mostly names the same. */
  addedAuthority: string;
  /** The mark that `added` has (`loop_mark.ts`). */
  addedMark: string;
  /** Stops whoever works on it when the client goes away, or its time has passed. */
  readonly cancellation: Cancellation;
  /** True once a final response's head has been handed over. */
  readonly responded: boolean;
  /** True once there is nothing left to do: the client is gone, or has been answered. */
  readonly isOver: boolean;
  /** Hears of its end where no promise tells it; missing where a promise has to. */
  readonly waiter?: ExchangeWaiter;
  /**
   * A body longer than this (bytes) is refused from now on: its `read` rejects with `body_too_large`.
   * To be called once, before the body is read.
   */
  limitBody(bytes: number): void;
  /** Sends an interim (1xx) response; dropped for clients that do not know them. */
  interim(head: ResponseHead): Promise<void> | void;
  /**
   * Sends the final response. Settles when all of it has been handed to the client's connection,
   * so that what the body's bytes belong to may be used again. Rejects with a ProxyError when the
   * client or the body breaks; by then the connection is closed, and nothing partial passes for
   * whole.
   */
  respond(head: ResponseHead, body: Body): Promise<void> | void;
  /**
   * Sends 101 (Switching Protocols) and gives the client's end of the tunnel. Only where
   * `request.upgrade` is not "". Rejects like `respond`.
   */
  upgrade(head: ResponseHead): Promise<Duplex>;
}

/**
 * Why a request that got no response may be sent again:
 * - `closed`: the connection ended before a byte of a response, be it of an interim one.
 * - `closed_idle`: so did one that had served a request before, which the backend most likely closed
 *   as idle while the request was on its way (RFC 9112 §9.3.1).
 * - `unprocessed`: the backend has said that it has done nothing with it (RFC 9113 §8.7).
 * - `refused`: so it has, and that it had too many then; its connection goes on.
 */
export type RetryReason = "closed" | "closed_idle" | "unprocessed" | "refused";

/**
 * A request to a backend and its answer, seen from the backend's side: one use of an HTTP/1.1
 * connection, or one stream of an HTTP/2 connection. Serves one exchange at a time.
 */
export interface UpstreamExchange {
  /** The answer's head, as far as `receiveThen` has given it; holds until that is called again. */
  readonly response: ResponseHead;
  /** The body of the answer whose final head `receiveThen` has given. */
  readonly body: Body;
  /** Why it has failed, if it has. */
  readonly failure: ProxyError | null;
  /** Once it has failed: why the request may be sent again, subject to `retry.ts`; else null. */
  readonly retry: RetryReason | null;
  /** The backend has closed it before a response, while the proxy waited for more of the client's body. */
  readonly awaitedClient: boolean;
  /**
   * Sends a request. `payload` is its whole body where that is at hand; otherwise `body` is pulled
   * while `receiveThen` waits. `host` is the authority that the backend is asked as;
   * `timeouts` are those of the attempt.
   */
  send(
    request: RequestHead,
    added: Fields | null,
    host: string,
    payload: Uint8Array | null,
    body: Body,
    timeouts: Timeouts,
  ): void;
  /**
   * Waits for the next head, interim (1xx) or final, 101 where the backend has switched to
   * `request.upgrade`. Tells `receiver` once `response` holds it, at once where it has come, with null;
   * or with a ProxyError, and then the exchange is over.
   */
  receiveThen(receiver: HeadReceiver): void;
  /** The backend's end of a tunnel, after `receiveThen` has given a 101. */
  duplex(): Duplex;
  /** Ends it at once; what is under way fails with `error`. */
  readonly abort: (error: ProxyError) => void;
}

/** Waits for a response's head. An object in place of a function, which each request would have to make. */
export interface HeadReceiver {
  /** @param error null where the head has come. Must not throw. */
  received(error: unknown): void;
}

/** Waits for an exchange to be served, without a promise. Told once; neither method throws. */
export interface ExchangeWaiter {
  served(): void;
  /** Only a mistake of ours is thrown. */
  broke(thrown: unknown): void;
}

/** Has a waiter hear of what a promise tells. */
export function tell(waiter: ExchangeWaiter, serving: Promise<void>): void {
  serving.then(() => waiter.served(), (thrown) => waiter.broke(thrown));
}

/** What tells of the end of an exchange; undefined where it is over. */
export type Serving = Promise<void> | typeof LATER | void;

/** What serves an exchange: `forwarder.ts`. Never rejects. */
export type ExchangeHandler = (exchange: Exchange) => Serving;
