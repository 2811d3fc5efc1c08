/**
 * Which object is which, and which is older. In: metadata of unknown shape. Out: an identity that is
 * safe to build ids from, indices by name, and the order of age that decides every conflict.
 */
import { formatObject, type ObjectRef } from "../../shared/problem.ts";
import { asObject, fieldOf, isAbsent, stableText } from "./json.ts";
import { isDnsLabel, isDnsName } from "./names.ts";
import { differenceOf, isSameList, LastResult, ObjectCache } from "./memo.ts";
import { type ProblemList, type Recorded, recordProblems } from "./problems.ts";
import { compareText } from "./text_order.ts";

export interface Identity {
  readonly ref: ObjectRef;
  /** `keyOf` the object. */
  readonly key: string;
  /** `formatObject` of the object. */
  readonly label: string;
  /** Milliseconds since the epoch; Infinity where the object does not say. */
  readonly createdAt: number;
}

/** An object with the identity that was read from it. */
export interface Identified {
  readonly identity: Identity;
  readonly object: object;
}

/** Fields of metadata that every namespaced object has; null where it has no name of the API's. */
export function readIdentity(kind: string, object: unknown): Identity | null {
  const ref = refOf(kind, object);
  if (!isDnsName(ref.name) || !isDnsLabel(ref.namespace)) return null;
  return { ref, key: keyOf(ref), label: formatObject(ref), createdAt: creationTime(object) };
}

/** The object's reference as written, for a problem; what cannot be read is "". */
export function refOf(kind: string, object: unknown): ObjectRef {
  const metadata = fieldOf(object, "metadata");
  const name = fieldOf(metadata, "name");
  const namespace = fieldOf(metadata, "namespace");
  return {
    kind,
    namespace: isAbsent(namespace) ? "default" : typeof namespace === "string" ? namespace : "",
    name: typeof name === "string" ? name : "",
  };
}

/** `namespace/name`, unique within a kind. */
export function keyOf(ref: { readonly namespace: string; readonly name: string }): string {
  return `${ref.namespace}/${ref.name}`;
}

type Age = Pick<Identity, "ref" | "createdAt">;

/** Oldest first; then by namespace and name, so that no two objects of a kind are equal. */
export function compareAge(a: Age, b: Age): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  return compareText(a.ref.namespace, b.ref.namespace) || compareText(a.ref.name, b.ref.name);
}

/**
 * Objects by `namespace/name`, each read once. Those without a readable name are left out: nothing can refer to
 * them. Of two with the same name, which only a folder can hold, always the same one counts.
 */
export class ObjectIndex<T extends Identified> {
  readonly #models: ObjectCache<object, T | null>;
  readonly #last = new LastResult<readonly unknown[], Recorded<ReadonlyMap<string, T>>>();
  /** How the last index was made of the one before. */
  #change: { readonly from: ReadonlyMap<string, T>; readonly keys: ReadonlySet<string> } | null =
    null;

  /** @param read Gives null for an object that has no identity. */
  constructor(read: (object: object) => T | null) {
    this.#models = new ObjectCache(read);
  }

  /** Null for what has no identity. */
  model(value: unknown): T | null {
    const object = asObject(value);
    return object === null ? null : this.#models.of(object);
  }

  /** The very same as before where the objects are. */
  of(objects: readonly unknown[], problems: ProblemList): ReadonlyMap<string, T> {
    const before = this.#last.last;
    const index = this.#last.recall((before) => isSameList(before, objects)) ??
      this.#last.keep(objects, this.#read(objects));
    if (index !== before?.result && this.#change?.from !== before?.result.value) {
      this.#change = null;
    }
    problems.addAll(index.problems);
    return index.value;
  }

  /** Names of which the model may differ between an index and the last one; null for all. */
  changedSince(before: ReadonlyMap<string, T> | null): ReadonlySet<string> | null {
    if (before !== null && before === this.#last.last?.result.value) return NOTHING;
    return before !== null && this.#change?.from === before ? this.#change.keys : null;
  }

  #read(objects: readonly unknown[]): Recorded<ReadonlyMap<string, T>> {
    const last = this.#last.last;
    return (last === null ? null : this.#update(last.inputs, last.result, objects)) ??
      recordProblems((list) => this.#index(objects, list));
  }

  /** Null where names are repeated: then it takes all objects to decide. */
  #update(
    before: readonly unknown[],
    { value: from, problems }: Recorded<ReadonlyMap<string, T>>,
    objects: readonly unknown[],
  ): Recorded<ReadonlyMap<string, T>> | null {
    const { removed, added } = differenceOf(before, objects);
    if (problems.length > 0) return null;
    const keys = new Set<string>();
    const index = new Map(from);
    const coming = new Map<string, T>();
    for (const object of added) {
      const model = this.model(object);
      if (model === null) continue;
      const { key } = model.identity;
      if (coming.has(key)) return null;
      coming.set(key, model);
      keys.add(key);
    }
    for (const object of removed) {
      const key = this.model(object)?.identity.key;
      if (key === undefined) continue;
      keys.add(key);
      index.delete(key);
    }
    for (const [key, model] of coming) {
      if (index.has(key)) return null;
      index.set(key, model);
    }
    this.#change = { from, keys };
    return { value: index, problems };
  }

  #index(objects: readonly unknown[], problems: ProblemList): ReadonlyMap<string, T> {
    const index = new Map<string, T>();
    for (const object of objects) {
      const model = this.model(object);
      if (model !== null) addToIndex(index, model, problems);
    }
    return index;
  }
}

const NOTHING: ReadonlySet<string> = new Set();

/** See `ObjectIndex`. */
export function addToIndex<T extends Identified>(
  index: Map<string, T>,
  model: T,
  problems: ProblemList,
): void {
  const { key, ref } = model.identity;
  const other = index.get(key);
  if (other !== undefined) {
    problems.about(ref).error("", {
      reason: "ObjectDuplicated",
      message: `there are several objects of kind ${ref.kind} with this name, and one of them ` +
        "counts",
      remedy: "Remove or rename all but one",
    });
    if (stableText(other.object) <= stableText(model.object)) return;
  }
  index.set(key, model);
}

/** RFC 3339 with seconds, the only form that the API server writes. */
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

export function creationTime(object: unknown): number {
  const value = fieldOf(fieldOf(object, "metadata"), "creationTimestamp");
  if (typeof value !== "string" || !TIMESTAMP.test(value)) return Infinity;
  const time = Date.parse(value);
  return Number.isNaN(time) ? Infinity : time;
}

/** A Secret, as other objects name it. */
export interface SecretName {
  readonly ref: ObjectRef;
  /** `keyOf` and `formatObject` of it. */
  readonly key: string;
  readonly label: string;
}
