/**
 * Objects as the API server has them, our own writes included. In: a store that follows the API
 * server, and what it answered to our writes. Out: the newer of the two, so that what was written a
 * moment ago is not written again before the watch has told of it.
 */
import type { KubeObject } from "../../kube/types.ts";
import { compareRevisions, isRevision } from "../../kube/revision.ts";
import type { ObjectView } from "../../kube/store.ts";

/** One object and the resourceVersion that the API server has for it. */
export interface Seen<T> {
  readonly object: T;
  readonly version: string;
}

export class OwnWrites<T extends KubeObject> {
  readonly #store: ObjectView<T>;
  readonly #namespace: string;
  /** What the API server answered, by name, until the store knows as much. */
  readonly #written = new Map<string, T>();
  /** The uid of each that we have deleted, by name, until the store knows it. */
  readonly #deleted = new Map<string, string | undefined>();
  /** The uid of each that has gone last, by name: it never comes back. */
  readonly #gone = new Map<string, string | undefined>();
  readonly #unsubscribe: () => void;

  /** @param namespace the only one that is looked at. */
  constructor(store: ObjectView<T>, namespace: string) {
    this.#store = store;
    this.#namespace = namespace;
    this.#unsubscribe = store.subscribe(({ before, after }) => {
      if (before === null || after !== null) return;
      const { name, namespace, uid } = before.metadata;
      if (namespace !== this.#namespace) return;
      // Whoever has deleted it, and be it that we have made it anew since: the watch will tell.
      this.#written.delete(name);
      this.#deleted.delete(name);
      this.#gone.set(name, uid);
    });
  }

  /** All objects of the namespace, by name. */
  list(): Map<string, Seen<T>> {
    const seen = new Map<string, Seen<T>>();
    for (const object of this.#store.list()) {
      const { name, namespace, uid } = object.metadata;
      if (namespace !== this.#namespace) continue;
      if (this.#deleted.has(name) && this.#deleted.get(name) === uid) continue;
      seen.set(name, { object, version: this.#store.versionOf(namespace, name) });
    }
    const listed = this.#store.listedAt(this.#namespace);
    for (const [name, object] of this.#written) {
      const version = object.metadata.resourceVersion ?? "";
      // An object that was created and deleted while there was no watch is in no list, and no event reports it.
      const stored = seen.get(name)?.version ?? listed;
      if (isRevision(stored) && isRevision(version) && compareRevisions(stored, version) >= 0) {
        this.#written.delete(name);
      } else {
        seen.set(name, { object, version });
      }
    }
    return seen;
  }

  /** @param object as the API server answered. */
  wrote(object: T): void {
    const { managedFields: _fields, ...metadata } = object.metadata;
    // The watch may tell of its end before the answer comes.
    const { name, uid } = metadata;
    if (uid !== undefined && this.#gone.get(name) === uid) return;
    this.#written.set(name, { ...object, metadata });
    this.#deleted.delete(name);
  }

  deleted({ metadata: { name, uid } }: T): void {
    this.#written.delete(name);
    this.#deleted.set(name, uid);
  }

  /** For when the store is right and we may be not: after a conflict. */
  forget(): void {
    this.#written.clear();
    this.#deleted.clear();
  }

  close(): void {
    this.#unsubscribe();
  }
}
