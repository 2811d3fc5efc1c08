/**
 * The access log: one JSON object a line for each exchange. In: exchanges that have ended. Out: lines
 * in batches, so that thousands of requests cost one write. `docs/access-log.md` is made from
 * `ACCESS_LOG_FIELDS`.
 *
 * No value can end its string or its line, or reach a terminal as a command: control characters,
 * quotes, and what turns the direction of text leave as JSON escapes. Bytes above ASCII stand as one
 * character each (latin1), so that a line never depends on what a client calls its encoding.
 */
import { formatAddress } from "../../shared/address.ts";
import { escapeUnsafe } from "../../shared/log.ts";
import { REFERER, USER_AGENT, X_REAL_IP } from "../fields.ts";
import { requestIdOf } from "../headers.ts";
import type { Exchange } from "../message.ts";

/** Every field there is, in the order of a line. Those that have nothing to say are left out. */
export const ACCESS_LOG_FIELDS = {
  time: "When the exchange ended, RFC 3339 in UTC with milliseconds.",
  log: "Always `access`, to tell these lines from events.",
  requestId: "The `X-Request-Id` that backend and client got.",
  client: "The client's address; behind a trusted proxy, the one that it names.",
  peer: "The trusted proxy's address, where there is one.",
  method: "As the client wrote it.",
  scheme: "`http` or `https`, as the connection is.",
  host: "Lower case, without port.",
  path: "As it was matched with routes: canonical, without the query.",
  query: "With its `?`; only with `--access-log-query`.",
  version: "`1.0` or `1.1`.",
  status: "Of the answer; left out where the client was gone before one.",
  bytesIn: "Head and body of the request, without the framing of chunks; 0 for a head that was " +
    "refused before its end.",
  bytesOut: "Head and body of the answer, as they left.",
  durationMs: "From the request's first byte to the answer's last.",
  upstreamMs: "From choosing the endpoint, connecting included, to the head of its answer.",
  route: "Id of the route; left out where none took the request.",
  upstream: "Namespace, Service and port.",
  endpoint: "Address and port of the pod that was asked last.",
  tries: "How many times an endpoint was asked.",
  error: "What went wrong, as in `pingress_request_errors_total`.",
  userAgent: "The field `User-Agent`.",
  referer: "The field `Referer` without user and password; its query only with " +
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
/** Or when it has this many characters. */
const BATCH_SIZE = 64 * 1024;
/** Bytes that may be on their way to a writer that is busy; then lines are dropped. */
const MAX_ON_THE_WAY = 4 * 1024 * 1024;
/** Longer values are cut: one request with a target of 32 KiB must not fill a disk. */
const MAX_VALUE = 4096;

/** `user:password@` (RFC 3986 §3.2.1), up to the last `@` before the path. */
const USERINFO = /^([^/?#]*\/\/)[^/?#]*@/;

export class AccessLog {
  readonly #options: AccessLogOptions;
  readonly #sink: AccessLogSink;
  readonly #encoder = new TextEncoder();
  #batch = "";
  #lines = 0;
  #onTheWay = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #second = NaN;
  #secondText = "";

  constructor(options: AccessLogOptions, sink: AccessLogSink) {
    this.#options = options;
    this.#sink = sink;
  }

  /** Adds an exchange's line. `now` in ms since the epoch. */
  add(exchange: Exchange, now: number): void {
    if (this.#onTheWay > MAX_ON_THE_WAY) return this.#sink.dropped(1);
    this.#batch += this.#line(exchange, now);
    this.#lines++;
    if (this.#batch.length >= BATCH_SIZE) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_INTERVAL);
  }

  /** Hands over what there is. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines === 0) return;
    const bytes = this.#encoder.encode(this.#batch);
    const lines = this.#lines;
    this.#batch = "";
    this.#lines = 0;
    this.#onTheWay += bytes.length;
    this.#sink.write(bytes, lines);
  }

  /** The writer has taken this many bytes. */
  taken(bytes: number): void {
    this.#onTheWay -= bytes;
  }

  #line(exchange: Exchange, now: number): string {
    const { record, request, client } = exchange;
    let line = `{"time":"${this.#timeText(now)}","log":"access"`;
    const requestId = record.requestId || (record.prepared ? requestIdOf(exchange) : "");
    if (requestId !== "") line += `,"requestId":${quote(requestId)}`;
    const original = client.trusted && record.prepared ? originalClient(exchange) : client.address;
    line += `,"client":${quote(original)}`;
    if (original !== client.address) line += `,"peer":${quote(client.address)}`;
    if (record.method !== "") line += `,"method":${quote(record.method)}`;
    line += client.secure ? `,"scheme":"https"` : `,"scheme":"http"`;
    if (record.hasHead && request.host !== "") line += `,"host":${quote(request.host)}`;
    if (record.method !== "") {
      line += `,"path":${quote(request.path)}`;
      if (this.#options.query && request.query !== "") line += `,"query":${quote(request.query)}`;
      line += record.version === 10 ? `,"version":"1.0"` : `,"version":"1.1"`;
    }
    if (record.status !== 0) line += `,"status":${record.status}`;
    line += `,"bytesIn":${record.bytesIn},"bytesOut":${record.bytesOut}` +
      `,"durationMs":${milliseconds(record.duration)}`;
    if (record.answeredAt !== 0) {
      line += `,"upstreamMs":${milliseconds(record.answeredAt - record.triedAt)}`;
    }
    const { route, endpoint } = record;
    if (route !== null && route.id !== null) line += `,"route":${quote(route.id)}`;
    if (record.upstream !== "") line += `,"upstream":${quote(record.upstream)}`;
    if (endpoint !== null) line += `,"endpoint":${quote(formatEndpoint(endpoint))}`;
    if (record.tries > 0) line += `,"tries":${record.tries}`;
    if (record.error !== null) line += `,"error":"${record.error}"`;
    if (record.hasHead) {
      keepFields(exchange);
      const { userAgent, referer } = record;
      if (userAgent !== "") line += `,"userAgent":${quote(userAgent!)}`;
      if (referer !== "") line += `,"referer":${quote(this.#withoutSecrets(referer!))}`;
    }
    return `${line}}\n`;
  }

  /** ISO 8601; the text of the second is made once. */
  #timeText(now: number): string {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = new Date(second * 1000).toISOString().slice(0, 20);
    }
    return `${this.#secondText}${String(now - second * 1000).padStart(3, "0")}Z`;
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

/** The client that a trusted proxy names, as the backend is told. */
function originalClient({ added, client }: Exchange): string {
  const index = added?.find(X_REAL_IP) ?? -1;
  return index === -1 ? client.address : added!.value(index);
}

function formatEndpoint({ address, port }: { address: string; port: number }): string {
  return formatAddress({ hostname: address, port });
}

/** Microseconds are as fine as a proxy is worth. */
function milliseconds(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Nothing in it needs an escape. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** A JSON string. */
function quote(text: string): string {
  if (text.length > MAX_VALUE) {
    text = `${text.slice(0, MAX_VALUE)}… (${text.length} characters)`;
  }
  return PLAIN.test(text) ? `"${text}"` : escapeUnsafe(JSON.stringify(text));
}
