/**
 * The routes of the last content that could be used. In: the hosts and upstreams of the next one.
 * Out: why its routes cannot be used, at the cost of a look at what has changed alone.
 */
import { describe } from "../snapshot/config_check.ts";
import type { Route } from "../snapshot/types.ts";
import type { ReceivedUnit } from "./received_units.ts";
import { differenceOf, findUnit, ORDER, type Unit } from "./unit.ts";

type HostUnits = readonly ReceivedUnit<readonly Route[]>[];

export class SoundRoutes {
  #hosts: HostUnits = [];
  #upstreams: readonly Unit[] = [];
  /** Of all routes of those hosts. */
  readonly #ids = new Set<string>();

  /**
   * Two routes of one id, or one to an upstream that does not exist; null where there is nothing of
   * that kind, and then these are the ones that the next are compared with. Both lists are in order.
   */
  take(hosts: HostUnits, upstreams: readonly Unit[]): string | null {
    const { changed, replaced } = hosts === this.#hosts
      ? { changed: [], replaced: [] }
      : differenceOf(this.#hosts, hosts, ORDER.host);
    const gone = new Set(idsOf(replaced));
    const come = new Set<string>();
    for (const id of idsOf(changed)) {
      if (come.has(id) || (this.#ids.has(id) && !gone.has(id))) {
        return `two routes have the id ${describe(id)}`;
      }
      come.add(id);
    }
    // Where the same upstreams are there, what has not changed still has its own.
    const stray = isSameKeys(upstreams, this.#upstreams)
      ? strayRoute(changed, (id) => findUnit(upstreams, id, ORDER.upstream) !== undefined)
      : strayRoute(hosts, isIn(new Set(upstreams.map(({ key }) => key))));
    if (stray !== null) return stray;
    for (const id of gone) this.#ids.delete(id);
    for (const id of come) this.#ids.add(id);
    this.#hosts = hosts;
    this.#upstreams = upstreams;
    return null;
  }
}

function* idsOf(hosts: HostUnits): Generator<string> {
  for (const { value } of hosts) for (const { id } of value ?? []) yield id;
}

/** Why one of the routes is for an upstream that does not exist; null where none is. */
function strayRoute(hosts: HostUnits, exists: (upstream: string) => boolean): string | null {
  for (const { value } of hosts) {
    for (const { id, action } of value ?? []) {
      if (action.kind !== "forward" || exists(action.upstream)) continue;
      const upstream = describe(action.upstream);
      return `route ${describe(id)}, action.upstream: ${upstream} is the id of no upstream`;
    }
  }
  return null;
}

function isIn(ids: ReadonlySet<string>): (id: string) => boolean {
  return (id) => ids.has(id);
}

function isSameKeys(a: readonly Unit[], b: readonly Unit[]): boolean {
  return a === b || (a.length === b.length && a.every(({ key }, i) => key === b[i].key));
}
