/**
 * What has series of its own. In: routes and upstreams that come and go with each snapshot. Out: the
 * labels of the series that each counts in, the slots of these, and what workers must know of it.
 *
 * By default a route counts for its host, so that the number of series does not grow with paths;
 * `--metrics-by=route` gives each route its own. Upstreams count for their Service.
 */
import { backendNameOf, upstreamsOf } from "../../shared/snapshot/forward_action.ts";
import type { Endpoint, HostChange, Route, Upstream } from "../../shared/snapshot/types.ts";
import { EndpointCounts } from "./endpoint_counts.ts";
import { labelsText } from "./exposition.ts";
import type { SeriesBy, SeriesOptions } from "./series_options.ts";
import { OTHER_SLOT, RESERVED_SLOTS, SeriesSlots, type SlotChange } from "./series_slots.ts";

/** Which of the members (routes, or upstreams) count in which series. */
class Members {
  readonly slots: SeriesSlots;
  /** By id. */
  readonly #labels = new Map<string, string>();

  constructor({ limit }: SeriesOptions, now: () => number) {
    this.slots = new SeriesSlots(now, limit);
  }

  labelsOf(id: string): string | undefined {
    return this.#labels.get(id);
  }

  /** Id and slot of each. */
  *entries(): Generator<readonly [string, number]> {
    for (const [id, labels] of this.#labels) yield [id, this.slots.slotOf(labels)];
  }

  /** Labels and slot of each series with a slot of its own. */
  *owners(): Generator<readonly [string, number]> {
    for (const entry of this.slots.entries()) if (entry[1] !== OTHER_SLOT) yield entry;
  }

  /**
   * Takes members that are there now, by id with their labels, and ids of those that were; some may be
   * in both. `emptied` are series that may have lost their last member.
   */
  update(
    now: ReadonlyMap<string, string>,
    before: readonly string[],
    emptied: Iterable<string>,
    onReuse: (slot: number) => void,
  ): SlotChange {
    const moved: string[] = [];
    const removed: string[] = [];
    for (const id of before) {
      const labels = now.get(id);
      if (labels !== undefined && labels === this.#labels.get(id)) continue;
      this.#labels.delete(id);
      removed.push(id);
    }
    for (const [id, labels] of now) {
      if (this.#labels.has(id)) continue;
      this.#labels.set(id, labels);
      moved.push(id);
    }
    const { fresh, promoted } = this.slots.update(new Set(now.values()), emptied, onReuse);
    const added = new Set(moved);
    for (const [id, labels] of now) if (fresh.has(labels)) added.add(id);
    // Only where there is more than the limit.
    if (promoted.size > 0) {
      for (const [id, labels] of this.#labels) if (promoted.has(labels)) added.add(id);
    }
    const slotOf = (id: string) => this.slots.slotOf(this.#labels.get(id)!);
    return { added: [...added].map((id) => [id, slotOf(id)] as const), removed };
  }
}

/** Of hosts, or of routes. */
export class RouteSeries {
  readonly by: SeriesBy;
  readonly #members: Members;
  /** Labels of `pingress_route_info` by those of the series; none where these are of hosts. */
  readonly #info = new Map<string, string>();

  constructor(options: SeriesOptions, now: () => number) {
    this.by = options.by;
    this.#members = new Members(options, now);
  }

  get slots(): SeriesSlots {
    return this.#members.slots;
  }

  /** Id and slot of each route. */
  routes(): Iterable<readonly [string, number]> {
    return this.#members.entries();
  }

  /** Takes a change of hosts in. `onReuse` as in `SeriesSlots.update`. */
  update(hosts: readonly HostChange[], onReuse: (slot: number) => void): SlotChange {
    const now = new Map<string, string>();
    const before: string[] = [];
    const emptied = new Set<string>();
    for (const host of hosts) {
      for (const { id } of host.before) {
        const labels = this.#members.labelsOf(id);
        before.push(id);
        if (labels === undefined) continue;
        emptied.add(labels);
        this.#info.delete(labels);
      }
    }
    for (const { routes } of hosts) {
      /** Of a host, by namespace: one text for all of its routes. */
      const texts = new Map<string, string>();
      for (const route of routes) {
        const { namespace } = route.origin;
        const labels = this.by === "route" ? labelsOf(route) : texts.get(namespace) ??
          labelsText({ namespace, host: apart(namespace, route.host) });
        texts.set(namespace, labels);
        now.set(route.id, labels);
        if (this.by === "route") this.#info.set(labels, infoOf(labels, route));
      }
    }
    return this.#members.update(now, before, emptied, onReuse);
  }

  /** Labels and slot: the reserved ones, then each series with a slot of its own. */
  *entries(): Generator<readonly [string, number]> {
    for (const [slot, name] of RESERVED_SLOTS.entries()) yield [this.#reserved(name), slot];
    yield* this.#members.owners();
  }

  /** Labels of `pingress_route_info`, of routes that have series of their own. */
  *info(): Generator<string> {
    for (const [labels] of this.#members.owners()) {
      const info = this.#info.get(labels);
      if (info !== undefined) yield info;
    }
  }

  #reserved(name: string): string {
    return labelsText(
      this.by === "host" ? { namespace: "", host: name } : { namespace: "", host: "", route: name },
    );
  }
}

/** Of Services. */
export class ServiceSeries {
  readonly #members: Members;
  /** How many upstreams each has, by labels. */
  readonly #counts = new Map<string, number>();

  constructor(options: SeriesOptions, now: () => number) {
    this.#members = new Members(options, now);
  }

  get slots(): SeriesSlots {
    return this.#members.slots;
  }

  /** Id and slot of each upstream. */
  upstreams(): Iterable<readonly [string, number]> {
    return this.#members.entries();
  }

  /** @param removed ids. */
  update(
    changed: readonly Pick<Upstream, "id">[],
    removed: readonly string[],
    onReuse: (slot: number) => void,
  ): SlotChange {
    const now = new Map<string, string>();
    for (const { id } of changed) {
      if (this.#members.labelsOf(id) !== undefined) continue;
      const labels = serviceLabels(id);
      now.set(id, labels);
      this.#counts.set(labels, (this.#counts.get(labels) ?? 0) + 1);
    }
    const emptied: string[] = [];
    const gone = removed.filter((id) => this.#members.labelsOf(id) !== undefined);
    for (const id of gone) {
      const labels = serviceLabels(id);
      const left = this.#counts.get(labels)! - 1;
      this.#counts.set(labels, left);
      if (left > 0) continue;
      this.#counts.delete(labels);
      emptied.push(labels);
    }
    return this.#members.update(now, gone, emptied, onReuse);
  }

  /** Labels and slot: what is beyond the limit, then each Service with a slot of its own. */
  *entries(): Generator<readonly [string, number]> {
    yield [OTHER_SERVICE, OTHER_SLOT];
    yield* this.#members.owners();
  }

  /** How many different endpoints each Service has; none of names that are resolved. */
  endpointCounts(upstreams: readonly Upstream[]): EndpointCounts {
    const lists = new Map<string, (readonly Endpoint[])[]>();
    for (const { id, addresses } of upstreams) {
      if (addresses.kind === "dns") continue;
      const labels = this.#ownLabels(id);
      const own = lists.get(labels);
      if (own === undefined) lists.set(labels, [addresses.endpoints]);
      else own.push(addresses.endpoints);
    }
    return new EndpointCounts(lists);
  }

  #ownLabels(upstream: string): string {
    const labels = this.#members.labelsOf(upstream);
    return labels === undefined || this.slots.slotOf(labels) === OTHER_SLOT
      ? OTHER_SERVICE
      : labels;
  }
}

const OTHER_SERVICE = labelsText({ namespace: "", service: RESERVED_SLOTS[OTHER_SLOT] });

function labelsOf({ id, host, origin: { namespace } }: Route): string {
  return labelsText({ namespace, host, route: id });
}

function serviceLabels(upstream: string): string {
  const { namespace, name } = backendNameOf(upstream);
  return labelsText({ namespace, service: apart(namespace, name) });
}

/** A name without a namespace, as in a file, that is one of the words: it has a series of its own. */
function apart(namespace: string, name: string): string {
  const isWord = namespace === "" && (RESERVED_SLOTS as readonly string[]).includes(name);
  return isWord ? `${name}.` : name;
}

/** @param labels of the series. */
function infoOf(labels: string, { action, origin: { kind, name } }: Route): string {
  const services = upstreamsOf(action).map((id) => backendNameOf(id).name);
  return `${labels},${labelsText({ kind, name, service: [...new Set(services)].join() })}`;
}
