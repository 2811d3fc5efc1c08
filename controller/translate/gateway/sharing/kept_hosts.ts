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
import { covers, type Hostname } from "../objects/hostname.ts";

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
    const next = claims === null || claims.size === 0 ? [] : lapsed.flatMap((each) => {
      const hosts = this.#hostsOf(each, claims);
      return hosts.length === 0 ? [] : this.#claimant(each.route, hosts, make);
    });
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

  /** Those that the route names and its namespace has claimed. */
  #hostsOf({ route, hostnames }: LapsedRoute, claims: HostClaims): readonly string[] {
    const { namespace } = route.identity.ref;
    const hosts = new Set<string>();
    for (const hostname of hostnames) {
      if (hostname !== null) {
        const isClaimed = claims.get(hostname)?.some((one) => one.namespace === namespace);
        if (isClaimed === true) hosts.add(hostname);
        if (!hostname.startsWith("*.")) continue;
      }
      // Listeners had a part of what the hostname stands for.
      for (const host of this.#claimedBy(namespace, claims)) {
        if (hostname === null || covers(hostname, host)) hosts.add(host);
      }
    }
    return [...hosts];
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
