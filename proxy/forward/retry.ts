/**
 * What may be sent again. In: a request that has failed, and how. Out: whether it may go to a backend
 * once more (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
 */
import { isExhaustion } from "../io/descriptors.ts";
import type { ProxyError } from "../errors.ts";
import type { Exchange, UpstreamExchange } from "../http/message.ts";
import type { ReplayBody } from "./replay_body.ts";

/** RFC 9110 §9.2.2: sending these twice has the effect of once. */
const IDEMPOTENT: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
]);

/** Nothing was sent, as nobody was there; not for want of something here. */
export function isUnreachable(failure: ProxyError | null): boolean {
  return failure?.code === "connect_failed" && !isExhaustion(failure.cause);
}

/**
 * Refused connections of one request that use up no try. Each costs a round trip and the endpoint
 * nothing; with a quarter of the endpoints gone, one request in four billion meets as many. What is
 * beyond counts, so that an upstream that is down as a whole is not dialled a thousand times a request.
 */
export const FREE_REFUSALS = 16;

/** The endpoint's host said at once that nobody listens: the endpoint has seen no request. */
export function wasRefused(failure: ProxyError): boolean {
  const { cause } = failure;
  return failure.code === "connect_failed" &&
    (cause instanceof Deno.errors.ConnectionRefused ||
      (cause as { readonly code?: unknown } | null | undefined)?.code === "ECONNREFUSED");
}

/**
 * A reused connection that died before a byte of its answer was most likely closed by the backend
 * as the request left (RFC 9112 §9.3.1).
 */
export function wasClosedIdle(call: UpstreamExchange): boolean {
  return call.reused && endedUnanswered(call);
}

function endedUnanswered({ answered, failure }: UpstreamExchange): boolean {
  return !answered && failure?.code === "upstream_closed";
}

/**
 * Of a request that died without a byte of answer what may be sent twice, and still can be, is; one
 * that the backend has not begun with, whatever its method.
 */
export function mayReplay(
  { request, payload, body }: Exchange,
  call: UpstreamExchange,
  replay: ReplayBody | null,
): boolean {
  const isSafe = call.unprocessed || (endedUnanswered(call) && IDEMPOTENT.has(request.method));
  if (!isSafe) return false;
  // Before a tunnel is there, nothing of what is for it has been read.
  if (request.upgrade !== "") return true;
  if (replay !== null) return replay.isWhole;
  return body.done && (payload !== null || request.bodyLength === 0);
}
