/**
 * Our objects of one kind, by Gateway. In: a store that follows the API server, and what it answered to our own
 * writes. Out: the newer of the two of each object, so that what was written a moment ago is not written again
 * before the watch shows it.
 */
import { keyOf } from "../../base/identity.ts";
import { compareRevisions, isRevision } from "../../kube/revision.ts";
import type { ObjectView } from "../../kube/store.ts";
import { type KubeObject, objectKey } from "../../kube/types.ts";
import { ownerOf } from "./names.ts";

/** One object, and the resourceVersion that the API server has for it. */
export interface OwnedObject {
  readonly object: KubeObject;
  readonly version: string;
}

/**
 * Milliseconds for which our own writes are believed before the watch shows them. An object that is deleted
 * while the watch is interrupted is never shown.
 */
const BELIEVED = 30_000;

export class OwnedObjects {
  readonly #store: ObjectView<KubeObject>;
  readonly #onChange: (gateway: string) => void;
  readonly #now: () => number;
  /** What the API server answered, until the store knows as much. */
  readonly #written = new Map<string, { readonly object: KubeObject; readonly until: number }>();
  /** The uid of each that we have deleted, until the store knows it. */
  readonly #deleted = new Map<string, string | undefined>();
  /** Names of objects by the key of their Gateway. */
  readonly #byGateway = new Map<string, Set<string>>();
  readonly #unsubscribe: () => void;

  /**
   * @param onChange Called with the key of the Gateway whose objects have changed.
   * @param now Milliseconds that never go back.
   */
  constructor(
    store: ObjectView<KubeObject>,
    onChange: (gateway: string) => void,
    now: () => number,
  ) {
    this.#store = store;
    this.#onChange = onChange;
    this.#now = now;
    for (const object of store.list()) this.#index(object);
    this.#unsubscribe = store.subscribe(({ before, after }) => {
      const name = objectKey((after ?? before)!);
      if (after === null) {
        this.#written.delete(name);
        this.#deleted.delete(name);
      }
      for (const object of [before, after]) if (object !== null) this.#changed(object);
    });
  }

  get isSynced(): boolean {
    return this.#store.isSynced;
  }

  /** Keys of Gateways that have objects, or have had some. */
  get gateways(): readonly string[] {
    return [...this.#byGateway.keys()];
  }

  /** Objects of one Gateway, sorted by name. */
  of(gateway: string): readonly OwnedObject[] {
    const names = [...this.#byGateway.get(gateway) ?? []].sort();
    const found = names.flatMap((name) => {
      const [namespace, own] = name.split("/");
      const owned = this.get(namespace, own);
      return owned !== null && ownerKeyOf(owned.object) === gateway ? [{ name, owned }] : [];
    });
    if (found.length === 0) this.#byGateway.delete(gateway);
    return found.map(({ owned }) => owned);
  }

  get(namespace: string, own: string): OwnedObject | null {
    const name = keyOf({ namespace, name: own });
    const stored = this.#store.get(namespace, own);
    const version = this.#store.versionOf(namespace, own);
    const written = this.#written.get(name);
    if (written !== undefined) {
      const newer = written.object.metadata.resourceVersion ?? "";
      const isNewer = !isRevision(version) || compareRevisions(version, newer) < 0;
      if (isNewer && this.#now() < written.until) {
        return { object: written.object, version: newer };
      }
      this.#written.delete(name);
    }
    if (stored === null) return null;
    if (this.#deleted.has(name) && this.#deleted.get(name) === stored.metadata.uid) return null;
    return { object: stored, version };
  }

  /** The object of this name where it belongs to this very Gateway. @param uid Of the Gateway. */
  ofOwner(namespace: string, own: string, uid: string): OwnedObject | null {
    const owned = this.get(namespace, own);
    return owned !== null && ownerOf(owned.object)?.uid === uid ? owned : null;
  }

  /** As the watch shows it, also where we have deleted it. */
  stored(namespace: string, own: string): KubeObject | null {
    return this.#store.get(namespace, own);
  }

  /** @param object As the API server answered. */
  wrote(object: KubeObject): void {
    const name = objectKey(object);
    this.#written.set(name, { object, until: this.#now() + BELIEVED });
    this.#deleted.delete(name);
    this.#index(object);
  }

  deleted(object: KubeObject): void {
    const name = objectKey(object);
    this.#written.delete(name);
    this.#deleted.set(name, object.metadata.uid);
  }

  /** For when the store is right and we may be not: after a conflict. */
  forget(): void {
    this.#written.clear();
    this.#deleted.clear();
  }

  close(): void {
    this.#unsubscribe();
  }

  #changed(object: KubeObject): void {
    const key = this.#index(object);
    if (key !== null) this.#onChange(key);
  }

  #index(object: KubeObject): string | null {
    const key = ownerKeyOf(object);
    if (key === null) return null;
    const names = this.#byGateway.get(key);
    if (names === undefined) this.#byGateway.set(key, new Set([objectKey(object)]));
    else names.add(objectKey(object));
    return key;
  }
}

/** Of its Gateway; null for an object that is not ours. */
function ownerKeyOf(object: KubeObject): string | null {
  const owner = ownerOf(object);
  const { namespace = "" } = object.metadata;
  return owner === null ? null : keyOf({ namespace, name: owner.name });
}
