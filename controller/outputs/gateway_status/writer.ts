/**
 * Writes of the status of one kind of Gateway API. In: what each object is to show, and the objects as the
 * informer has them. Out: patches of those that show something else.
 *
 * Lists of a status are shared with other controllers, and atomic, so server-side apply cannot own entries
 * of them: a merge patch names the resourceVersion that it was made for, and after a conflict the informer's
 * newer object is looked at.
 */
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/log.ts";
import type { WriteClient } from "../../kube/fenced_client.ts";
import { isAlike } from "../../kube/likeness.ts";
import type { ObjectView } from "../../kube/store.ts";
import type { WriteFence } from "../../kube/term.ts";
import { type KubeObject, objectKey, type Resource } from "../../kube/types.ts";
import { type Pace, WRITE_DEADLINE } from "../write/pace.ts";
import { type After, type WriteOutcome, WriteQueue } from "../write/queue.ts";
import type { StatusChange } from "./status_change.ts";

/** Of routes: 5,000 take half a minute. */
export const ROUTE_PACE: Pace = { rate: 200, burst: 400, inFlight: 16 };

/** Of Gateways and classes, of which there are fewer. */
export const GATEWAY_PACE: Pace = { rate: 50, burst: 100, inFlight: 8 };

/** What one object is to show. */
export interface WantedStatus {
  /** Of the object that it was made for: a newer one waits for the next translation. */
  readonly generation: number;
  /** Null where it shows that already. @param now In ms since the epoch. */
  change(status: unknown, now: number): StatusChange | null;
  /** Milliseconds until it may be written; 0 for now. */
  holdFor?(): number;
  /** Equal for what says the same, so that another controller is known by the difference. */
  readonly content: unknown;
}

/** Milliseconds between two writes of one object. */
export interface StatusIntervals {
  readonly least: number;
  /** Where nothing but counts change: doubled from `least` on, up to this. */
  readonly mostOfCounts: number;
}

const NO_INTERVALS: StatusIntervals = { least: 0, mostOfCounts: 0 };

/** `attachedRoutes` changes with every route: a thousand that come at once are no thousand writes. */
export const GATEWAY_INTERVALS: StatusIntervals = { least: 250, mostOfCounts: 1_500 };

/** Milliseconds from a write to the next of the same: another controller writes there too. */
const FIRST_PEACE = 10_000;
const LAST_PEACE = 600_000;

/**
 * Writes of one object, of one generation, before the next have to wait: a status that changes by itself, for whatever
 * reason, must not take the API server's disk.
 */
const RESTLESS_AFTER = 8;

/** Milliseconds that the first of these waits, doubled with each further one, and the most. */
const FIRST_REST = 1_000;
const LAST_REST = 60_000;

/** Milliseconds without a write, beside the rest, after which an object counts as calm again. */
const CALM_AFTER = 60_000;

/** Milliseconds after a conflict until it is looked at again, if the informer has nothing new. */
const CONFLICT_PAUSE = 1_000;

export interface GatewayStatusWriterOptions {
  readonly resource: Resource;
  readonly client: Pick<WriteClient, "patch">;
  readonly objects: ObjectView<KubeObject & { readonly status?: unknown }>;
  readonly fence: Pick<WriteFence, "mayWrite">;
  readonly log: Logger;
  readonly pace: Pace;
  readonly intervals?: StatusIntervals;
  /** Told of each object that was written, as the API server has stored it. */
  readonly onWritten?: (object: KubeObject, change: StatusChange) => void;
  /** Milliseconds; 10,000 without it. */
  readonly firstPeace?: number;
  readonly clock?: Clock;
  readonly after?: After;
}

/** The last write of an object. */
interface LastWrite {
  readonly uid: string | undefined;
  readonly generation: number;
  readonly content: unknown;
  readonly at: number;
  /** Milliseconds; the same is not written again before they are over. */
  readonly peace: number;
  /** Writes up to this one that followed each other soon, of more than counts. */
  readonly writesInARow: number;
  /** Milliseconds; a change of counts alone is not written before they are over. */
  readonly countInterval: number;
}

export class GatewayStatusWriter {
  readonly #options: GatewayStatusWriterOptions;
  readonly #clock: Clock;
  readonly #queue: WriteQueue;
  readonly #intervals: StatusIntervals;
  readonly #unsubscribe: () => void;
  readonly #lastWrites = new Map<string, LastWrite>();
  #wanted: ReadonlyMap<string, WantedStatus> = new Map();
  /** Objects that show what they should, each with what that was. */
  readonly #right = new Map<string, { readonly object: object; readonly wanted: WantedStatus }>();

