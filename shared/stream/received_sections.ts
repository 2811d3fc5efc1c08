/**
 * What a proxy has been sent, in sections, and how one state of it differs from another. In: units as
 * they were read. Out: their difference, by identity and hash, and what it means for the snapshots
 * that both states make.
 */
import { compareHosts } from "../host/host_order.ts";
import type {
  HostChange,
  PartChanges,
  Rest,
  Route,
  Snapshot,
  SnapshotChange,
} from "../snapshot/types.ts";
import { type OfLists, ofLists, type PartList, type PartOf } from "./part_lists.ts";
import type { RawUnit, ReceivedUnit } from "./received_units.ts";
import {
  differenceOf,
  differenceOfEdits,
  findUnit,
  type KeyOrder,
  ORDER,
  type Unit,
  type UnitDifference,
} from "./unit.ts";

export type ReceivedParts = { readonly [L in PartList]: readonly ReceivedUnit<PartOf<L>>[] };

export interface Sections {
  readonly hosts: readonly ReceivedUnit<readonly Route[]>[];
  readonly parts: ReceivedParts;
  readonly rest: ReceivedUnit<Rest>;
}

/** What differs between two of these. */
export interface Difference {
  readonly hosts: UnitDifference<ReceivedUnit<readonly Route[]>>;
  readonly parts: { readonly [L in PartList]: UnitDifference<ReceivedUnit<PartOf<L>>> };
}

export interface RawMessage {
  readonly hosts: RawUnits;
  readonly parts: OfLists<RawUnits>;
  readonly rest: RawUnit;
}

/** Of one section. */
export interface RawUnits {
  readonly units: readonly RawUnit[];
  /** Keys of those that are gone. */
  readonly removed: readonly string[];
}

export const EMPTY: Sections = {
  hosts: [],
  parts: ofLists(() => []),
  rest: { key: "", hash: "\0".repeat(32), value: null, fault: null },
};

/** Of any two states. */
export function differenceBetween(before: Sections, now: Sections): Difference {
  return {
    hosts: differenceOf(before.hosts, now.hosts, ORDER.host),
    parts: ofLists((list) =>
      differenceOf<ReceivedUnit<unknown>>(before.parts[list], now.parts[list], ORDER.part)
    ) as Difference["parts"],
  };
}

/** The same where `now` has come of `before` by a delta. */
export function differenceOfMessage(before: Sections, now: Sections, raw: RawMessage): Difference {
  const follow = <U extends Unit>(
    before: readonly U[],
    now: readonly U[],
    { units, removed }: RawUnits,
    order: KeyOrder,
  ): UnitDifference<U> => {
    const edited = units.flatMap(({ key }) => findUnit(now, key, order) ?? []);
    return differenceOfEdits(before, edited, removed, order);
  };
  return {
    hosts: follow(before.hosts, now.hosts, raw.hosts, ORDER.host),
    parts: ofLists((list) =>
      follow<ReceivedUnit<unknown>>(
        before.parts[list],
        now.parts[list],
        raw.parts[list],
        ORDER.part,
      )
    ) as Difference["parts"],
  };
}

/** The change of a snapshot that could be used to another one, by the difference of their units. */
export function changeOf(base: Snapshot, { hosts, parts }: Difference): SnapshotChange {
  const before = new Map(hosts.replaced.map(({ key, value }) => [key, value ?? []]));
  const changes: HostChange[] = [
    ...hosts.changed.map(({ key, value }) => ({
      host: key,
      before: before.get(key) ?? [],
      routes: value ?? [],
    })),
    ...hosts.removed.map((host) => ({ host, before: before.get(host) ?? [], routes: [] })),
  ];
  return {
    base,
    hosts: changes.sort((a, b) => compareHosts(a.host, b.host)),
    parts: ofLists((list) => {
      const { changed, replaced, removed } = parts[list];
      return {
        changed: valuesOf<PartOf<PartList>>(changed),
        replaced: valuesOf<PartOf<PartList>>(replaced),
        removed,
      };
    }) as PartChanges,
  };
}

/** Ids of parts that are gone. */
export function goneIds({ parts }: Difference): OfLists<ReadonlySet<string>> {
  return ofLists((list) => new Set(parts[list].removed));
}

/** What was read of units, without those that could not be. */
export function valuesOf<V>(units: readonly ReceivedUnit<V>[]): V[] {
  const values: V[] = [];
  for (const { value } of units) if (value !== null) values.push(value);
  return values;
}

/**
 * The routes after some hosts have changed, at the cost of one copy of the list.
 *
 * @param before In the order of hosts, as is what comes of it.
 * @param changes In that order, too.
 */
export function routesAfter(
  before: readonly Route[],
  changes: readonly HostChange[],
  order: (a: string, b: string) => number,
): readonly Route[] {
  if (changes.length === 0) return before;
  const routes: Route[] = [];
  let at = 0;
  for (const change of changes) {
    const place = placeOf(before, change.host, order, at);
    while (at < place) routes.push(before[at++]);
    at += change.before.length;
    for (const route of change.routes) routes.push(route);
  }
  while (at < before.length) routes.push(before[at++]);
  return routes;
}

/** Index of the first route, from `start` on, whose host does not come before `host`. */
function placeOf(
  routes: readonly Route[],
  host: string,
  order: (a: string, b: string) => number,
  start: number,
): number {
  let low = start;
  let high = routes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (order(routes[middle].host, host) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
