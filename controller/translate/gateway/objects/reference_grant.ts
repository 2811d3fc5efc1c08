/**
 * ReferenceGrants. In: objects of unknown shape. Out: what each permits; and of all of them, whether an object of one namespace may refer to one of
 * another. What cannot be read grants nothing.
 *
 * https://gateway-api.sigs.k8s.io/api-types/referencegrant/
 */
import { asList, asText, fieldOf, isAbsent } from "../../../base/json.ts";
import { refOf } from "../../../base/identity.ts";
import type { Reference } from "./reference.ts";

/** Whoever refers. */
export type Referrer = Pick<Reference, "group" | "kind" | "namespace">;

/** What one grant permits: each of `froms` to refer to each of `tos`, which are never multiplied. */
export interface GrantModel {
  /** Its own, and that of whatever may be referred to. */
  readonly namespace: string;
  /** By `kindKey`. */
  readonly froms: ReadonlySet<string>;
  readonly tos: readonly GrantedTarget[];
}

interface GrantedTarget extends Pick<Reference, "group" | "kind"> {
  /** Null for all. */
  readonly name: string | null;
}

/** Names that may be referred to, null for all; by group and kind. */
type GrantedNames = ReadonlyMap<string, ReadonlySet<string> | null>;

export function readReferenceGrant(object: unknown): GrantModel {
  const { namespace } = refOf("ReferenceGrant", object);
  const spec = fieldOf(object, "spec");
  const froms = (asList(fieldOf(spec, "from")) ?? []).flatMap((from) => readFrom(from) ?? []);
  const tos = (asList(fieldOf(spec, "to")) ?? []).flatMap((to) => readTo(to) ?? []);
  return { namespace, froms: new Set(froms.map(kindKey)), tos };
}

export class ReferenceGrants {
  /** By their namespace. */
  readonly #grants: ReadonlyMap<string, readonly GrantModel[]>;
  /** By referrer and namespace, as far as somebody has asked: few of those that grants name are there. */
  readonly #granted = new Map<string, GrantedNames>();

  constructor(grants: readonly GrantModel[]) {
    this.#grants = Map.groupBy(grants, ({ namespace }) => namespace);
  }

  /** Objects of one namespace may always refer to each other. */
  isPermitted(from: Referrer, to: Reference): boolean {
    if (from.namespace === to.namespace) return true;
    const names = this.#namesOf(kindKey(from), to.namespace).get(targetKey(to));
    return names === null || (names?.has(to.name) ?? false);
  }

  #namesOf(from: string, namespace: string): GrantedNames {
    const key = `${from} ${namespace}`;
    let granted = this.#granted.get(key);
    if (granted === undefined) {
      const own = this.#grants.get(namespace)?.filter(({ froms }) => froms.has(from)) ?? [];
      this.#granted.set(key, granted = namesOf(own));
    }
    return granted;
  }
}

function namesOf(grants: readonly GrantModel[]): GrantedNames {
  const granted = new Map<string, Set<string> | null>();
  for (const to of grants.flatMap(({ tos }) => tos)) {
    const key = targetKey(to);
    const names = granted.get(key);
    if (names === null || to.name === null) granted.set(key, null);
    else if (names === undefined) granted.set(key, new Set([to.name]));
    else names.add(to.name);
  }
  return granted;
}

function kindKey({ namespace, group, kind }: Referrer): string {
  return `${namespace}/${group}/${kind}`;
}

function targetKey({ group, kind }: Pick<Reference, "group" | "kind">): string {
  return `${group}/${kind}`;
}

function readFrom(value: unknown): Referrer | null {
  const kind = asText(fieldOf(value, "kind"));
  const namespace = asText(fieldOf(value, "namespace"));
  const group = groupOf(value);
  return kind === null || namespace === null || group === null ? null : { group, kind, namespace };
}

function readTo(value: unknown): GrantedTarget | null {
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
