/**
 * All objects that name hosts. In: Ingresses, and HTTPRoutes on addresses that Gateways share with them, each
 * the oldest first. Out: one list, the oldest first; the very same as before where both are. And which Ingress
 * serves a host.
 */
import { compareAge } from "../../base/identity.ts";
import { LastResult } from "../../base/memo.ts";
import { isAlike } from "../../kube/likeness.ts";
import { ANY_HOST } from "../model/host.ts";
import type { Source } from "../model/source.ts";
import type { HostClaimant } from "./host_owner.ts";
import type { Ownership } from "./ownership.ts";

interface Lists {
  readonly ingresses: readonly HostClaimant[];
  readonly routes: readonly HostClaimant[];
}

export class ClaimantList {
  readonly #last = new LastResult<Lists, readonly HostClaimant[]>();

  of(
    ingresses: readonly HostClaimant[],
    routes: readonly HostClaimant[],
  ): readonly HostClaimant[] {
    if (routes.length === 0) return ingresses;
    return this.#last.recall((before) =>
      before.ingresses === ingresses && before.routes === routes
    ) ?? this.#last.keep(
      { ingresses, routes },
      [...ingresses, ...routes].sort((a, b) => compareAge(a.identity, b.identity)),
    );
  }
}

/** By host pattern, `*` for any: the label of the first Ingress that serves it. */
export type ServedHosts = ReadonlyMap<string, string>;

interface ServingInputs {
  readonly ingresses: readonly Source[];
  readonly ownership: Ownership;
  readonly hosts: ReadonlySet<string>;
}

export class ServingIngresses {
  readonly #last = new LastResult<ServingInputs, ServedHosts>();

  /**
   * The very same as before where the same hosts are served by the same Ingresses.
   *
   * @param ingresses In the order in which they are served.
   * @param hosts Those that are asked about.
   */
  of(
    ingresses: readonly Source[],
    ownership: Ownership,
    hosts: ReadonlySet<string>,
  ): ServedHosts {
    const inputs = { ingresses, ownership, hosts };
    const before = this.#last.recall((last) =>
      last.ingresses === ingresses && last.ownership === ownership && last.hosts === hosts
    );
    if (before !== null) return before;
    const last = this.#last.last?.result;
    const served = servedHosts(ingresses, ownership, hosts);
    return this.#last.keep(
      inputs,
      last !== undefined && isAlike([...last], [...served]) ? last : served,
    );
  }
}

function servedHosts(
  ingresses: readonly Source[],
  ownership: Ownership,
  asked: ReadonlySet<string>,
): ServedHosts {
  const served = new Map<string, string>();
  for (const { identity, hosts, otherNames, rules, takesAnyHost } of ingresses) {
    const { label, ref: { namespace } } = identity;
    for (const { host } of otherNames.length === 0 ? hosts : [...hosts, ...otherNames]) {
      if (!asked.has(host) || served.has(host)) continue;
      if (ownership.standing(host, namespace) !== "refused") served.set(host, label);
    }
    if (takesAnyHost && !served.has(ANY_HOST) && rules.some(({ host }) => host === ANY_HOST)) {
      served.set(ANY_HOST, label);
    }
  }
  return served;
}
