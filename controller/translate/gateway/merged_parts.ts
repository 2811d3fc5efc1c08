/**
 * Parts of Ingresses and of Gateway API in one snapshot. In: the lists of both, each in its order. Out: one
 * list of each kind in that order; the very same as before where both are.
 *
 * Routes of both on one host are on different listeners, so their order among each other says nothing.
 */
import type { FilterSet, Route, Snapshot } from "../../../shared/snapshot/types.ts";
import { LastResult } from "../../base/memo.ts";
import { compareText } from "../../base/text_order.ts";
import { mergeRoutes } from "../routes/route_order.ts";
import type { GatewayParts } from "./gateway_translation.ts";

const NO_SETS: readonly FilterSet[] = [];

type Lists<T> = readonly [ofIngresses: readonly T[], ofGateways: readonly T[]];

export class MergedParts {
  readonly #routes = new LastResult<Lists<Route>, readonly Route[]>();
  readonly #filterSets = new LastResult<Lists<FilterSet>, readonly FilterSet[]>();

  /** As fields of a snapshot, without empty lists but for routes. */
  of(
    routes: readonly Route[],
    { filterSets = NO_SETS, policies }: Pick<Snapshot, "filterSets" | "policies">,
    parts: GatewayParts,
  ): Pick<Snapshot, "routes" | "listeners" | "filterSets" | "policies"> {
    const sets = merged(this.#filterSets, [filterSets, parts.filterSets], mergeSets);
    return {
      routes: merged(
        this.#routes,
        [routes, parts.routes],
        ([own, theirs]) => mergeRoutes(own, theirs),
      ),
      ...(parts.listeners.length === 0 ? {} : { listeners: parts.listeners }),
      ...(sets.length === 0 ? {} : { filterSets: sets }),
      ...(policies === undefined ? {} : { policies }),
    };
  }
}

function merged<T>(
  last: LastResult<Lists<T>, readonly T[]>,
  lists: Lists<T>,
  merge: (lists: Lists<T>) => readonly T[],
): readonly T[] {
  if (lists[1].length === 0) return lists[0];
  return last.recall((before) => before[0] === lists[0] && before[1] === lists[1]) ??
    last.keep(lists, merge(lists));
}

/** By id, each once. */
function mergeSets([ofIngresses, ofGateways]: Lists<FilterSet>): readonly FilterSet[] {
  const byId = new Map([...ofGateways, ...ofIngresses].map((set) => [set.id, set]));
  return [...byId.values()].sort((a, b) => compareText(a.id, b.id));
}
