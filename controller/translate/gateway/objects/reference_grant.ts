/**
 * ReferenceGrants. In: objects of unknown shape. Out: whether an object of one namespace may refer to one of
 * another. What cannot be read grants nothing.
 *
 * https://gateway-api.sigs.k8s.io/api-types/referencegrant/
 */
import { asList, asText, fieldOf, isAbsent } from "../../../base/json.ts";
import { refOf } from "../../../base/identity.ts";
import type { Reference } from "./reference.ts";

/** Whoever refers. */
export type Referrer = Pick<Reference, "group" | "kind" | "namespace">;

export class ReferenceGrants {
  /** By namespace, group and kind of both sides; the names that may be referred to, null for all. */
  readonly #granted = new Map<string, Set<string> | null>();

  constructor(objects: readonly unknown[]) {
    for (const object of objects) {
      const { namespace } = refOf("ReferenceGrant", object);
      const spec = fieldOf(object, "spec");
      const froms = (asList(fieldOf(spec, "from")) ?? []).flatMap((from) => readFrom(from) ?? []);
      const tos = (asList(fieldOf(spec, "to")) ?? []).flatMap((to) => readTo(to) ?? []);
      for (const from of froms) {
        for (const to of tos) this.#add(keyOf(from, { ...to, namespace }), to.name);
      }
    }
  }

  /** Objects of one namespace may always refer to each other. */
  isPermitted(from: Referrer, to: Reference): boolean {
    if (from.namespace === to.namespace) return true;
    const names = this.#granted.get(keyOf(from, to));
    return names === null || (names?.has(to.name) ?? false);
  }

  #add(key: string, name: string | null): void {
    const names = this.#granted.get(key);
    if (name === null || names === null) this.#granted.set(key, null);
    else this.#granted.set(key, (names ?? new Set<string>()).add(name));
  }
}

function keyOf(from: Referrer, to: Pick<Reference, "group" | "kind" | "namespace">): string {
  return [from, to].map(({ group, kind, namespace }) => `${namespace}/${group}/${kind}`).join(" ");
}

function readFrom(value: unknown): Referrer | null {
  const kind = asText(fieldOf(value, "kind"));
  const namespace = asText(fieldOf(value, "namespace"));
  const group = groupOf(value);
  return kind === null || namespace === null || group === null ? null : { group, kind, namespace };
}

function readTo(
  value: unknown,
): Omit<Reference, "namespace" | "name"> & { name: string | null } | null {
  const kind = asText(fieldOf(value, "kind"));
  const group = groupOf(value);
  const written = fieldOf(value, "name");
  const name = isAbsent(written) || written === "" ? null : asText(written);
  // A name that is none must not stand for all.
  const isReadable = name !== null || isAbsent(written) || written === "";
  return kind === null || group === null || !isReadable ? null : { group, kind, name };
}

/** The core group is written as "". */
function groupOf(value: unknown): string | null {
  const group = fieldOf(value, "group");
  return isAbsent(group) ? "" : typeof group === "string" ? group : null;
}
