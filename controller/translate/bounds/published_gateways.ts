/**
 * What was published of Gateway API. In: snapshots as they are published, one after another. Out: a snapshot with
 * the listeners and routes of Gateways and what these refer to; the very same as before where they are the same,
 * so that nothing that is made of them is made anew for a change of Ingresses or endpoints.
 */
import type { Certificate, Snapshot } from "../../../shared/snapshot/types.ts";
import { isSameList, LastResult } from "../../base/memo.ts";
import { isAlike } from "../../kube/likeness.ts";
import { EMPTY_SNAPSHOT } from "./cluster_sizes.ts";

export class PublishedGateways {
  readonly #last = new LastResult<Snapshot, Snapshot | null>();

  /** Null where nothing was published. */
  of(published: Snapshot | null): Snapshot | null {
    if (published === null) return null;
    const known = this.#last.recall((last) => last === published);
    if (known !== null) return known;
    const before = this.#last.last?.result ?? null;
    const now = gatewaysOf(published);
    return this.#last.keep(published, before !== null && isSame(before, now) ? before : now);
  }
}

function gatewaysOf({ routes, listeners = [], filterSets = [], certificates }: Snapshot): Snapshot {
  const own = routes.filter((route) => route.listeners !== undefined);
  const sets = new Set(own.map(({ filterSet }) => filterSet));
  const shown = new Set(listeners.flatMap((listener) => listener.certificates ?? []));
  return {
    ...EMPTY_SNAPSHOT,
    listeners,
    routes: own,
    filterSets: filterSets.filter(({ id }) => sets.has(id)),
    certificates: certificates.filter(({ id }) => shown.has(id)),
  };
}

function isSame(a: Snapshot, b: Snapshot): boolean {
  // Not by identity alone: another replica reads them from what is published.
  return isAlike(a.routes, b.routes) && isAlike(a.listeners, b.listeners) &&
    isAlike(a.filterSets, b.filterSets) && isSameShown(a.certificates, b.certificates);
}

/** Their ids are made of the Secret's name and all that is in it. */
function isSameShown(a: readonly Certificate[], b: readonly Certificate[]): boolean {
  return isSameList(a.map(({ id }) => id), b.map(({ id }) => id));
}
