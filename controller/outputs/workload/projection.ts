/**
 * The part of an object that we have set. In: what we applied, and an object as the API server has
 * it. Out: its value of each of our fields, in its own words: "250m" for our "0.25". Two of these
 * tell whether somebody has changed a field of ours, whatever else they changed.
 */
import { asList, asObject, fieldOf } from "../../base/json.ts";
import { idOf, MERGE_KEYS } from "./strategic_merge.ts";

/** As `x-kubernetes-list-map-keys` of ServiceSpec.ports has it. */
const SERVICE_PORT_KEYS = ["port", "protocol"];

/** Maps that have one owner as a whole: another's entry beside ours changes what ours means. */
const WHOLE = new Set(["selector", "nodeSelector", "labelSelector", "resourceFieldRef"]);

/** @param field is the name of the field that holds `wanted`. */
export function projection(wanted: unknown, live: unknown, field = ""): unknown {
  const map = asObject(wanted);
  if (map !== null && !WHOLE.has(field)) {
    if (asObject(live) === null) return live ?? null;
    return Object.fromEntries(
      Object.keys(map).map((name) => [name, projection(map[name], fieldOf(live, name), name)]),
    );
  }
  const members = asList(wanted);
  // Others may add members to a list that has keys; any other list is ours as a whole.
  const keys = members === null ? null : keysOf(members, field);
  if (members === null || keys === null) return live ?? null;
  const there = new Map((asList(live) ?? []).map((member) => [idOf(member, keys), member]));
  return members.map((member) => projection(member, there.get(idOf(member, keys))));
}

/** What tells the members apart; null where nothing does. */
function keysOf(members: readonly unknown[], field: string): readonly string[] | null {
  const candidates = field === "ports"
    ? [MERGE_KEYS.ports, SERVICE_PORT_KEYS]
    : Object.hasOwn(MERGE_KEYS, field)
    ? [MERGE_KEYS[field]]
    : [];
  return candidates.find((keys) => members.every((member) => idOf(member, keys) !== null)) ?? null;
}
