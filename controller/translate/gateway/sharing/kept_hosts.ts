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
import { ClaimantsByRoute } from "./claimant.ts";

/** An HTTPRoute, with those of its hostnames that it has on no shared listener. */
export interface LapsedRoute {
  readonly route: HttpRouteModel;
  readonly hostnames: readonly string[];
}

export class KeptHosts {
  readonly #known = new ClaimantsByRoute();
  #last: readonly HostClaimant[] = [];

  of(lapsed: readonly LapsedRoute[], claims: HostClaims | null): readonly HostClaimant[] {
    const next = claims === null || claims.size === 0
      ? []
      : lapsed.flatMap((each) => this.#known.of(each.route, claimedHosts(each, claims)));
    if (!isSameList(this.#last, next)) this.#last = next;
    return this.#last;
  }
}

/** Those that the namespace of the route has claimed. */
function claimedHosts({ route, hostnames }: LapsedRoute, claims: HostClaims): readonly string[] {
  const { namespace } = route.identity.ref;
  return hostnames.filter((hostname) =>
    claims.get(hostname)?.some((one) => one.namespace === namespace) === true
  );
}
