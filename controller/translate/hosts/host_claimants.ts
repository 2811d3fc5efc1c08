/**
 * All objects that name hosts. In: Ingresses, and HTTPRoutes on addresses that Gateways share with them, each
 * the oldest first. Out: one list, the oldest first; the very same as before where both are. And which Ingress
 * serves a host, and whose claims hold while some objects are not known.
 */
import { formatObject } from "../../../shared/problem.ts";
import type { HostSettings, Route } from "../../../shared/snapshot/types.ts";
import { compareAge } from "../../base/identity.ts";
import { LastResult } from "../../base/memo.ts";
import { isAlike } from "../../kube/likeness.ts";
import { INGRESSES } from "../../kube/types.ts";
import type { HostClaims } from "./host_claims.ts";
import type { HostClaimant } from "./host_owner.ts";

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

/** Routes of Ingresses in order of precedence, and the aliases of their hosts. */
interface ServedRouting {
  readonly routes: readonly Route[];
  readonly aliases: readonly HostSettings[];
}

interface ServingInputs extends ServedRouting {
  readonly hosts: ReadonlySet<string>;
}

export class ServingIngresses {
  readonly #last = new LastResult<ServingInputs, ServedHosts>();

  /**
   * The very same as before where the same hosts are served by the same Ingresses.
   *
   * @param hosts Those that are asked about.
   */
  of({ routes, aliases }: ServedRouting, hosts: ReadonlySet<string>): ServedHosts {
    const before = this.#last.recall((last) =>
      last.routes === routes && last.aliases === aliases && last.hosts === hosts
    );
    if (before !== null) return before;
    const last = this.#last.last?.result;
    const served = servedHosts({ routes, aliases }, hosts);
    return this.#last.keep(
      { routes, aliases, hosts },
      last !== undefined && isAlike([...last], [...served]) ? last : served,
    );
  }
}

function servedHosts({ routes, aliases }: ServedRouting, asked: ReadonlySet<string>): ServedHosts {
  const served = new Map<string, string>();
  if (asked.size === 0) return served;
  const aliasesOf = Map.groupBy(
    aliases.filter(({ id }) => asked.has(id)),
    ({ aliasOf }) => aliasOf,
  );
  for (const { host, origin: { kind, namespace, name } } of routes) {
    const names = [host, ...aliasesOf.get(host)?.map(({ id }) => id) ?? []];
    for (const each of kind === INGRESSES.kind ? names : []) {
      if (!asked.has(each) || served.has(each)) continue;
      served.set(each, formatObject({ kind, namespace, name }));
    }
  }
  return served;
}

interface KeptInputs {
  readonly namespaces: ReadonlySet<string>;
  readonly claims: HostClaims | null;
}

/** Namespaces whose recorded claims hold, whatever objects of theirs are known. */
export class KeptClaims {
  readonly #last = new LastResult<KeptInputs, ReadonlySet<string>>();

  /** @param claims While objects that may be behind them are not known yet; null where all are. */
  of(namespaces: ReadonlySet<string>, claims: HostClaims | null): ReadonlySet<string> {
    if (claims === null) return namespaces;
    return this.#last.recall((last) => last.namespaces === namespaces && last.claims === claims) ??
      this.#last.keep(
        { namespaces, claims },
        namespaces.union(
          new Set([...claims.values()].flatMap((list) => list.map(({ namespace }) => namespace))),
        ),
      );
  }
}
