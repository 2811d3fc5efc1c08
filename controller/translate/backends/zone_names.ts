/**
 * Names of zones in EndpointSlices. In: values of unknown shape. Out: the zone of an endpoint and those that it is
 * meant for, as far as they are names that a zone can have.
 *
 * The API server takes any text for the zone of an endpoint, a hundred thousand characters as well, and each port of
 * the Service would repeat it in what is published. A zone is the value of a label of nodes, so no other is of use.
 *
 * https://kubernetes.io/docs/concepts/services-networking/topology-aware-routing/
 */
import { asList, asText, fieldOf } from "../../base/json.ts";
import { isLabelName } from "../../base/names.ts";
import { compareText } from "../../base/text_order.ts";

/** Of one endpoint; the API server takes no more. */
const MAX_HINTS = 8;

/** As if absent where it is no name of a zone. */
export interface ReadZones {
  readonly zone: string | null;
  /** Sorted, each once; null for none. */
  readonly hints: readonly string[] | null;
  /** What is not taken, of the endpoint, as a field: `zone` or `hints`. */
  readonly refused: "zone" | "hints" | null;
}

/** @param isHinted Whether its hints count. */
export function readZones(endpoint: unknown, isHinted: boolean): ReadZones {
  const written = asText(fieldOf(endpoint, "zone"));
  const zone = written !== null && isLabelName(written) ? written : null;
  const hints = isHinted ? readHints(fieldOf(endpoint, "hints")) : null;
  return {
    zone,
    hints: hints === REFUSED ? null : hints,
    refused: zone !== written ? "zone" : hints === REFUSED ? "hints" : null,
  };
}

const REFUSED = "refused";

/** All of them or none: a proxy that is left out would send its requests elsewhere. */
function readHints(hints: unknown): readonly string[] | null | typeof REFUSED {
  const list = asList(fieldOf(hints, "forZones")) ?? [];
  if (list.length > MAX_HINTS) return REFUSED;
  const zones = new Set<string>();
  for (const zone of list) {
    const name = asText(fieldOf(zone, "name"));
    if (name === null) continue;
    if (!isLabelName(name)) return REFUSED;
    zones.add(name);
  }
  return zones.size === 0 ? null : [...zones].sort(compareText);
}
