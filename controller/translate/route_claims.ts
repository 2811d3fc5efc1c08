/**
 * Who has which host and path. In: claims of Ingresses, the oldest Ingress first. Out: one route for
 * each host and path, its first claimant's; and for each host the Ingress that named it first.
 */
import type { Action, PathMatch, Route } from "../../shared/snapshot.ts";
import type { BackendResolver } from "./backend.ts";
import type { BackendRef } from "./backend_ref.ts";
import type { IngressModel } from "./ingress.ts";
import { compareRoutes } from "./route_order.ts";

/** A route, with whose it is. */
export interface Claim {
  readonly route: Route;
  readonly owner: IngressModel;
  readonly backend: BackendRef;
  readonly isServed: boolean;
}

export interface HostOwner {
  readonly owner: IngressModel;
  /** The rule that names the host: `spec.rules[0]`. */
  readonly field: string;
}

export class RouteClaims {
  #backends: BackendResolver;
  /** By route id. */
  #claims = new Map<string, Claim>();
  #hosts = new Map<string, HostOwner>();
  #hostsWithRoutes = new Set<string>();

  constructor(backends: BackendResolver) {
    this.#backends = backends;
  }

  /** Makes `owner` the host's owner, unless an older Ingress is. */
  claimHost(host: string, owner: IngressModel, field: string): void {
    if (!this.#hosts.has(host)) this.#hosts.set(host, { owner, field });
  }

  hostOwner(host: string): IngressModel | null {
    return this.#hosts.get(host)?.owner ?? null;
  }

  /** Who has this host and path, if anyone. */
  find(host: string, match: PathMatch): Claim | null {
    return this.#claims.get(routeId(host, match)) ?? null;
  }

  /** Makes the route for a host and path that nobody has. */
  claim(
    host: string,
    match: PathMatch,
    owner: IngressModel,
    field: string,
    backend: BackendRef,
  ): Claim {
    const resolution = this.#backends.resolve(
      backend,
      owner.identity.ref.namespace,
      owner.report,
    );
    const route = makeRoute(host, match, resolution.action, { owner, field });
    const claim = { route, owner, backend, isServed: resolution.isServed };
    this.#claims.set(route.id, claim);
    this.#hostsWithRoutes.add(host);
    return claim;
  }

  /**
   * The routes in order of precedence. A host that is named, but has no path that can be served,
   * gets `emptyAction`, or a broader host would take its requests.
   */
  routes(emptyAction: Action): Route[] {
    const routes = [...this.#claims.values()].map(({ route }) => route);
    for (const [host, named] of this.#hosts) {
      if (this.#hostsWithRoutes.has(host)) continue;
      routes.push(makeRoute(host, { type: "Prefix", value: "/" }, emptyAction, named));
    }
    return routes.sort(compareRoutes);
  }
}

function makeRoute(host: string, path: PathMatch, action: Action, origin: HostOwner): Route {
  const { kind, namespace, name } = origin.owner.identity.ref;
  return {
    id: routeId(host, path),
    host,
    path,
    action,
    origin: { kind, namespace, name, field: origin.field },
  };
}

function routeId(host: string, path: PathMatch): string {
  return `${host} ${path.type} ${path.value}`;
}