  constructor(options: GatewayStatusWriterOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#intervals = options.intervals ?? NO_INTERVALS;
    this.#queue = new WriteQueue({
      pace: options.pace,
      fence: options.fence,
      write: (key) => this.#write(key),
      clock: options.clock,
      after: options.after,
    });
    // What another one writes must be put right although nothing is to be translated.
    this.#unsubscribe = options.objects.subscribe(({ before, after }) => {
      const key = objectKey((after ?? before)!);
      if (after !== null) return this.look(key);
      this.#lastWrites.delete(key);
      this.#right.delete(key);
    });
  }

  /** Objects that are about to be written, as far as leave and pace allow. */
  get backlog(): number {
    return this.#queue.backlog;
  }

  /** @param wanted By `namespace/name`; the namespace is "" for a kind that has none. */
  sync(wanted: ReadonlyMap<string, WantedStatus>): void {
    this.#wanted = new Map(
      wanted.entries().map(([key, next]) => {
        const before = this.#wanted.get(key);
        const isSame = before !== undefined && before.generation === next.generation &&
          isAlike(before.content, next.content);
        return [key, isSame ? before : next];
      }),
    );
    for (const key of this.#right.keys()) if (!this.#wanted.has(key)) this.#right.delete(key);
    for (const key of this.#wanted.keys()) this.look(key);
  }

  /** Has an object written if it shows something else than it should. */
  look(key: string): void {
    const { wanted, change } = this.#differenceOf(key);
    if (change === null) return;
    this.#queue.add(key, Math.max(wanted!.holdFor?.() ?? 0, this.#pauseOf(key, wanted!, change)));
  }

  /** Whoever leads now may have written in between. */
  forget(): void {
    this.#lastWrites.clear();
  }

  /** Settles when no call is on its way any more. */
  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#queue.close();
  }

  #differenceOf(key: string): {
    readonly object: KubeObject | null;
    readonly wanted: WantedStatus | null;
    readonly change: StatusChange | null;
  } {
    const nothing = { object: null, wanted: null, change: null };
    const wanted = this.#wanted.get(key);
    if (wanted === undefined) return nothing;
    const object = this.#options.objects.get(...namesOf(key));
    if (object === null || (object.metadata.generation ?? 0) !== wanted.generation) return nothing;
    const right = this.#right.get(key);
    if (right?.object === object && right.wanted === wanted) return nothing;
    const change = wanted.change(object.status, this.#clock.now());
    if (change === null) this.#right.set(key, { object, wanted });
    else this.#right.delete(key);
    return { object, wanted, change };
  }

  /** Milliseconds from now on. */
  #pauseOf(key: string, { generation }: WantedStatus, { isCountOnly }: StatusChange): number {
    const last = this.#lastWrites.get(key);
    if (last === undefined) return 0;
    const interval = isCountOnly
      ? last.countInterval
      : Math.max(this.#intervals.least, last.generation === generation ? restAfter(last) : 0);
    return Math.max(0, last.at + interval - this.#clock.monotonic());
  }

  async #write(key: string): Promise<WriteOutcome> {
    const { object, wanted, change } = this.#differenceOf(key);
    if (object === null || change === null) return { kind: "unneeded" };
    const pause = Math.max(wanted!.holdFor?.() ?? 0, this.#pauseOf(key, wanted!, change));
    if (pause > 0) return { kind: "unneeded", again: pause };
    const now = this.#clock.monotonic();
    const last = this.#lastWrites.get(key) ?? null;
    const isAgain = last !== null && last.uid === object.metadata.uid &&
      last.generation === wanted!.generation && isAlike(last.content, wanted!.content);
    if (isAgain && now < last.at + last.peace) {
      return { kind: "unneeded", again: last.at + last.peace - now };
    }
    const { resource, client, objects } = this.#options;
    const [namespace, name] = namesOf(key);
    const result = await client.patch(resource, namespace === "" ? null : namespace, name, {
      metadata: { resourceVersion: objects.versionOf(namespace, name) },
      status: change.fields,
    }, { type: "merge", subresource: "status", deadline: WRITE_DEADLINE });
    if (!result.ok) {
      const { code } = result.error;
      if (code === 404) return { kind: "done" };
      if (code === 409) return { kind: "done", again: CONFLICT_PAUSE };
      return { kind: "failed", error: result.error };
    }
    this.#written(key, object, wanted!, change, isAgain ? last : null, now);
    this.#options.onWritten?.(result.value, change);
    return { kind: "done" };
  }

  /** @param before The last write, if it was of the same. */
  #written(
    key: string,
    { metadata: { uid } }: KubeObject,
    { generation, content }: WantedStatus,
    { isCountOnly }: StatusChange,
    before: LastWrite | null,
    now: number,
  ): void {
    const { resource, log, firstPeace = FIRST_PEACE } = this.#options;
    const isFight = before !== null && now - before.at < LAST_PEACE + before.peace;
    if (isFight && before.peace === firstPeace) {
      log.warn("Another controller also writes our part of a status", {
        kind: resource.kind,
        object: key.replace(/^\//, ""),
      });
    }
    const { least, mostOfCounts } = this.#intervals;
    const last = this.#lastWrites.get(key);
    const isQuiet = last === undefined || now - last.at > 2 * mostOfCounts;
    const interval = isQuiet ? least : last.countInterval;
    const isRestless = last !== undefined && last.uid === uid && last.generation === generation &&
      now - last.at < restAfter(last) + CALM_AFTER;
    const writesInARow = (isRestless ? last.writesInARow : 0) + (isCountOnly ? 0 : 1);
    if (writesInARow === RESTLESS_AFTER && last?.writesInARow !== RESTLESS_AFTER) {
      log.warn("A status changes again and again", {
        kind: resource.kind,
        object: key.replace(/^\//, ""),
      });
    }
    this.#lastWrites.set(key, {
      ...{ uid, generation, content, at: now, writesInARow },
      peace: isFight ? Math.min(LAST_PEACE, 2 * before.peace) : firstPeace,
      countInterval: isCountOnly ? Math.min(mostOfCounts, 2 * interval) : least,
    });
  }
}

/** Milliseconds from a write to the next of the same generation. */
function restAfter({ writesInARow }: LastWrite): number {
  const over = writesInARow - RESTLESS_AFTER;
  return over < 0 ? 0 : Math.min(LAST_REST, FIRST_REST * 2 ** over);
}

/** Of an object's key: its namespace, "" for none, and its name. */
function namesOf(key: string): [namespace: string, name: string] {
  const slash = key.indexOf("/");
  return [key.slice(0, slash), key.slice(slash + 1)];
}
