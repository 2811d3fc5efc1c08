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

/** An HTTPRoute, with those of its hostnames that it has on no shared listener. */
export interface LapsedRoute {
  readonly route: HttpRouteModel;
  readonly hostnames: readonly string[];
}

type MakeClaimant = (route: HttpRouteModel, hosts: readonly string[]) => HostClaimant;

export class KeptHosts {
  readonly #known = new WeakMap<HttpRouteModel, HostClaimant>();
  #last: readonly HostClaimant[] = [];

  /** @param make Makes the claimant of a route. */
  of(
    lapsed: readonly LapsedRoute[],
    claims: HostClaims | null,
    make: MakeClaimant,
  ): readonly HostClaimant[] {
    const next = claims === null || claims.size === 0 ? [] : lapsed.flatMap((each) => {
      const hosts = claimedHosts(each, claims);
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
}

/** Those that the namespace of the route has claimed. */
function claimedHosts({ route, hostnames }: LapsedRoute, claims: HostClaims): readonly string[] {
  const { namespace } = route.identity.ref;
  return hostnames.filter((hostname) =>
    claims.get(hostname)?.some((one) => one.namespace === namespace) === true
  );
}
