/**
 * Whether a request is sent again. In: attempts that have failed, one after another. Out: whether
 * there may be another (RFC 9110 §9.2.2, RFC 9112 §9.3.1), which endpoints it leaves out, and the
 * body that it sends.
 *
 * The two questions are apart: whether the request may be sent twice, which is for its method, its
 * body and `UpstreamExchange.retry` to say, and how many endpoints are asked for it (`--tries`). A
 * route's policy may say after which failures (`RetryConditions`).
 */
import { isExhaustion } from "../io/descriptors.ts";
import type { ProxyError } from "../errors.ts";
import type { Exchange, UpstreamExchange } from "../http/message.ts";
import { ReplayBody } from "./replay_body.ts";
import { DEFAULT_RETRY_BODY, type RetryConditions, type RoutePolicy } from "../route/policy.ts";
import type { HttpEndpoint, HttpUpstream } from "../route/route.ts";

/** RFC 9110 §9.2.2: sending these twice has the effect of once. */
const IDEMPOTENT: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
]);

/**
 * Refused connections of one request that use up no try. Each costs a round trip and the endpoint
 * nothing; with a quarter of the endpoints gone, one request in four billion meets as many. What is
 * beyond counts, so that an upstream that is down as a whole is not dialled a thousand times a request.
 */
const FREE_REFUSALS = 16;

/** An attempt that got no response, or only a part of one that its client has not seen. */
export interface FailedAttempt {
  readonly endpoint: HttpEndpoint;
  /** Null where no connection came about. */
  readonly call: UpstreamExchange | null;
  readonly failure: ProxyError;
  /** The body that it sent, where that is kept for another attempt. */
  readonly replay: ReplayBody | null;
}

/**
 * What is known of the attempts for one request: from the beginning where its route has a
 * `RetryPolicy`, else once the first did not respond.
 */
export class RetryState {
  /** When the request began to wait for an endpoint for the first time, in ms; 0 before that. */
  heldSince = 0;
  readonly #tries: number;
  readonly #conditions: RetryConditions | null;
  /** No attempt begins later, in ms; Infinity for any time. */
  readonly #end: number;
  #failure: ProxyError | null = null;
  #tried: HttpEndpoint[] | null = null;
  /** Endpoints in `#tried` that refused the connection, and count as no try. */
  #refusals = 0;
  /** The last attempt never reached the backend: another adds nothing to its load. */
  #isUnseen = false;
  #isReplayed = false;
  /** Another attempt has been decided on, and taken from the budget, because of a status. */
  #isDecided = false;

  constructor({ tries, retry }: Pick<RoutePolicy, "tries" | "retry">) {
    this.#tries = tries;
    this.#conditions = retry?.conditions ?? null;
    const timeout = retry?.timeout ?? 0;
    this.#end = timeout === 0 ? Infinity : performance.now() + timeout;
  }

  /** Why the last attempt failed; null where none has since `reset`. */
  get failure(): ProxyError | null {
    return this.#failure;
  }

  /** Endpoints that the next attempt leaves out; null where there are none. */
  get tried(): readonly HttpEndpoint[] | null {
    return this.#tried;
  }

  /** The next attempt is to take no connection that has been idle: one of these has failed already. */
  get avoidsIdle(): boolean {
    return this.#isReplayed;
  }

  /** The next attempt adds to the load of the upstream: it is taken from the budget of retries. */
  get needsBudget(): boolean {
    return this.#failure !== null && !this.#isUnseen && !this.#isDecided;
  }

  /** The endpoints are others now: all may be asked. */
  reset(): void {
    this.#tried = this.#failure = null;
    this.#refusals = 0;
  }

