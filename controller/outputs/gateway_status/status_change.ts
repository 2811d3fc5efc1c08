/**
 * How a status differs from what it should be. In: the status that stands, and the fields that are wanted.
 * Out: the fields to write, or null for none: an equal status is never written.
 */
import { fieldOf, type JsonObject } from "../../base/json.ts";
import { isAlike } from "../../kube/likeness.ts";

export interface StatusChange {
  /** Of `status`, those that differ, whole. */
  readonly fields: JsonObject;
  /** Whether nothing but counts differ, which change with every route. */
  readonly isCountOnly: boolean;
}

/** @param isCountOnly Asked only where something differs. */
export function statusChange(
  standing: unknown,
  wanted: JsonObject,
  isCountOnly: () => boolean = () => false,
): StatusChange | null {
  const fields = Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => {
      const present = fieldOf(standing, name);
      // The API server leaves out empty lists of some fields, and returns those of others.
      const isNothing = Array.isArray(value) && value.length === 0 && (present ?? null) === null;
      return !isNothing && !isAlike(present, value);
    }),
  );
  if (Object.keys(fields).length === 0) return null;
  return { fields, isCountOnly: isCountOnly() };
}
