/**
 * The routes of the last content that could be used. In: the hosts of the next one, and which parts
 * there are. Out: why its routes cannot be used, at the cost of a look at what has changed alone.
 */
import { describe } from "../snapshot/config_check.ts";
import { type Ids, type KnownIds, strayReference } from "../snapshot/references.ts";
import type { Route } from "../snapshot/types.ts";
import type { OfLists } from "./part_lists.ts";
import type { ReceivedUnit } from "./received_units.ts";
import type { UnitDifference } from "./unit.ts";

type HostUnits = readonly ReceivedUnit<readonly Route[]>[];

export class SoundRoutes {
  /** Of all routes that were taken last. */
  readonly #ids = new Set<string>();

  /**
   * Two routes of one id, or one that refers to a part that does not exist; null where there is
   * nothing of that kind, and then these are the ones that the next differ from.
   *
   * @param news How the hosts differ from those that were taken last.
   * @param gone Ids of parts that are gone since then.
   */
  take(
    hosts: HostUnits,
    { changed, replaced }: Pick<UnitDifference<HostUnits[number]>, "changed" | "replaced">,
    known: KnownIds,
    gone: OfLists<ReadonlySet<string>>,
  ): string | null {
    const left = new Set(idsOf(replaced));
    const come = new Set<string>();
    for (const id of idsOf(changed)) {
      if (come.has(id) || (this.#ids.has(id) && !left.has(id))) {
        return `two routes have the id ${describe(id)}`;
      }
      come.add(id);
    }
    const stray = strayRoute(changed, known) ?? this.#bereft(hosts, gone, known);
    if (stray !== null) return stray;
    for (const id of left) this.#ids.delete(id);
    for (const id of come) this.#ids.add(id);
    return null;
  }

  /** A route that refers to a part that is gone: what has not changed had all of its parts before. */
  #bereft(
    hosts: HostUnits,
    gone: OfLists<ReadonlySet<string>>,
    known: KnownIds,
  ): string | null {
    if (REFERRED.every((list) => gone[list].size === 0)) return null;
    const left = (list: typeof REFERRED[number]): Ids => ({
      has: (id) => !gone[list].has(id) || known[list].has(id),
    });
    const [listeners, filterSets, policies, upstreams] = REFERRED.map(left);
    return strayRoute(hosts, { listeners, filterSets, policies, upstreams });
  }
}

/** Lists whose parts routes refer to, as `KnownIds` has them. */
const REFERRED = ["listeners", "filterSets", "policies", "upstreams"] as const;

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
