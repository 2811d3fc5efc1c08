/**
 * What the controller knows of one kind of objects. In: whole lists and single changes, from an
 * informer. Out: the objects, and a call to subscribers at every change that they would notice.
 *
 * An object that says what it said before stays the same JavaScript object, whatever its
 * resourceVersion, and one that changed keeps the top-level parts that did not: readers may keep what
 * they have made of either. Objects are never changed in place.
 */
import { excessOf } from "./excess.ts";
import { isAlike, withPartsOf } from "./likeness.ts";
import { type KubeObject, objectKey } from "./types.ts";

/** One object that came, changed or went. */
export interface StoreChange<T> {
  /** Null where there was none. */
  readonly before: T | null;
  /** Null where there is none any more. */
  readonly after: T | null;
  /**
   * Whether both are there and differ in nothing but `status` and whose it is (`managedFields`), as
   * after our own writes of it.
   */
  readonly isStatusOnly: boolean;
}

export type StoreSubscriber<T> = (change: StoreChange<T>) => void;

/** One event, or all that a list has changed. */
export interface StoreUpdate {
  /** Whether every change of it is; see `StoreChange`. */
  readonly isStatusOnly: boolean;
  /** Whether objects have come that were not there before, and nothing else has changed. */
  readonly isAddition: boolean;
}

/** What those who read get to see. */
export interface ObjectView<T extends KubeObject> {
  /** In no order. The same array until something changes. */
  list(): readonly T[];
  /** @param namespace "" for cluster-wide kinds. */
  get(namespace: string, name: string): T | null;
  /**
   * The resourceVersion that the API server has for it now, as far as we know; "" for none. The
   * one in the object is of the last change that it was noticed by.
   */
  versionOf(namespace: string, name: string): string;
  /** The resourceVersion of the last complete list that covers a namespace; "0" before the first. */
  listedAt(namespace: string): string;
  readonly size: number;
  /** Whether every namespace that is watched has been listed whole at least once. */
  readonly isSynced: boolean;
  /** Called with every later change. Returns what ends it. */
  subscribe(subscriber: StoreSubscriber<T>): () => void;
  /**
   * Called once for every later update, however many objects it changes, after the subscribers of
   * single changes; also where `isSynced` alone has changed. Returns what ends it.
   */
  onUpdate(subscriber: (update: StoreUpdate) => void): () => void;
}

export interface StoreOptions {
  /** Whether a new resourceVersion alone is a change. */
  readonly countsVersions?: boolean;
}

interface Entry<T> {
  readonly object: T;
  readonly version: string;
}