  /** Whether the request may be sent once more, after this attempt. */
  allows(exchange: Exchange, { endpoint, call, failure, replay }: FailedAttempt): boolean {
    this.#failure = failure;
    if (this.#isDecided) return true;
    if (performance.now() >= this.#end || !this.#counts(call, failure)) return false;
    if (call === null) {
      // Pods that are replaced may be gone before their removal is known, several at a time.
      this.#isUnseen = this.#tries > 1 && this.#refusals < FREE_REFUSALS && wasRefused(failure);
      if (this.#isUnseen) this.#refusals++;
      return this.#allowsOther(endpoint);
    }
    this.#isUnseen = call.retry === "unprocessed" && !this.#isReplayed;
    const isIdempotent = this.#conditions?.anyMethod === true || hasIdempotentMethod(exchange);
    if (!isUnprocessed(call) && !isIdempotent) return false;
    if (!canSendTwice(exchange, replay)) return false;
    if (isBlameless(call) && !this.#isReplayed) return this.#isReplayed = true;
    // It may have crashed, by this very request perhaps: one more is asked, not all of them.
    return this.#allowsOther(endpoint);
  }

  /**
   * Whether the request is sent to another endpoint in place of this response. Then that has been
   * taken from the budget, and `allows` is true.
   */
  declines(
    status: number,
    exchange: Exchange,
    upstream: HttpUpstream,
    { endpoint, replay }: Pick<FailedAttempt, "endpoint" | "replay">,
  ): boolean {
    const conditions = this.#conditions;
    if (conditions === null || !conditions.statuses.has(status)) return false;
    if (performance.now() >= this.#end) return false;
    if (!conditions.anyMethod && !hasIdempotentMethod(exchange)) return false;
    if (!canSendTwice(exchange, replay) || !this.#allowsOther(endpoint)) return false;
    // Without another endpoint, the client gets this response.
    return this.#isDecided = upstream.hasOther(this.#tried ?? []) && upstream.takeRetry();
  }

  /** An attempt begins. */
  begin(): void {
    this.#isDecided = false;
  }

  /** Whether the route's policy has other attempts after such a failure. */
  #counts(call: UpstreamExchange | null, { code }: ProxyError): boolean {
    const conditions = this.#conditions;
    if (conditions === null) return call === null || call.retry !== null;
    if (call === null) return conditions.onError;
    // What an endpoint has not begun with, or closed as idle, is no failure of the request.
    if (call.retry !== null) return conditions.onError || isBlameless(call);
    if (code === "upstream_timeout") return conditions.onTimeout;
    // Within its head: with a whole one, there would be a response that has begun.
    if (code === "upstream_closed") return conditions.onError;
    return code === "upstream_malformed" && conditions.onMalformed;
  }

  #allowsOther(endpoint: HttpEndpoint): boolean {
    const tried = this.#tried ??= [];
    tried.push(endpoint);
    return tried.length - this.#refusals < this.#tries;
  }
}

/** The request's body, kept for another attempt where there may be one; else null. */
export function replayBody(
  exchange: Exchange,
  endpoint: HttpEndpoint,
  { retry }: Pick<RoutePolicy, "retry">,
): ReplayBody | null {
  const { request, payload, body } = exchange;
  if (payload !== null || (body.done && request.bodyLength === 0)) return null;
  // An empty body may end apart from its head, with trailers perhaps: there is nothing to be kept.
  // A backend of HTTP/2 may say that it has not begun with the request, whatever its method.
  const isKept = body.done || endpoint.sharing === true ||
    (retry !== null && (retry.conditions?.anyMethod === true || hasIdempotentMethod(exchange)));
  return isKept ? new ReplayBody(body, retry?.bodyBytes ?? DEFAULT_RETRY_BODY) : null;
}

/** Nothing was sent, as nobody was there; not for want of something here. */
export function isUnreachable(failure: ProxyError | null): boolean {
  return failure?.code === "connect_failed" && !isExhaustion(failure.cause);
}

/** That the request failed says nothing against the endpoint. */
export function isBlameless({ retry }: UpstreamExchange): boolean {
  return retry !== null && retry !== "closed";
}

/** The endpoint's host said at once that nobody listens: the endpoint has seen no request. */
function wasRefused(failure: ProxyError): boolean {
  const { cause } = failure;
  return failure.code === "connect_failed" &&
    (cause instanceof Deno.errors.ConnectionRefused ||
      (cause as { readonly code?: unknown } | null | undefined)?.code === "ECONNREFUSED");
}

/** The backend has not begun with it: it may be sent again, whatever its method. */
function isUnprocessed({ retry }: UpstreamExchange): boolean {
  return retry === "unprocessed" || retry === "refused";
}

function hasIdempotentMethod({ request }: Exchange): boolean {
  return IDEMPOTENT.has(request.method);
}

/** Whether all that has been sent of a request without a response is still there. */
function canSendTwice({ request, payload, body }: Exchange, replay: ReplayBody | null): boolean {
  // Before a tunnel is there, nothing of what is for it has been read.
  if (request.upgrade !== "") return true;
  if (replay !== null) return replay.isWhole;
  return body.done && (payload !== null || request.bodyLength === 0);
}
