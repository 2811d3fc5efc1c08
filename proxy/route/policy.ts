/**
 * Time-outs and limits of a route. In: a policy of the snapshot, and the limits of the process. Out:
 * all of them, where the policy says nothing those of the process.
 */
import type { Policy } from "../../shared/snapshot/types.ts";
import type { HttpsUrlStyle } from "../http/https_location.ts";
import type { Limits, Timeouts } from "../http/limits.ts";
import type { RouteTracing } from "../http/message.ts";

export interface RoutePolicy {
  readonly timeouts: Timeouts;
  /** Endpoints tried for one request, the first included. */
  readonly tries: number;
  /** Of a request's body, in bytes; 0 for no limit. */
  readonly bodyLimit: number;
  /** Null for a route that says nothing: then there is no state before a first attempt has failed. */
  readonly retry: RetryPolicy | null;
  /** Of a request's body that is read before an endpoint is chosen, in bytes; 0 for none. */
  readonly requestBuffer: number;
  /** Connections of HTTP/1.1 serve other requests after this one. */
  readonly upstreamKeepAlive: boolean;
  readonly accessLog: boolean;
  /** Null: as the process says. */
  readonly tracing: RouteTracing | null;
  /** Null: as the settings of the host say. */
  readonly httpsRedirect: HttpsRedirectPolicy | null;
}

/** How plain HTTP is redirected to HTTPS. */
export interface HttpsRedirectPolicy extends HttpsUrlStyle {
  /** Null: as the settings of the host say. */
  readonly when: "never" | "certificate" | "tls" | "always" | null;
}

/** When a request is sent again, and for how long. */
export interface RetryPolicy {
  /** Null: as routes without a policy. */
  readonly conditions: RetryConditions | null;
  /** Of all attempts together, in ms; 0 for none. */
  readonly timeout: number;
  /** Of a request's body that is kept, in bytes. */
  readonly bodyBytes: number;
}

export interface RetryConditions {
  readonly onError: boolean;
  readonly onTimeout: boolean;
  readonly onMalformed: boolean;
  readonly statuses: ReadonlySet<number>;
  /** Whether a request may be sent twice whose method is not idempotent. */
  readonly anyMethod: boolean;
}

/** What is kept of a body where its route does not say, in bytes: little of it has been sent mostly. */
export const DEFAULT_RETRY_BODY = 16 * 1024;

/** @param policy null for a route that has none. */
export function compilePolicy(policy: Policy | null, limits: Limits): RoutePolicy {
  const { connect, send, responseHead, responseBody, tunnelIdle } = policy?.timeouts ?? {};
  return Object.freeze({
    timeouts: Object.freeze({
      connectTimeout: connect ?? limits.connectTimeout,
      writeTimeout: send ?? limits.writeTimeout,
      responseHeadTimeout: responseHead ?? limits.responseHeadTimeout,
      responseBodyTimeout: responseBody ?? limits.responseBodyTimeout,
      tunnelIdleTimeout: tunnelIdle ?? limits.tunnelIdleTimeout,
    }),
    tries: policy?.tries ?? limits.tries,
    bodyLimit: lowerLimit(policy?.bodyLimit ?? 0, limits.bodyBytes),
    retry: policy?.retry === undefined ? null : compileRetry(policy.retry),
    requestBuffer: policy?.requestBuffer ?? 0,
    upstreamKeepAlive: policy?.upstreamKeepAlive ?? true,
    accessLog: policy?.accessLog ?? true,
    tracing: compileTracing(policy?.tracing),
    httpsRedirect: compileHttpsRedirect(policy?.httpsRedirect),
  });
}

/**
 * The policy of a route whose requests have a time of their own, in ms: they may wait for the backend
 * for all of it, and the filter ends them after it. Connections to the backend are still given up
 * early, as another endpoint may accept one.
 */
export function withTime(policy: RoutePolicy, time: number): RoutePolicy {
  const { writeTimeout, responseHeadTimeout, responseBodyTimeout } = policy.timeouts;
  return Object.freeze({
    ...policy,
    timeouts: Object.freeze({
      ...policy.timeouts,
      writeTimeout: Math.max(writeTimeout, time),
      responseHeadTimeout: Math.max(responseHeadTimeout, time),
      responseBodyTimeout: Math.max(responseBodyTimeout, time),
    }),
  });
}

function compileHttpsRedirect(settings: Policy["httpsRedirect"]): HttpsRedirectPolicy | null {
  if (settings === undefined) return null;
  const { when = null, port = false, cutsSlash = false } = settings;
  return Object.freeze({ when, port, cutsSlash });
}

function compileTracing(settings: Policy["tracing"]): RouteTracing | null {
  if (settings === undefined) return null;
  const { enabled = true, name = "", trust = null } = settings;
  return Object.freeze({ isTraced: enabled, name, trust });
}

function compileRetry({ on, timeout, bodyBytes }: NonNullable<Policy["retry"]>): RetryPolicy {
  return Object.freeze({
    conditions: on === undefined ? null : Object.freeze({
      onError: on.includes("error"),
      onTimeout: on.includes("timeout"),
      onMalformed: on.includes("malformed"),
      statuses: new Set(on.map(Number).filter((status) => !Number.isNaN(status))),
      anyMethod: on.includes("non-idempotent"),
    }),
    timeout: timeout ?? 0,
    bodyBytes: bodyBytes ?? DEFAULT_RETRY_BODY,
  });
}

/** Of two limits, 0 being none: who writes routes may not lift the limit of who runs the proxy. */
function lowerLimit(a: number, b: number): number {
  if (a === 0) return b;
  return b === 0 ? a : Math.min(a, b);
}
