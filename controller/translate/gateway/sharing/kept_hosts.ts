/**
 * Hosts that HTTPRoutes keep while no listener has them. In: HTTPRoutes that name hosts which they have on no
 * shared listener now, and recorded claims. Out: what they claim still; the very same list as before where
 * nothing has changed.
 *
 * A Gateway may be created anew, lose a port, or be refused for a moment, by another namespace than that of the
 * route: a host that was claimed must not go to whoever waits for it until its namespace names it no more.
 */
import { isSameList } from "../../../base/memo.ts";
import type { HostClaims } from "../../hosts/host_claims.ts";
import type { HostClaimant } from "../../hosts/host_owner.ts";
import type { HttpRouteModel } from "../objects/http_route.ts";
import { broaderPatterns, type Hostname } from "../objects/hostname.ts";

/** An HTTPRoute, with those of its hostnames that it has on no shared listener. */
export interface LapsedRoute {
  readonly route: HttpRouteModel;
  /** Null for any host. */
  readonly hostnames: readonly Hostname[];
}

type MakeClaimant = (route: HttpRouteModel, hosts: readonly string[]) => HostClaimant;

export class KeptHosts {
  readonly #known = new WeakMap<HttpRouteModel, HostClaimant>();
  readonly #byNamespace = new WeakMap<HostClaims, ReadonlyMap<string, readonly string[]>>();
  #last: readonly HostClaimant[] = [];

  /** @param make Makes the claimant of a route. */
  of(
    lapsed: readonly LapsedRoute[],
    claims: HostClaims | null,
    make: MakeClaimant,
  ): readonly HostClaimant[] {
    const next: HostClaimant[] = [];
    if (claims !== null && claims.size > 0) {
      const byNamespace = Map.groupBy(lapsed, ({ route }) => route.identity.ref.namespace);
      for (const [namespace, own] of byNamespace) {
        for (const [route, hosts] of keptHosts(own, this.#claimedBy(namespace, claims))) {
          next.push(this.#claimant(route, hosts, make));
        }
      }
    }
    if (!isSameList(this.#last, next)) this.#last = next;
    return this.#last;
  }

  #claimant(route: HttpRouteModel, hosts: readonly string[], make: MakeClaimant): HostClaimant {
    const known = this.#known.get(route);
    if (known !== undefined && isSameList(known.hosts.map(({ host }) => host), hosts)) return known;
    const claimant = make(route, hosts);
    this.#known.set(route, claimant);
    return claimant;
  }

  #claimedBy(namespace: string, claims: HostClaims): readonly string[] {
    let known = this.#byNamespace.get(claims);
    if (known === undefined) {
      const hosts = new Map<string, string[]>();
      for (const [host, list] of claims) {
        for (const one of list) {
          const own = hosts.get(one.namespace);
          if (own === undefined) hosts.set(one.namespace, [host]);
          else own.push(host);
        }
      }
      this.#byNamespace.set(claims, known = hosts);
    }
    return known.get(namespace) ?? [];
  }
}

/**
 * By route. @param claimed By the namespace of the routes. A wildcard or a route for any host keeps what listeners
 * had of it.
 */
function keptHosts(
  lapsed: readonly LapsedRoute[],
  claimed: readonly string[],
): ReadonlyMap<HttpRouteModel, readonly string[]> {
  const kept = new Map<HttpRouteModel, string[]>();
  if (claimed.length === 0) return kept;
  const names = new Map<Hostname, HttpRouteModel>();
  for (const { route, hostnames } of lapsed) {
    for (const hostname of hostnames) if (!names.has(hostname)) names.set(hostname, route);
  }
  for (const host of claimed) {
    const route = routeOf(host, names);
    if (route === undefined) continue;
    const hosts = kept.get(route);
    if (hosts === undefined) kept.set(route, [host]);
    else hosts.push(host);
  }
  return kept;
}

function routeOf(
  host: string,
  names: ReadonlyMap<Hostname, HttpRouteModel>,
): HttpRouteModel | undefined {
  for (const pattern of [host, ...broaderPatterns(host)]) {
    const route = names.get(pattern);
    if (route !== undefined) return route;
  }
  return names.get(null);
}
