/**
 * The finalizer of GatewayClasses that are in use. In: classes and Gateways as informers have them. Out:
 * each class of ours has it while a Gateway names the class, so that it is not deleted before them.
 *
 * The API server changes finalizers of custom resources with the object itself only, not with its status:
 * this is why `patch` on gatewayclasses is needed.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#gatewayclass
 */
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { fieldOf } from "../../base/json.ts";
import type { WriteClient } from "../../kube/fenced_client.ts";
import type { ObjectView } from "../../kube/store.ts";
import type { WriteFence } from "../../kube/term.ts";
import { GATEWAY_CLASSES, type KubeObject } from "../../kube/types.ts";
import { GATEWAY_CONTROLLER } from "../../translate/gateway/objects/gateway_class.ts";
import { type Pace, WRITE_DEADLINE } from "../write/pace.ts";
import { type After, type WriteOutcome, WriteQueue } from "../write/queue.ts";

export const CLASS_FINALIZER = "gateway-exists-finalizer.gateway.networking.k8s.io";

const PACE: Pace = { rate: 5, burst: 10, inFlight: 2 };

/** Milliseconds after a conflict until it is looked at again. */
const CONFLICT_PAUSE = 1_000;

/** Milliseconds from one write of a class to the next: another controller may put back what we change. */
const INTERVAL = 10_000;

type Object = KubeObject & { readonly spec?: unknown };

export interface ClassFinalizerOptions {
  readonly client: Pick<WriteClient, "patch">;
  readonly classes: ObjectView<Object>;
  /** Of all namespaces that are served; nothing is removed before they are listed. */
  readonly gateways: ObjectView<Object>;
  readonly fence: Pick<WriteFence, "mayWrite">;
  readonly clock?: Clock;
  readonly after?: After;
}

/** Works from its making until `close`. */
export class ClassFinalizer {
  readonly #options: ClassFinalizerOptions;
  readonly #queue: WriteQueue;
  readonly #clock: Clock;
  readonly #unsubscribe: (() => void)[];
  /** When each was written last, on the monotonic clock, in ms. */
  readonly #writtenAt = new Map<string, number>();

  constructor(options: ClassFinalizerOptions) {
    this.#options = options;
    const { classes, gateways, fence, clock, after } = options;
    this.#clock = clock ?? systemClock;
    this.#queue = new WriteQueue({
      pace: PACE,
      write: (name) => this.#write(name),
      ...{ fence, clock, after },
    });
    this.#unsubscribe = [classes, gateways].map((view) => view.onUpdate(() => this.#look()));
    this.#look();
  }

  /** Classes that are about to be written. */
  get backlog(): number {
    return this.#queue.backlog;
  }

  /** Settles when no call is on its way any more. */
  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#queue.close();
  }

  #look(): void {
    const { classes, gateways } = this.#options;
    if (!classes.isSynced || !gateways.isSynced) return;
    for (const name of this.#writtenAt.keys()) {
      if (classes.get("", name) === null) this.#writtenAt.delete(name);
    }
    const used = this.#used();
    for (const object of classes.list()) {
      if (wantedFinalizers(object, used) !== null) this.#queue.add(object.metadata.name);
    }
  }

  #used(): ReadonlySet<unknown> {
    return new Set(
      this.#options.gateways.list().map(({ spec }) => fieldOf(spec, "gatewayClassName")),
    );
  }

  async #write(name: string): Promise<WriteOutcome> {
    const { client, classes, gateways } = this.#options;
    const object = classes.get("", name);
    const finalizers = object === null || !gateways.isSynced
      ? null
      : wantedFinalizers(object, this.#used());
    if (finalizers === null) return { kind: "unneeded" };
    const now = this.#clock.monotonic();
    const wait = (this.#writtenAt.get(name) ?? -Infinity) + INTERVAL - now;
    // A class that is being deleted waits for nobody.
    if (wait > 0 && object?.metadata.deletionTimestamp === undefined) {
      return { kind: "unneeded", again: wait };
    }
    const result = await client.patch(GATEWAY_CLASSES, null, name, {
      metadata: { resourceVersion: classes.versionOf("", name), finalizers },
    }, { type: "merge", deadline: WRITE_DEADLINE });
    if (result.ok) this.#writtenAt.set(name, now);
    if (result.ok || result.error.code === 404) return { kind: "done" };
    if (result.error.code === 409) return { kind: "done", again: CONFLICT_PAUSE };
    return { kind: "failed", error: result.error };
  }
}

/**
 * Null where they are as they should be. Whoever deletes a class that is not in use any more cannot be held
 * up, and one that is being deleted takes no new finalizer.
 */
export function wantedFinalizers(
  { metadata: { name, finalizers = [], deletionTimestamp }, spec }: Object,
  usedClasses: ReadonlySet<unknown>,
): readonly string[] | null {
  if (fieldOf(spec, "controllerName") !== GATEWAY_CONTROLLER) return null;
  const has = finalizers.includes(CLASS_FINALIZER);
  if (usedClasses.has(name)) {
    return has || deletionTimestamp !== undefined ? null : [...finalizers, CLASS_FINALIZER];
  }
  return has ? finalizers.filter((one) => one !== CLASS_FINALIZER) : null;
}
