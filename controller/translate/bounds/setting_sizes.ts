/**
 * What compression leaves out of filter sets and policies. In: one of them. Out: characters of its JSON that
 * are alike in all: names of fields, punctuation and kinds. Pure.
 *
 * Measured with 10,000 Ingresses of 8 annotations and as many sets of values, whose settings are 560 characters
 * of JSON for each: they add 113 bytes to the compressed snapshot, and are estimated at 178.
 */
import type { FilterSet, Policy } from "../../../shared/snapshot/types.ts";

/** @param bytes Of its JSON. The route names its id once more, which is random. */
export function alikeOf(part: FilterSet | Policy, bytes: number): number {
  return Math.max(0, bytes - valueCharacters(part) - part.id.length);
}

/** Of all values; no type of a setting has fields that a user names. */
function valueCharacters(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value === "number") return String(value).length;
  if (typeof value !== "object" || value === null) return 0;
  let characters = 0;
  for (const name in value) {
    if (name === "kind") continue;
    characters += valueCharacters((value as Readonly<Record<string, unknown>>)[name]);
  }
  return characters;
}
