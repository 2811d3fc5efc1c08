/**
 * The part of an object that we have set. In: what we applied, and an object as the API server has
 * it. Out: its value of each of our fields, in its own words: "250m" for our "0.25". Two of these
 * tell whether somebody has changed a field of ours, whatever else they changed.
 */
import { asList, asObject, fieldOf } from "../translate/json.ts";
import { idOf, MERGE_KEYS } from "./strategic_merge.ts";

/** @param field is the name of the field that holds `wanted`. */
export function projection(wanted: unknown, live: unknown, field = ""): unknown {
  const map = asObject(wanted);
  if (map !== null) {
    if (asObject(live) === null) return live ?? null;
    return Object.fromEntries(
      Object.keys(map).map((name) => [name, projection(map[name], fieldOf(live, name), name)]),
    );
  }
  const members = asList(wanted);
  // Others may add members to a list that has keys; any other list is ours as a whole.
  const keys = Object.hasOwn(MERGE_KEYS, field) ? MERGE_KEYS[field] : null;
  if (members === null || keys === null) return live ?? null;
  const ids = members.map((member) => idOf(member, keys));
  if (ids.includes(null)) return live ?? null;
  const there = new Map((asList(live) ?? []).map((member) => [idOf(member, keys), member]));
  return members.map((member, index) => projection(member, there.get(ids[index])));
}
