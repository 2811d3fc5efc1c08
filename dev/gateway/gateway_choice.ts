/**
 * Which listener takes a URL. In: a snapshot, a URL, and the Gateway that is asked about, if any. Out: the
 * listener, as the proxy chooses it; or that Ingresses take the URL; or why nothing does. Pure.
 *
 * A URL does not show which Gateway's address it is sent to: where several of them take one, that is taken which
 * has routes for the host, and the others are named. Gateways that share the address of Ingresses are served as
 * these are, on 80 and 443; a URL with another port is for a Gateway that has this port, if there is one.
 */
import { hostPatternTakes } from "../../proxy/router/host.ts";
import { SocketListeners } from "../../proxy/router/socket_listeners.ts";
import { nearestName } from "../../shared/nearest_name.ts";
import type { RequestedUrl } from "../../shared/path/requested_url.ts";
import {
  BUILT_IN_LISTENERS,
  gatewayOf,
  sharedSocketOf,
} from "../../shared/snapshot/listener_id.ts";
import type { Listener, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { isOfGateway, isOfRoute } from "./gateway_routes.ts";

export type GatewayChoice =
  | {
    /** At the address of Ingresses. */
    readonly kind: "ingress";
    readonly others: readonly string[];
    /** Listeners for the host on other ports. */
    readonly elsewhere: readonly Elsewhere[];
  }
  | {
    readonly kind: "listener";
    readonly listener: Listener;
    /** `namespace/name` of the other Gateways that take the URL. */
    readonly others: readonly string[];
    /** Whether Ingresses have routes for it, too. */
    readonly isIngress: boolean;
    readonly elsewhere: readonly Elsewhere[];
  }
  /** Neither a Gateway that is asked about takes it, nor an Ingress. */
  | { readonly kind: "none"; readonly refusals: readonly Refusal[] };

/** Why a Gateway does not take it. */
export interface Refusal {
  /** `namespace/name`. */
  readonly gateway: string;
  /** A clause. */
  readonly reason: string;
}

/** A listener with routes for the host of the URL, and another scheme or port. */
export interface Elsewhere {
  /** `namespace/name`. */
  readonly gateway: string;
  readonly scheme: "http" | "https";
  /** The public one. */
  readonly port: number;
}

/** A listener that takes the URL, and how well: `NAMED` for routes of its host, 1 for those of any, 0 for none. */
interface Taker {
  readonly gateway: string;
  readonly listener: Listener;
  readonly rank: number;
}

/** @param gateway `namespace/name`; null for none in particular. */
export function chooseListener(
  snapshot: Snapshot,
  url: RequestedUrl,
  gateway: string | null,
): GatewayChoice {
  const all = (snapshot.listeners ?? []).filter(({ id }) => !BUILT_IN_LISTENERS.has(id));
  const listeners = all.filter(({ id }) => sharedSocketOf(id) === null);
  const protocol = url.scheme === "https" ? "HTTPS" : "HTTP";
  const fitting = listeners.filter((each) => each.protocol === protocol);
  const printed = fitting.filter(({ socket }) => socket === String(url.port));
  const port = url.port ?? DEFAULT_PORTS[url.scheme];
  const onPort = printed.length > 0 ? printed : fitting.filter((each) => each.port === port);
  const refusalOf = (gateway: string): Refusal => {
    const own = onPort.filter(({ id }) => gatewayOf(id) === gateway);
    return { gateway, reason: whyNone(gateway, own, all, url, port) };
  };
  if (gateway !== null) {
    // It shares its address, and the proxy decides as for any request that comes there.
    const isShared = all.some(({ id }) =>
      gatewayOf(id) === gateway && sharedSocketOf(id) === url.scheme
    );
    if (isShared) return { kind: "ingress", others: [], elsewhere: [] };
    const own = onPort.filter(({ id }) => gatewayOf(id) === gateway);
    const [taker] = takersOf(own, url.host, snapshot.routes);
    return taker === undefined
      ? { kind: "none", refusals: [refusalOf(gateway)] }
      : { kind: "listener", listener: taker.listener, others: [], isIngress: false, elsewhere: [] };
  }
  const takers = takersOf(onPort, url.host, snapshot.routes);
  const [best] = takers;
  const isPortOfGateways = printed.length > 0 ||
    (onPort.length > 0 && !Object.values(DEFAULT_PORTS).includes(port));
  const ofIngresses = isPortOfGateways ? 0 : ingressRank(snapshot, url);
  const others = takers.filter(({ rank }) => rank > 0).map((taker) => taker.gateway);
  const isRefused = isPortOfGateways || (listeners.length > 0 && !hasIngresses(snapshot));
  if (best === undefined && isRefused) {
    const asked = isPortOfGateways ? onPort : listeners;
    const gateways = new Set(asked.map(({ id }) => gatewayOf(id)));
    return { kind: "none", refusals: [...gateways].map(refusalOf) };
  }
  const elsewhere = elsewhereOf(snapshot, all, url, port);
  if (best === undefined || (ofIngresses > 0 && ofIngresses >= best.rank)) {
    return { kind: "ingress", others, elsewhere };
  }
  return {
    kind: "listener",
    listener: best.listener,
    others: others.filter((each) => each !== best.gateway),
    isIngress: ofIngresses > 0,
    elsewhere,
  };
}

/** Of URLs without one, and of the address of Ingresses. */
const DEFAULT_PORTS: Readonly<Record<RequestedUrl["scheme"], number>> = { http: 80, https: 443 };

function elsewhereOf(
  { routes }: Snapshot,
  listeners: readonly Listener[],
  { host, scheme }: RequestedUrl,
  port: number,
): readonly Elsewhere[] {
  const found = listeners.filter(({ id, wildcards }) =>
    rankOf(
      routes.filter((route) => route.listeners?.includes(id) && isOfRoute(route)),
      host,
      wildcards,
    ) === NAMED
  ).map(({ id, protocol, port }): Elsewhere => ({
    gateway: gatewayOf(id),
    scheme: protocol === "HTTPS" ? "https" : "http",
    port,
  })).filter((each) => each.scheme !== scheme || each.port !== port);
  return [...new Map(found.map((each) => [JSON.stringify(each), each])).values()];
}

/** One for each Gateway, those with the most specific routes first. */
function takersOf(
  listeners: readonly Listener[],
  host: string,
  routes: readonly Route[],
): readonly Taker[] {
  const sockets = new SocketListeners();
  sockets.replace(listeners, () => false);
  return [...new Set(listeners.map(({ socket }) => socket))].flatMap((socket): Taker[] => {
    const listener = sockets.find(socket, host);
    if (listener === null) return [];
    const own = routes.filter((route) => route.listeners?.includes(listener.id));
    const rank = rankOf(own, host, listener.wildcards);
    return [{ gateway: gatewayOf(listener.id), listener, rank }];
  }).sort((a, b) => b.rank - a.rank);
}

function hasIngresses({ routes, defaultAction }: Snapshot): boolean {
  return defaultAction !== null || routes.some((route) => !isOfGateway(route));
}

function ingressRank({ routes, defaultAction }: Snapshot, { host }: RequestedUrl): number {
  const rank = rankOf(routes.filter((route) => !isOfGateway(route)), host, "one-label");
  return Math.max(rank, defaultAction === null ? 0 : 1);
}

/** That of routes for the host. */
const NAMED = 2;

function rankOf(
  routes: readonly Route[],
  host: string,
  wildcards: Listener["wildcards"],
): number {
  const patterns = routes.map((route) => route.host)
    .filter((pattern) => hostPatternTakes(pattern, host, wildcards));
  return patterns.some((pattern) => pattern !== "*") ? NAMED : patterns.length > 0 ? 1 : 0;
}

/** A clause. */
function whyNone(
  gateway: string,
  onPort: readonly Listener[],
  listeners: readonly Listener[],
  { scheme, host }: RequestedUrl,
  port: number,
): string {
  const own = listeners.filter(({ id }) => gatewayOf(id) === gateway);
  if (own.length === 0) {
    const near = nearestName(gateway, new Set(listeners.map(({ id }) => gatewayOf(id))));
    return `there is no Gateway ${gateway} with a listener that is served${
      near === null ? "" : `; did you mean ${near}?`
    }`;
  }
  if (onPort.length > 0) {
    const names = onPort.map(({ hostname = "any" }) => hostname).join(", ");
    return `its listeners on port ${port} are for ${names}, not for ${host}`;
  }
  const all = own.map(({ protocol, port }) => `${protocol === "HTTPS" ? "https" : "http"} ${port}`);
  return `it has no listener for ${scheme} on port ${port}: write one of ${
    [...new Set(all)].join(", ")
  }`;
}
