/**
 * Time-outs and limits of a route. In: a policy of the snapshot, and the limits of the process. Out:
 * all of them, where the policy says nothing those of the process.
 */
import type { Policy } from "../../shared/snapshot/types.ts";
import type { Limits, Timeouts } from "../http/limits.ts";

export interface RoutePolicy {
  readonly timeouts: Timeouts;
  /** Endpoints tried for one request, the first included. */
  readonly tries: number;
  /** Of a request's body, in bytes; 0 for no limit. */
  readonly bodyLimit: number;
}

/** @param policy null for a route that has none. */
export function compilePolicy(policy: Policy | null, limits: Limits): RoutePolicy {
  const { connect, responseHead, responseBody } = policy?.timeouts ?? {};
  return Object.freeze({
    timeouts: Object.freeze({
      connectTimeout: connect ?? limits.connectTimeout,
      responseHeadTimeout: responseHead ?? limits.responseHeadTimeout,
      responseBodyTimeout: responseBody ?? limits.responseBodyTimeout,
    }),
    tries: policy?.tries ?? limits.tries,
    bodyLimit: policy?.bodyLimit ?? limits.bodyBytes,
  });
}
