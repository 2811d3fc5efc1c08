/**
 * Who owns which fields of an object, by server-side apply. In: `metadata.managedFields`. Out:
 * whether a manager owns a field, and the patch by which its fields become ours: an apply alone
 * would leave in the object whatever the other manager set and we do not.
 *
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management; the patch is
 * that of client-go's csaupgrade.
 */
import { FIELD_MANAGER } from "../../kube/client.ts";
import type { KubeObject } from "../../kube/types.ts";
import { asObject, fieldOf, type JsonObject } from "../../base/json.ts";

/** Whether a manager has applied fields of the object itself, not of a subresource. */
export function hasApplied({ metadata }: KubeObject, manager: string): boolean {
  return (metadata.managedFields ?? []).some((entry) => isApplyOf(entry, manager));
}

/** Whether our last apply set a field: `["spec", "replicas"]`. */
export function isOurs({ metadata }: KubeObject, path: readonly string[]): boolean {
  return (metadata.managedFields ?? []).filter((entry) => isApplyOf(entry, FIELD_MANAGER))
    .some((entry) =>
      path.reduce<unknown>(
        (fields, name) => fieldOf(fields, `f:${name}`),
        fieldOf(entry, "fieldsV1"),
      ) !== undefined
    );
}

/**
 * A JSON patch that makes all that `manager` has applied ours, and fails with 409 if the object has
 * changed by then. Null where it has applied nothing.
 */
export function takeoverPatch(object: KubeObject, manager: string): readonly unknown[] | null {
  if (!hasApplied(object, manager)) return null;
  const entries = object.metadata.managedFields ?? [];
  const [applied, others] = [
    entries.filter((entry) => isApplyOf(entry, manager) || isApplyOf(entry, FIELD_MANAGER)),
    entries.filter((entry) => !isApplyOf(entry, manager) && !isApplyOf(entry, FIELD_MANAGER)),
  ];
  const merged = {
    ...asObject(applied[0]),
    manager: FIELD_MANAGER,
    fieldsV1: applied.map((entry) => asObject(fieldOf(entry, "fieldsV1")) ?? {}).reduce(union),
  };
  return [
    { op: "replace", path: "/metadata/managedFields", value: [merged, ...others] },
    {
      op: "replace",
      path: "/metadata/resourceVersion",
      value: object.metadata.resourceVersion,
    },
  ];
}

function isApplyOf(entry: unknown, manager: string): boolean {
  return fieldOf(entry, "manager") === manager && fieldOf(entry, "operation") === "Apply" &&
    (fieldOf(entry, "subresource") ?? "") === "";
}

/** All fields of both. */
function union(a: JsonObject, b: JsonObject): JsonObject {
  const fields = new Map(Object.entries(a));
  for (const [name, inner] of Object.entries(b)) {
    fields.set(name, union(asObject(fields.get(name)) ?? {}, asObject(inner) ?? {}));
  }
  return Object.fromEntries(fields);
}
