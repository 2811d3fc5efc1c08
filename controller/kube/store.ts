/**
 * What the controller knows of one kind of objects. In: whole lists and single changes, from an
 * informer. Out: the objects, and a call to subscribers at every change.
 *
 * An object that has not changed stays the same JavaScript object, so that readers may keep what
 * they have made of it. Objects are never changed in place.
 */
import type { KubeObject } from "./types.ts";

/** One object that came, changed or went. */
export interface StoreChange<T> {
  /** Null where there was none. */
  readonly before: T | null;
  /** Null where there is none any more. */
  readonly after: T | null;
}

export type StoreSubscriber<T> = (change: StoreChange<T>) => void;

/** What those who read get to see. */
export interface ObjectView<T extends KubeObject> {
  /** In no order. The same array until something changes. */
  list(): readonly T[];
  /** @param namespace "" for cluster-wide kinds. */
  get(namespace: string, name: string): T | null;
  readonly size: number;
  /** Whether every namespace that is watched has been listed whole at least once. */
  readonly isSynced: boolean;
  /** Called with every later change. Returns what ends it. */
  subscribe(subscriber: StoreSubscriber<T>): () => void;
}

export class ObjectStore<T extends KubeObject> implements ObjectView<T> {
  readonly #objects = new Map<string, T>();
  readonly #subscribers = new Set<StoreSubscriber<T>>();
  #list: readonly T[] | null = null;
  isSynced = false;

  get size(): number {
    return this.#objects.size;
  }

  list(): readonly T[] {
    this.#list ??= [...this.#objects.values()];
    return this.#list;
  }

  get(namespace: string, name: string): T | null {
    return this.#objects.get(`${namespace}/${name}`) ?? null;
  }

  /** Takes an object that came or changed. One with the resourceVersion that is here is dropped. */
  put(object: T): void {
    const key = keyOf(object);
    const before = this.#objects.get(key) ?? null;
    const version = object.metadata.resourceVersion;
    if (version !== undefined && before?.metadata.resourceVersion === version) return;
    this.#objects.set(key, object);
    this.#changed({ before, after: object });
  }

  /** @param namespace "" for cluster-wide kinds. */
  remove(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#objects.delete(key);
    this.#changed({ before, after: null });
  }

  /**
   * Takes a whole list: what is not in it goes, what is equal stays the object that it was.
   * @param namespace the list is of this one; null for one of everything.
   */
  replace(objects: readonly T[], namespace: string | null): void {
    const listed = new Set(objects.map(keyOf));
    for (const object of this.list()) {
      const of = object.metadata.namespace ?? "";
      if (listed.has(keyOf(object)) || (namespace !== null && of !== namespace)) continue;
      this.remove(of, object.metadata.name);
    }
    for (const object of objects) this.put(object);
  }

  subscribe(subscriber: StoreSubscriber<T>): () => void {
    this.#subscribers.add(subscriber);
    return () => void this.#subscribers.delete(subscriber);
  }

  #changed(change: StoreChange<T>): void {
    this.#list = null;
    for (const subscriber of this.#subscribers) subscriber(change);
  }
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
