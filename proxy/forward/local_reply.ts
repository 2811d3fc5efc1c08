/**
 * Our own answers, in this one place. In: an error's code and the exchange that it ends, if a head
 * could be read. Out: a head and a body, plain text or JSON by Accept, with the request's id and
 * never an inner detail; a gRPC client gets a status of gRPC instead.
 */
import { STATUS_CODES } from "node:http";
import { prefersJson } from "../http/accept.ts";
import { ERROR_KINDS, type ErrorCode } from "../../shared/error_kinds.ts";
import { ACCEPT, fieldsOf } from "../http/fields.ts";
import { hasGrpc } from "../grpc/content_type.ts";
import { encodeGrpcMessage, GRPC_CODES, GRPC_STATUS_OF } from "../grpc/status.ts";
import { requestIdOf } from "../http/forwarded_headers.ts";
import { type Body, BytesBody, NO_BODY } from "../http/body.ts";
import { type Exchange, ResponseHead } from "../http/message.ts";
import { withinTime } from "../io/time_limit.ts";
import { ALLOW } from "../http/method.ts";

/** A backend that is not ready now may be soon: rollouts take seconds. */
const RETRY_AFTER_SECONDS = "5";

/** Of a head whose reply has a time limit, in bytes: for a smaller one that would cost more than it. */
const LARGE_HEAD = 8 * 1024;

const encoder = new TextEncoder();

/**
 * HTML in place of plain text, for `deno task dev` on a laptop: it says what the manifests say. A proxy in
 * a cluster has none. Null for a client that is no browser.
 */
export type ErrorPage = (code: ErrorCode, exchange: Exchange) => string | null;

/** Nothing in the page is fetched or run. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/**
 * The answer to `code`. `exchange` is null where the request's fields could not be believed.
 * @param challenge for WWW-Authenticate (RFC 9110 §11.6.1); null for none.
 */
export function localReply(
  code: ErrorCode,
  exchange: Exchange | null,
  challenge: string | null = null,
  page: ErrorPage | null = null,
): { head: ResponseHead; body: Body } {
  if (exchange === null || exchange.request.fields.extent < LARGE_HEAD) {
    return replyTo(code, exchange, challenge, page);
  }
  const reply = withinTime(() => replyTo(code, exchange, challenge, page)) ??
    replyTo(code, null, challenge, null);
  reply.head.closes = exchange.request.bodyLength !== 0;
  return reply;
}

/** As `localReply`, through the filters that the exchange has met: for what its connection sends. */
export function filteredReply(
  code: ErrorCode,
  exchange: Exchange | null,
  page: ErrorPage | null = null,
): { readonly head: ResponseHead; readonly body: Body } {
  const { head, body } = localReply(code, exchange, null, page);
  const filters = exchange === null ? null : exchange.record.filters;
  try {
    return filters === null ? { head, body } : filters.filter(head, body);
  } catch {
    // A filter that fails keeps nobody from learning that the request has.
    return { head, body };
  }
}

function replyTo(
  code: ErrorCode,
  exchange: Exchange | null,
  challenge: string | null,
  page: ErrorPage | null,
): { head: ResponseHead; body: Body } {
  // Not by `isGrpc`: a head that is refused may not have been read that far.
  if (exchange !== null && exchange.request.upgrade === "" && hasGrpc(exchange.request.fields)) {
    const answer = grpcAnswerTo(code, exchange);
    if (answer !== null) return answer;
  }
  const { status, text } = ERROR_KINDS[code];
  const reason = STATUS_CODES[status] ?? "";
  const requestId = requestIdOf(exchange);
  const json = exchange !== null && prefersJson(acceptOf(exchange));
  const html = page === null || exchange === null || json ? null : page(code, exchange);
  const body = encoder.encode(
    html !== null
      ? html
      : json
      ? JSON.stringify({ status, error: reason, message: text, requestId }) + "\n"
      : `${status} ${reason}: ${text}\nRequest id: ${requestId}\n`,
  );
  const fields: [string, string][] = [
    [
      "Content-Type",
      html !== null
        ? "text/html; charset=utf-8"
        : json
        ? "application/json"
        : "text/plain; charset=utf-8",
    ],
    ["Cache-Control", "no-store"],
    ["X-Request-Id", requestId],
  ];
  if (status === 503 && code !== "route_closed") fields.push(["Retry-After", RETRY_AFTER_SECONDS]);
  if (html !== null) fields.push(["Content-Security-Policy", PAGE_POLICY]);
  if (challenge !== null) fields.push(["WWW-Authenticate", challenge]);
  if (status === 405) fields.push(["Allow", ALLOW]);
  const head = new ResponseHead();
  head.status = status;
  head.reason = reason;
  head.fields = fieldsOf(fields);
  head.bodyLength = head.contentLength = body.length;
  // Whether the request's body has come already, or is still to be waited for, is chance.
  head.closes = exchange !== null && exchange.request.bodyLength !== 0;
  return { head, body: new BytesBody(body) };
}

/**
 * The answer to a gRPC request, whose client looks for its status in gRPC's own field: a head without
 * a body (Trailers-Only in gRPC's doc/PROTOCOL-HTTP2.md). Null for what stays HTTP's business.
 */
function grpcAnswerTo(
  code: ErrorCode,
  exchange: Exchange,
): { head: ResponseHead; body: Body } | null {
  const name = GRPC_STATUS_OF[code];
  if (name === null) return null;
  const head = new ResponseHead();
  head.status = 200;
  head.reason = "OK";
  head.fields = fieldsOf([
    ["Content-Type", "application/grpc"],
    ["Grpc-Status", String(GRPC_CODES[name])],
    ["Grpc-Message", encodeGrpcMessage(ERROR_KINDS[code].text)],
    ["X-Request-Id", requestIdOf(exchange)],
  ]);
  head.bodyLength = 0;
  head.closes = exchange.request.bodyLength !== 0;
  return { head, body: NO_BODY };
}

function* acceptOf({ request: { fields } }: Exchange): Generator<string> {
  for (let i = fields.find(ACCEPT); i !== -1; i = fields.find(ACCEPT, i + 1)) {
    yield fields.value(i);
  }
}
