/**
 * The routes of the last content that could be used. In: the hosts of the next one, and which parts
 * there are. Out: why its routes cannot be used, at the cost of a look at what has changed alone.
 */
import { describe } from "../snapshot/config_check.ts";
import { type KnownIds, strayReference } from "../snapshot/references.ts";
import type { Route } from "../snapshot/types.ts";
import type { ReceivedUnit } from "./received_units.ts";
import { differenceOf, ORDER } from "./unit.ts";

type HostUnits = readonly ReceivedUnit<readonly Route[]>[];

export class SoundRoutes {
  #hosts: HostUnits = [];
  /** Of all routes of those hosts. */
  readonly #ids = new Set<string>();

  /**
   * Two routes of one id, or one that refers to a part that does not exist; null where there is
   * nothing of that kind, and then these are the ones that the next are compared with. The list is in
   * order.
   *
   * @param isSameParts The parts are those that the last routes were checked with, by their ids.
   */
  take(hosts: HostUnits, known: KnownIds, isSameParts: boolean): string | null {
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
    // Where the same parts are there, what has not changed still has its own.
    const stray = strayRoute(isSameParts ? changed : hosts, known);
    if (stray !== null) return stray;
    for (const id of gone) this.#ids.delete(id);
    for (const id of come) this.#ids.add(id);
    this.#hosts = hosts;
    return null;
  }
}

function* idsOf(hosts: HostUnits): Generator<string> {
  for (const { value } of hosts) for (const { id } of value ?? []) yield id;
}

/** Why one of the routes refers to nothing; null where none does. */
function strayRoute(hosts: HostUnits, known: KnownIds): string | null {
  for (const { value } of hosts) {
    for (const route of value ?? []) {
      const stray = strayReference(route, known);
      if (stray !== null) return `route ${describe(route.id)}, ${stray.field}: ${stray.message}`;
    }
  }
  return null;
}
