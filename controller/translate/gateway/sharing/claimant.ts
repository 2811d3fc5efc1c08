/**
 * HTTPRoutes as claimants of hosts. In: a route and the hosts that it claims. Out: the claimant, the very same object
 * as before while neither has changed.
 */
import { isSameList } from "../../../base/memo.ts";
import type { HostClaimant } from "../../hosts/host_owner.ts";
import { isDying } from "../../hosts/namespace_facts.ts";
import type { HttpRouteModel } from "../objects/http_route.ts";

const FIELD = "spec.hostnames";

const NONE: readonly HostClaimant[] = [];

export class ClaimantsByRoute {
  readonly #known = new WeakMap<HttpRouteModel, HostClaimant>();

  /** None without hosts. */
  of(route: HttpRouteModel, hosts: readonly string[]): readonly HostClaimant[] {
    if (hosts.length === 0) return NONE;
    const known = this.#known.get(route);
    if (known !== undefined && isSameList(known.hosts.map(({ host }) => host), hosts)) {
      return [known];
    }
    const claimant = claimantOf(route.identity, hosts, isDying(route.object));
    this.#known.set(route, claimant);
    return [claimant];
  }
}

export function claimantOf(
  identity: HostClaimant["identity"],
  hosts: readonly string[],
  isDying: boolean,
): HostClaimant {
  return {
    ...{ identity, isDying },
    hosts: hosts.map((host) => ({ host, field: FIELD })),
    otherNames: [],
    sharesWith: [],
  };
}
