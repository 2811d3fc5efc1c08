/**
 * What is done with every request before its route's filters. In: an exchange, and the policy of its route
 * once that is known. Out: fields for its backend, and what metrics, log and traces need to know of it.
 */
import type { ForwardedFields } from "../http/forwarded_fields.ts";
import { prepareRequest } from "../http/forwarded_headers.ts";
import type { Exchange } from "../http/message.ts";
import type { TrustedProxies } from "../http/trusted_proxies.ts";
import type { RoutePolicy } from "../route/policy.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

export interface PreparationContext {
  readonly trustedProxies: Pick<TrustedProxies, "contains" | "takesRealIp">;
  readonly forwarded: ForwardedFields;
  readonly telemetry: Telemetry;
}

/** Prepares a request that a client has sent; how many of our marks it has already (`loop_mark.ts`). */
export function prepare(exchange: Exchange, context: PreparationContext): number {
  const { trustedProxies, forwarded, telemetry } = context;
  const { isTracing } = telemetry;
  const ownMarks = prepareRequest(exchange, trustedProxies, forwarded, isTracing);
  exchange.record.prepared = true;
  telemetry.metrics.exchangeBegun();
  telemetry.requestPrepared(exchange);
  return ownMarks;
}

/** Has log and traces do as the route says. */
export function observe(
  exchange: Exchange,
  { accessLog, tracing }: RoutePolicy,
  telemetry: Telemetry,
): void {
  if (!accessLog) exchange.record.isLogged = false;
  if (tracing !== null) telemetry.routeTraced(exchange, tracing);
}

/** Whether the body is known to be too large; if not, what comes of it is held to the limit (bytes). */
export function exceeds(exchange: Exchange, limit: number): boolean {
  const { request, payload } = exchange;
  if (Math.max(request.bodyLength, payload?.length ?? 0) > limit) return true;
  exchange.limitBody(limit);
  return false;
}
