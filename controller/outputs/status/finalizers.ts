/**
 * Takes the Rust controller's finalizer off Ingresses. In: all Ingresses, of whatever class: it put
 * one on each. Out: none has it, and none that is deleted waits for a controller that is gone.
 *
 * By a JSON patch of the status subresource, which the API server lets change finalizers too: no
 * right to write Ingresses themselves is needed. The patch tests what it removes, so that no other
 * finalizer goes.
 */
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { WriteClient } from "../../kube/fenced_client.ts";
import type { ObjectView } from "../../kube/store.ts";
import type { WriteFence } from "../../kube/term.ts";
import { INGRESSES, type KubeObject, objectKey } from "../../kube/types.ts";
import { type Pace, WRITE_DEADLINE } from "../write/pace.ts";
import { type After, type WriteOutcome, WriteQueue } from "../write/queue.ts";

export const OLD_FINALIZER = "kinorca.com/pingress-controller";

export const FINALIZER_PACE: Pace = { rate: 20, burst: 50, inFlight: 4 };

/** Milliseconds from one removal to the next: the old controller, while it runs, puts it back. */
export const FINALIZER_INTERVAL = 10_000;

export interface FinalizerRemoverOptions {
  readonly client: WriteClient;
  /** All Ingresses, as they are now. Their `finalizers` must be whole and in order. */
  readonly ingresses: ObjectView<KubeObject>;
  readonly fence: Pick<WriteFence, "mayWrite">;
  readonly pace?: Pace;
  /** Milliseconds; 10,000 without it. */
  readonly leastInterval?: number;
  readonly clock?: Clock;
  readonly after?: After;
}

/** Works from its making until `close`. */
export class FinalizerRemover {
  readonly #options: FinalizerRemoverOptions;
  readonly #clock: Clock;
  readonly #queue: WriteQueue;
  readonly #unsubscribe: () => void;
  /** When it was taken off last, on the monotonic clock. */
  readonly #removedAt = new Map<string, number>();

  constructor(options: FinalizerRemoverOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#queue = new WriteQueue({
      pace: options.pace ?? FINALIZER_PACE,
      fence: options.fence,
      write: (key) => this.#write(key),
      clock: options.clock,
      after: options.after,
    });
    const { ingresses } = options;
    this.#unsubscribe = ingresses.subscribe(({ before, after }) => {
      if (after !== null) this.#look(after);
      else if (before !== null) this.#removedAt.delete(objectKey(before));
    });
    for (const ingress of ingresses.list()) this.#look(ingress);
  }

  /** Ingresses that are about to be written, as far as leave and pace allow. */
  get backlog(): number {
    return this.#queue.backlog;
  }

  /** Settles when no call is on its way any more. */
  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#queue.close();
  }

  #look(ingress: KubeObject): void {
    if (indexOfFinalizer(ingress) !== -1) this.#queue.add(objectKey(ingress));
  }

  async #write(key: string): Promise<WriteOutcome> {
    const { client, ingresses, leastInterval = FINALIZER_INTERVAL } = this.#options;
    const [namespace, name] = key.split("/");
    const ingress = ingresses.get(namespace, name);
    const index = ingress === null ? -1 : indexOfFinalizer(ingress);
    if (index === -1) return { kind: "unneeded" };
    const now = this.#clock.monotonic();
    const wait = (this.#removedAt.get(key) ?? -Infinity) + leastInterval - now;
    if (wait > 0) return { kind: "unneeded", again: wait };
    const path = `/metadata/finalizers/${index}`;
    const result = await client.patch(INGRESSES, namespace, name, [
      { op: "test", path, value: OLD_FINALIZER },
      { op: "remove", path },
    ], { type: "json", subresource: "status", deadline: WRITE_DEADLINE });
    if (!result.ok && result.error.code !== 404) {
      // 422: others have changed the list since; the informer will tell.
      return { kind: "failed", error: result.error };
    }
    this.#removedAt.set(key, now);
    return { kind: "done" };
  }
}

function indexOfFinalizer({ metadata }: KubeObject): number {
  return metadata.finalizers?.indexOf(OLD_FINALIZER) ?? -1;
}