export class ObjectStore<T extends KubeObject> implements ObjectView<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #subscribers = new Set<StoreSubscriber<T>>();
  readonly #updateSubscribers = new Set<(update: StoreUpdate) => void>();
  readonly #countsVersions: boolean;
  #list: readonly T[] | null = null;
  /** Changes of a list that is being taken in; null while none is. */
  #held: StoreChange<T>[] | null = null;
  /** The resourceVersion of the last list of each namespace; null is the key of lists of all namespaces. */
  readonly #listedAt = new Map<string | null, string>();
  isSynced = false;
  /** What it was at the last update. */
  #wasSynced = false;

  constructor(options: StoreOptions = {}) {
    this.#countsVersions = options.countsVersions ?? false;
  }

  get size(): number {
    return this.#entries.size;
  }

  list(): readonly T[] {
    this.#list ??= Array.from(this.#entries.values(), ({ object }) => object);
    return this.#list;
  }

  get(namespace: string, name: string): T | null {
    return this.#entries.get(`${namespace}/${name}`)?.object ?? null;
  }

  versionOf(namespace: string, name: string): string {
    return this.#entries.get(`${namespace}/${name}`)?.version ?? "";
  }

  listedAt(namespace: string): string {
    return this.#listedAt.get(namespace) ?? this.#listedAt.get(null) ?? "0";
  }

  /** Takes an object that came or changed. */
  put(object: T): void {
    const key = objectKey(object);
    const before = this.#entries.get(key);
    const version = object.metadata.resourceVersion ?? "";
    if (before === undefined) {
      this.#entries.set(key, { object, version });
      return this.#changed({ before: null, after: object, isStatusOnly: false });
    }
    // One version may be kept as a stub, and whole once there is room for it.
    const isSameVersion = version !== "" && version === before.version &&
      (excessOf(object) === null) === (excessOf(before.object) === null);
    if (object === before.object || isSameVersion) return;
    const difference = this.#compare(before.object, object);
    if (difference === null) {
      this.#entries.set(key, { object: before.object, version });
      return;
    }
    const after = withPartsOf(before.object, object);
    this.#entries.set(key, { object: after, version });
    this.#changed({ before: before.object, after, isStatusOnly: difference === "status" });
  }

  /** @param namespace "" for cluster-wide kinds. */
  remove(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    const before = this.#entries.get(key);
    if (before === undefined) return;
    this.#entries.delete(key);
    this.#changed({ before: before.object, after: null, isStatusOnly: false });
  }

  /**
   * Takes a whole list: what is not in it goes, what says the same stays the object that it was.
   * @param namespace the list is of this one; null for one of everything.
   * @param revision Its resourceVersion.
   */
  replace(objects: readonly T[], namespace: string | null, revision = "0"): void {
    const listed = new Set(objects.map(objectKey));
    // Who is told of a change looks at the others too: half a list would be a state that never was.
    this.#held = [];
    for (const object of this.list()) {
      const of = object.metadata.namespace ?? "";
      if (listed.has(objectKey(object)) || (namespace !== null && of !== namespace)) continue;
      this.remove(of, object.metadata.name);
    }
    for (const object of objects) this.put(object);
    const changes = this.#held;
    this.#held = null;
    this.#listedAt.set(namespace, revision);
    this.#publish(changes);
  }

  /** Forgets everything: it is not known any more which objects there are. */
  clear(): void {
    this.isSynced = false;
    this.replace([], null);
  }

  subscribe(subscriber: StoreSubscriber<T>): () => void {
    this.#subscribers.add(subscriber);
    return () => void this.#subscribers.delete(subscriber);
  }

  onUpdate(subscriber: (update: StoreUpdate) => void): () => void {
    this.#updateSubscribers.add(subscriber);
    return () => void this.#updateSubscribers.delete(subscriber);
  }

  /** Where two versions of an object differ; null for nowhere. */
  #compare(before: T, after: T): "status" | "more" | null {
    if (this.#countsVersions) return "more";
    let difference: "status" | null = null;
    for (const name of Object.keys({ ...before, ...after }) as (keyof T)[]) {
      const isSame = name === "metadata"
        ? isAlike(settled(before), settled(after))
        : isAlike(before[name], after[name]);
      if (!isSame && name !== "status") return "more";
      if (!isSame) difference = "status";
    }
    const isOwnedAlike = isAlike(before.metadata.managedFields, after.metadata.managedFields);
    return isOwnedAlike ? difference : "status";
  }

  #changed(change: StoreChange<T>): void {
    this.#list = null;
    if (this.#held === null) this.#publish([change]);
    else this.#held.push(change);
  }

  #publish(changes: readonly StoreChange<T>[]): void {
    for (const change of changes) {
      for (const subscriber of this.#subscribers) subscriber(change);
    }
    const isOtherwiseSynced = this.isSynced !== this.#wasSynced;
    if (changes.length === 0 && !isOtherwiseSynced) return;
    this.#wasSynced = this.isSynced;
    const isStatusOnly = !isOtherwiseSynced && changes.every((change) => change.isStatusOnly);
    const isAddition = !isOtherwiseSynced &&
      changes.every(({ before, after }) => before === null && after !== null);
    for (const subscriber of this.#updateSubscribers) subscriber({ isStatusOnly, isAddition });
  }
}

/** The metadata that neither a write of the status nor one of nothing changes. */
function settled({ metadata }: KubeObject): unknown {
  return { ...metadata, resourceVersion: undefined, managedFields: undefined };
}
