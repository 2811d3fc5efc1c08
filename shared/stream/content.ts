/**
 * What a snapshot says, apart from its version, in units that can be sent and compared. In: a
 * snapshot, and the content of the one before. Out: the units and the hash of all. What did not
 * change is known by its identity and is neither written nor hashed again.
 *
 * No private key is in it but inside of a `Secret`: texts with keys are made where they are sent.
 */
import type { Route, Snapshot, SnapshotVersion } from "../snapshot/types.ts";
import { restText, routeText } from "../snapshot/serialise.ts";
import { ofLists, PART_LIST, PART_LISTS, type PartList, type PartOf } from "./part_lists.ts";
import {
  differenceOf,
  HashSum,
  inOrder,
  type KeyOrder,
  ORDER,
  repeatedKey,
  type Unit,
  unitHash,
} from "./unit.ts";

/** A host with all of its routes, in order. */
export interface HostUnit extends Unit {
  readonly part: readonly Route[];
}

/** A part that has an id. */
export interface PartUnit<T> extends Unit {
  readonly part: T;
}

export type PartUnits = { readonly [L in PartList]: readonly PartUnit<PartOf<L>>[] };

interface Sections {
  readonly hosts: readonly HostUnit[];
  readonly parts: PartUnits;
  readonly rest: Unit;
}

/** The content of one snapshot. Immutable. */
export class Content implements Sections {
  readonly snapshot: Snapshot;
  /** In hex. The same for the same content under whatever version. */
  readonly hash: string;
  /** Each section in the order of its keys (`unit.ts`). */
  readonly hosts: readonly HostUnit[];
  readonly parts: PartUnits;
  readonly rest: Unit;
  readonly #sum: HashSum;

  private constructor(snapshot: Snapshot, sections: Sections, sum: HashSum) {
    this.snapshot = snapshot;
    this.hosts = sections.hosts;
    this.parts = sections.parts;
    this.rest = sections.rest;
    this.#sum = sum;
    this.hash = sum.toHex();
  }

  get version(): SnapshotVersion {
    return this.snapshot.version;
  }

  /** A sum of its own that begins with this content's. */
  sum(): HashSum {
    return new HashSum(this.#sum);
  }

  /**
   * @param before Of a snapshot some of whose routes, upstreams and certificates are the very same
   *   objects.
   * @throws Error where two parts of a list have one id: no translation makes those,
   *   and no reader lets them pass.
   */
  static of(snapshot: Snapshot, before?: Content): Content {
    const sections: Sections = {
      hosts: before !== undefined && before.snapshot.routes === snapshot.routes
        ? before.hosts
        : unitsOf(
          hostsOf(snapshot.routes, before?.hosts),
          before?.hosts,
          ORDER.host,
          (host, routes) => unitHash("host", host, hostText(host, routes)),
        ),
      parts: ofLists((list) => partUnits(list, snapshot, before)) as PartUnits,
      rest: { key: "", hash: unitHash("rest", "", restText(snapshot)) },
    };
    return new Content(snapshot, sections, sumOf(sections, before));
  }
}

function partUnits(list: PartList, snapshot: Snapshot, before: Content | undefined) {
  const { section, text, hashed = text } = PART_LIST[list];
  const parts: readonly { readonly id: string }[] = snapshot[list] ?? [];
  if (before !== undefined && (before.snapshot[list] ?? []) === parts) return before.parts[list];
  const known: readonly PartUnit<{ readonly id: string }>[] | undefined = before?.parts[list];
  return unitsOf(
    parts.map(byId),
    known,
    ORDER.part,
    (id, part) => unitHash(section, id, hashed(part as never)),
  );
}

/** A host as it is sent, and as it is hashed. */
export function hostText(host: string, routes: readonly Route[]): string {
  return `{"host":${JSON.stringify(host)},"routes":[${routes.map(routeText).join(",")}]}`;
}

interface Keyed<T> {
  readonly key: string;
  readonly part: T;
}

function byId<T extends { readonly id: string }>(part: T): Keyed<T> {
  return { key: part.id, part };
}

/** The routes of each host, which stand together in all that a controller has made. */
function hostsOf(
  routes: readonly Route[],
  before: readonly HostUnit[] = [],
): readonly Keyed<readonly Route[]>[] {
  const hosts: Keyed<readonly Route[]>[] = [];
  let isOrdered = true;
  let at = 0;
  let start = 0;
  while (start < routes.length) {
    const { host } = routes[start];
    let end = start + 1;
    while (end < routes.length && routes[end].host === host) end++;
    if (end < routes.length && ORDER.host(host, routes[end].host) > 0) isOrdered = false;
    at = placeFrom(before, host, ORDER.host, at);
    const known = before[at];
    hosts.push(
      known?.key === host && isRun(known.part, routes, start, end)
        ? known
        : { key: host, part: routes.slice(start, end) },
    );
    start = end;
  }
  if (isOrdered) return hosts;
  return [...Map.groupBy(routes, ({ host }) => host)]
    .map(([key, part]) => ({ key, part }))
    .sort((a, b) => ORDER.host(a.key, b.key));
}

/** Whether a list is the very same routes as those from `start` up to `end`. */
function isRun(list: readonly Route[], routes: readonly Route[], start: number, end: number) {
  return list.length === end - start && list.every((route, i) => route === routes[start + i]);
}

/** Index of the first unit from `at` on that does not come before `key`. */
function placeFrom(units: readonly Unit[], key: string, order: KeyOrder, at: number): number {
  let place = at;
  while (place < units.length && units[place].key !== key && order(units[place].key, key) < 0) {
    place++;
  }
  return place;
}

/** Units of parts, those of `before` wherever the part is the same. */
function unitsOf<T>(
  parts: readonly Keyed<T>[],
  before: readonly PartUnit<T>[] = [],
  order: KeyOrder,
  hashOf: (key: string, part: T) => string,
): readonly PartUnit<T>[] {
  let at = 0;
  const units = parts.map(({ key, part }): PartUnit<T> => {
    at = placeFrom(before, key, order, at);
    const known = before[at];
    if (known?.key === key && known.part === part) return known;
    return { key, part, hash: hashOf(key, part) };
  });
  const ordered = inOrder(units, order);
  const repeated = repeatedKey(ordered, order);
  if (repeated !== null) throw new Error(`two parts of a snapshot have the id ${repeated}`);
  return ordered;
}

function sumOf(now: Sections, before: Content | undefined): HashSum {
  const sum = before?.sum() ?? new HashSum();
  const follow = (before: readonly Unit[] = [], units: readonly Unit[], order: KeyOrder) => {
    const { changed, replaced } = differenceOf(before, units, order);
    sum.toggleAll(replaced);
    sum.toggleAll(changed);
  };
  follow(before?.hosts, now.hosts, ORDER.host);
  for (const list of PART_LISTS) follow(before?.parts[list], now.parts[list], ORDER.part);
  if (before !== undefined) sum.toggle(before.rest);
  sum.toggle(now.rest);
  return sum;
}
