/**
 * The status of Ingresses. In: which of them are served, and under which addresses. Out: those
 * addresses in `status.loadBalancer.ingress` of each, and no longer in that of others.
 *
 * Written by server-side apply with the resourceVersion that was looked at: an Ingress that has
 * changed since, perhaps to another class, is not written. Addresses that another controller has
 * written are replaced where we serve, and never taken away.
 */
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/log.ts";
import type { ObjectRef } from "../../../shared/problem.ts";
import type { WriteClient } from "../../kube/fenced_client.ts";
import type { ObjectView } from "../../kube/store.ts";
import type { WriteFence } from "../../kube/term.ts";
import { INGRESSES, objectKey } from "../../kube/types.ts";
import { type IngressAddress, textOf } from "./address.ts";
import { hasOurStatus, isSameClaim, showsAddresses, type StatusIngress } from "./ingress.ts";
import { keyOf } from "../../base/identity.ts";
import { type Pace, WRITE_DEADLINE } from "../write/pace.ts";
import { type After, type WriteOutcome, WriteQueue } from "../write/queue.ts";

/** 5,000 Ingresses take about four minutes. */
export const STATUS_PACE: Pace = { rate: 20, burst: 50, inFlight: 8 };

/** Milliseconds from a write to the next of the same addresses: another writes there too. */
const FIRST_PEACE = 10_000;
const LAST_PEACE = 600_000;

export interface StatusTarget {
  /** What was translated. */
  readonly ingresses: readonly StatusIngress[];
  /** Those of them that are served: the objects of the translation's statuses. */
  readonly served: readonly ObjectRef[];
  /**
   * Those of them of which no path reaches a backend: they get no address of ours, so that no DNS
   * record leads clients to them, but keep one that they have.
   */
  readonly unready?: readonly ObjectRef[];
  /** Those of them that another controller writes: whatever they show, ours or not, stays. */
  readonly untouched?: readonly ObjectRef[];
  /** Empty where there is none yet; null where it is not known, which leaves those that stand. */
  readonly addresses: readonly IngressAddress[] | null;
}

export interface StatusWriterOptions {
  readonly client: WriteClient;
  /** All Ingresses, as they are now. */
  readonly ingresses: ObjectView<StatusIngress>;
  readonly fence: Pick<WriteFence, "mayWrite">;
  readonly log: Logger;
  readonly pace?: Pace;
  /** Milliseconds; 10,000 without it. */
  readonly firstPeace?: number;
  readonly clock?: Clock;
  readonly after?: After;
}

