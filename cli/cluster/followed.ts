/** Objects of one kind that are followed. In: changes of the thread. Out: all that are there now, and a call at each change. */
import type { ApiError, KubeObject } from "../../controller/kube/types.ts";
import type { FollowedChange } from "./messages.ts";

export class Followed<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #subscribers = new Set<() => void>();
  /** Whether all objects have come at least once. */
  isSynced = false;
  /** Why they are not followed at present; null while they are. */
  failure: ApiError | null = null;

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** Called after every change, also of `isSynced` and `failure`. */
  onChange(subscriber: () => void): void {
    this.#subscribers.add(subscriber);
  }

  change(
    { changes, isSynced, failure }: {
      readonly changes: readonly FollowedChange[];
      readonly isSynced: boolean;
      readonly failure: ApiError | null;
    },
  ): void {
    for (const { key, object } of changes) {
      if (object === null) this.#objects.delete(key);
      else this.#objects.set(key, object as T);
    }
    this.isSynced = isSynced;
    this.failure = failure;
    for (const subscriber of this.#subscribers) subscriber();
  }
}
