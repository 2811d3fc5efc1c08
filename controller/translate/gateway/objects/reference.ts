/**
 * References from one object to another. In: a reference of unknown shape, and whose it is. Out: group,
 * kind, namespace and name, with the defaults of the API.
 */
import { asObject, asText, fieldOf, isAbsent } from "../../../base/json.ts";

export interface Reference {
  /** "" for the core group. */
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Null where there is no name, or a part is no text. */
export function readReference(
  value: unknown,
  defaults: { readonly group: string; readonly kind: string; readonly namespace: string },
): Reference | null {
  if (asObject(value) === null) return null;
  const textOf = (field: string, byDefault: string): string | null => {
    const written = fieldOf(value, field);
    if (isAbsent(written)) return byDefault;
    return typeof written === "string" ? written : null;
  };
  const group = textOf("group", defaults.group);
  const kind = textOf("kind", defaults.kind);
  const namespace = textOf("namespace", defaults.namespace);
  const name = asText(fieldOf(value, "name"));
  return group === null || kind === null || namespace === null || name === null
    ? null
    : { group, kind, namespace, name };
}

/** `Secret shop/tls`, `Backend.example.com shop/api`. */
export function showReference({ group, kind, namespace, name }: Reference): string {
  return `${kind}${group === "" ? "" : `.${group}`} ${namespace}/${name}`;
}
