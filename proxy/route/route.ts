/**
 * What a route means to the forwarder. In: nothing. Out: the type that `compile.ts` makes of the
 * routes of a snapshot, one object for all that differ only in their match, id and counters; and the
 * choice among its backends.
 */
import type { ErrorCode } from "../errors.ts";
import type { RouteFilters } from "../filters/registry.ts";
import type { Http1ClientConnection } from "../http1/client_connection.ts";
import type { ClientStream } from "../http2/client_stream.ts";
import type { Endpoint, EndpointRegistry } from "../upstream/endpoint.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { RoutePolicy } from "./policy.ts";

export type HttpEndpoint = Endpoint<Http1ClientConnection, ClientStream>;
export type HttpEndpoints = EndpointRegistry<Http1ClientConnection, ClientStream>;
export type HttpUpstream = Upstream<Http1ClientConnection, ClientStream>;

export type CompiledAction =
  | { readonly kind: "forward"; readonly upstream: HttpUpstream }
  /** Chosen for each request; none of them is split again. */
  | { readonly kind: "split"; readonly backends: Choice<CompiledRoute> }
  | { readonly kind: "reply"; readonly code: ErrorCode; readonly reason: string };

/** Frozen; all have the same fields in the same order, so that reading them stays monomorphic. */
export interface CompiledRoute {
  readonly action: CompiledAction;
  /** The very same object for all routes that say nothing. */
  readonly policy: RoutePolicy;
  readonly filters: RouteFilters;
  /** Whether plain HTTP is redirected to HTTPS; null: as the host's settings have it. */
  readonly httpsRedirect: boolean | null;
}

export interface Choice<T> {
  choose(): T;
}

/** One of its backends, where there are several. */
export function chosen(route: CompiledRoute): CompiledRoute {
  return route.action.kind === "split" ? route.action.backends.choose() : route;
}