/** The last write of an Ingress, by which it is seen that another one writes it too. */
interface LastWrite {
  readonly uid: string | undefined;
  readonly addresses: readonly IngressAddress[];
  readonly at: number;
  /** Milliseconds; the same is not written again before they are over. */
  readonly peace: number;
}

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #clock: Clock;
  readonly #queue: WriteQueue;
  readonly #unsubscribe: () => void;
  readonly #lastWrites = new Map<string, LastWrite>();
  #addresses: readonly IngressAddress[] | null = null;
  /** As they were when it was decided that they are served. */
  #served: ReadonlyMap<string, StatusIngress> = new Map();
  /** Not served, but with our addresses. */
  #left: ReadonlyMap<string, StatusIngress> = new Map();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#queue = new WriteQueue({
      pace: options.pace ?? STATUS_PACE,
      fence: options.fence,
      write: (key) => this.#write(key),
      clock: options.clock,
      after: options.after,
    });
    // What another one writes must be put right although nothing is to be translated.
    this.#unsubscribe = options.ingresses.subscribe(({ before, after }) => {
      const key = objectKey((after ?? before)!);
      if (after === null) this.#lastWrites.delete(key);
      else if (this.#wanted(key) !== null) this.#queue.add(key);
    });
  }

  /** Ingresses whose status is about to be written, as far as leave and pace allow. */
  get backlog(): number {
    return this.#queue.backlog;
  }

  /** Has everything written that differs from `target`. To be called after each translation. */
  sync({ ingresses, served, unready = [], untouched = [], addresses }: StatusTarget): void {
    const refs = new Set(served.map(keyOf));
    const unreadyRefs = new Set(unready.map(keyOf));
    const untouchedRefs = new Set(untouched.map(keyOf));
    const isServed = new Map<string, StatusIngress>();
    const isLeft = new Map<string, StatusIngress>();
    for (const ingress of ingresses) {
      const key = objectKey(ingress);
      if (untouchedRefs.has(key)) continue;
      if (unreadyRefs.has(key) && !hasOurStatus(ingress)) continue;
      if (refs.has(key)) isServed.set(key, ingress);
      else if (hasOurStatus(ingress)) isLeft.set(key, ingress);
    }
    this.#addresses = addresses;
    this.#served = isServed;
    this.#left = isLeft;
    for (const key of [...isServed.keys(), ...isLeft.keys()]) {
      if (!this.#queue.has(key) && this.#wanted(key) !== null) this.#queue.add(key);
    }
  }

  /** Settles when no call is on its way any more. */
  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#queue.close();
  }

  /** What an Ingress is to show, empty for nothing of ours; null where it is as it should be. */
  #wanted(key: string): { ingress: StatusIngress; addresses: readonly IngressAddress[] } | null {
    const served = this.#served.get(key);
    const decided = served ?? this.#left.get(key);
    if (decided === undefined) return null;
    const { namespace = "", name } = decided.metadata;
    const ingress = this.#options.ingresses.get(namespace, name);
    if (ingress === null || ingress.metadata.deletionTimestamp !== undefined) return null;
    // Whether it is still ours to serve, the next translation decides.
    if (!isSameClaim(decided, ingress)) return null;
    const addresses = served === undefined ? [] : this.#addresses;
    if (addresses === null) return null;
    const isRight = addresses.length === 0
      ? !hasOurStatus(ingress)
      : showsAddresses(ingress, addresses);
    return isRight ? null : { ingress, addresses };
  }

  async #write(key: string): Promise<WriteOutcome> {
    const wanted = this.#wanted(key);
    if (wanted === null) return { kind: "unneeded" };
    const { ingress: { metadata }, addresses } = wanted;
    const now = this.#clock.monotonic();
    const last = this.#lastWrites.get(key);
    const isAgain = last !== undefined && last.uid === metadata.uid &&
      isSameList(last.addresses, addresses);
    if (isAgain && now < last.at + last.peace) {
      return { kind: "unneeded", again: last.at + last.peace - now };
    }
    const { client, ingresses, log } = this.#options;
    const { namespace = "", name } = metadata;
    const result = await client.apply(INGRESSES, {
      metadata: { namespace, name },
      // Without a status, what was applied before goes, and our entry in managedFields with it.
      ...(addresses.length === 0 ? {} : { status: { loadBalancer: { ingress: addresses } } }),
    }, {
      subresource: "status",
      resourceVersion: ingresses.versionOf(namespace, name),
      deadline: WRITE_DEADLINE,
    });
    if (!result.ok) {
      if (result.error.code === 404) return { kind: "done" };
      // A conflict resolves itself when the informer has the newer Ingress.
      return { kind: "failed", error: result.error };
    }
    const firstPeace = this.#options.firstPeace ?? FIRST_PEACE;
    const isFight = isAgain && now - last.at < LAST_PEACE + last.peace;
    if (isFight && last.peace === firstPeace) {
      log.warn("Another controller also writes the status of a served Ingress", {
        ingress: key,
        addresses: addresses.map(textOf),
      });
    }
    const peace = isFight ? Math.min(LAST_PEACE, 2 * last.peace) : firstPeace;
    this.#lastWrites.set(key, { uid: metadata.uid, addresses, at: now, peace });
    return { kind: "done" };
  }
}

function isSameList(a: readonly IngressAddress[], b: readonly IngressAddress[]): boolean {
  return a.length === b.length && a.every((address, i) => textOf(address) === textOf(b[i]));
}
