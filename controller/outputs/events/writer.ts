/**
 * Events about users' mistakes. In: all problems of a moment, again and again. Out: one Event for
 * each object and reason, which `kubectl describe` shows with the object.
 *
 * Created once, where the problem lasts; patched when its message changes, when the problem comes
 * back, and every half hour that it stays, since the API server forgets Events after one. Other
 * replicas, and this one after a restart, find it by its name.
 */
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/log.ts";
import type { ObjectRef, Problem } from "../../../shared/problem.ts";
import { eventMessage, eventName } from "./message.ts";
import {
  type EventRecord,
  namespaceOf,
  newEvent,
  repeatedEvent,
  type StoredEvent,
} from "./record.ts";
import type { WriteClient } from "../../kube/fenced_client.ts";
import type { ObjectView } from "../../kube/store.ts";
import type { WriteFence } from "../../kube/term.ts";
import {
  type ApiResult,
  apiVersionOf,
  EVENTS,
  type KubeObject,
  type Resource,
} from "../../kube/types.ts";
import { type Pace, WRITE_DEADLINE } from "../write/pace.ts";
import { type After, type WriteOutcome, WriteQueue } from "../write/queue.ts";

export const EVENT_PACE: Pace = { rate: 10, burst: 50, inFlight: 4 };

/** When Events are written. */
export interface EventTiming {
  /**
   * Milliseconds that a problem has to last before it is told of. Watches are not in step: an Ingress
   * may be seen before a Secret that is older, and users apply them in any order.
   */
  readonly patience: number;
  /** Milliseconds between two writes of one Event, however often its message changes. */
  readonly leastInterval: number;
  /** Milliseconds after which a problem that stays is told of again, and up to a sixth more. */
  readonly renewal: number;
  /** Objects and reasons that are kept in mind. */
  readonly maxRecords: number;
}

/** 10,000 Events take 17 minutes to write, and the API server keeps each for an hour. */
export const EVENT_TIMING: EventTiming = {
  patience: 1_000,
  leastInterval: 30_000,
  renewal: 30 * 60_000,
  maxRecords: 10_000,
};

/** Milliseconds that one is kept in mind after its problem has gone: as long as its Event lives. */
const MEMORY = 60 * 60_000;

/** Where objects are found that problems are about, by kind. */
export type EventSubjects = Readonly<
  Record<
    string,
    { readonly resource: Resource; readonly view: Pick<ObjectView<KubeObject>, "get"> }
  >
>;

export interface EventWriterOptions {
  readonly client: WriteClient;
  /** A problem of an object that is not there, or of another kind, gets no Event. */
  readonly subjects: EventSubjects;
  /** Which process reports: the pod's name. */
  readonly instance: string;
  readonly fence: Pick<WriteFence, "mayWrite">;
  readonly log: Logger;
  readonly pace?: Pace;
  readonly timing?: Partial<EventTiming>;
  readonly clock?: Clock;
  readonly after?: After;
  /** From 0 up to 1, for jitter. */
  readonly random?: () => number;
}

export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #timing: EventTiming;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #queue: WriteQueue;
  readonly #records = new Map<string, EventRecord>();
  /** Those whose problem may not last. */
  readonly #awaited = new Set<string>();
  #isFull = false;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#timing = { ...EVENT_TIMING, ...options.timing };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#queue = new WriteQueue({
      pace: options.pace ?? EVENT_PACE,
      fence: options.fence,
      write: (key) => this.#write(key),
      clock: options.clock,
      after: options.after,
      random: options.random,
    });
  }

  /** Events that are about to be written, as far as leave and pace allow, and their problems last. */
  get backlog(): number {
    let backlog = this.#queue.backlog;
    for (const key of this.#awaited) if (!this.#queue.has(key)) backlog++;
    return backlog;
  }

  /** Takes all problems that there are now. To be called after each translation. */
  sync(problems: readonly Problem[]): void {
    const now = this.#clock.monotonic();
    const groups = groupByEvent(problems);
    for (const [key, record] of this.#records) {
      if (groups.has(key)) continue;
      if (record.isPresent) {
        record.isPresent = false;
        record.goneAt = now;
      } else if (now - record.goneAt > MEMORY) this.#forget(key);
    }
    let left = 0;
    for (const [key, group] of groups) if (!this.#take(key, group)) left++;
    if (left > 0 && !this.#isFull) {
      this.#options.log.warn("Too many problems for Events; /problems lists all", { left });
    }
    this.#isFull = left > 0;
  }

  /** Settles when no call is on its way any more. */
  async close(): Promise<void> {
    await this.#queue.close();
  }

  /** Whether there is room for it. */
  #take(key: string, { object, problems }: EventGroup): boolean {
    const uid = this.#find(object)?.metadata.uid;
    if (uid === undefined) {
      this.#forget(key);
      return true;
    }
    const { reason } = problems[0];
    const message = eventMessage(problems);
    let record = this.#records.get(key);
    if (record !== undefined && record.uid !== uid) {
      this.#forget(key);
      record = undefined;
    }
    if (record === undefined) {
      if (this.#records.size >= this.#timing.maxRecords) return false;
      record = {
        name: eventName(object, uid, reason),
        object,
        uid,
        reason,
        message,
        isPresent: true,
        hasReturned: false,
        goneAt: 0,
        written: null,
      };
      this.#records.set(key, record);
      this.#await(key);
      return true;
    }
    if (!record.isPresent) record.hasReturned = record.written !== null;
    const isNews = !record.isPresent || record.message !== message;
    record.isPresent = true;
    record.message = message;
    if (!isNews || this.#queue.has(key)) return true;
    if (record.written === null) this.#await(key);
    else this.#queue.add(key);
    return true;
  }

  #await(key: string): void {
    this.#awaited.add(key);
    this.#queue.add(key, this.#timing.patience);
  }

  #forget(key: string): void {
    this.#records.delete(key);
    this.#awaited.delete(key);
    this.#queue.delete(key);
  }

  #find({ kind, namespace, name }: ObjectRef): KubeObject | null {
    return Object.hasOwn(this.#options.subjects, kind)
      ? this.#options.subjects[kind].view.get(namespace, name)
      : null;
  }

  async #write(key: string): Promise<WriteOutcome> {
    this.#awaited.delete(key);
    const record = this.#records.get(key);
    if (record === undefined || !record.isPresent) return { kind: "unneeded" };
    const { written, message } = record;
    if (written === null) return await this.#introduce(record);
    const age = this.#clock.monotonic() - written.at;
    if (message !== written.message || record.hasReturned) {
      const wait = this.#timing.leastInterval - age;
      return wait > 0
        ? { kind: "unneeded", again: wait }
        : await this.#repeat(record, written.count);
    }
    const wait = this.#timing.renewal - age;
    return wait > 0
      ? { kind: "unneeded", again: this.#jitter(wait) }
      : await this.#repeat(record, written.count);
  }

  /** The first time here; it may be there from another replica, or from before a restart. */
  async #introduce(record: EventRecord): Promise<WriteOutcome> {
    const subject = this.#find(record.object);
    // The problem is about to go as well.
    if (subject === null) return { kind: "unneeded" };
    const { message } = record;
    const event = newEvent(
      record,
      {
        apiVersion: apiVersionOf(this.#options.subjects[record.object.kind].resource),
        resourceVersion: subject.metadata.resourceVersion,
      },
      this.#options.instance,
      this.#timestamp(),
    );
    const made = await this.#options.client.create<StoredEvent>(EVENTS, event, {
      deadline: WRITE_DEADLINE,
    });
    if (made.ok) return this.#wrote(record, message, 1, 0);
    // The namespace is gone, and soon the object and its problem.
    if (made.error.code === 404) return { kind: "done" };
    if (made.error.code !== 409) return { kind: "failed", error: made.error };
    return await this.#adopt(record);
  }

  /** An empty patch changes nothing and gets the Event: a right to read it is not needed. */
  async #adopt(record: EventRecord): Promise<WriteOutcome> {
    const read = await this.#patch(record, {});
    if (!read.ok) return { kind: "failed", error: read.error };
    const { message, lastTimestamp } = read.value;
    const count = Number.isSafeInteger(read.value.count) ? read.value.count as number : 1;
    const age = this.#clock.now() - Date.parse(String(lastTimestamp));
    // The clocks of two replicas are not quite alike.
    if (message === record.message && Math.abs(age) < this.#timing.renewal) {
      return this.#wrote(record, message, count, Math.max(0, age));
    }
    return await this.#repeat(record, count);
  }

  async #repeat(record: EventRecord, before: number): Promise<WriteOutcome> {
    const { message } = record;
    const count = before + 1;
    const patch = repeatedEvent(message, count, this.#options.instance, this.#timestamp());
    const result = await this.#patch(record, patch);
    if (result.ok) return this.#wrote(record, message, count, 0);
    if (result.error.code !== 404) return { kind: "failed", error: result.error };
    // Forgotten by the API server, or deleted by hand.
    record.written = null;
    record.hasReturned = false;
    return { kind: "done", again: 0 };
  }

  #patch(record: EventRecord, patch: unknown): Promise<ApiResult<StoredEvent>> {
    return this.#options.client.patch(EVENTS, namespaceOf(record), record.name, patch, {
      type: "merge",
      deadline: WRITE_DEADLINE,
    });
  }

  /** @param age Milliseconds since it was written. */
  #wrote(record: EventRecord, message: string, count: number, age: number): WriteOutcome {
    record.written = { message, count, at: this.#clock.monotonic() - age };
    record.hasReturned = false;
    const isOld = record.message !== message;
    return { kind: "done", again: isOld ? 0 : this.#jitter(this.#timing.renewal - age) };
  }

  /** Up to a sixth more. */
  #jitter(ms: number): number {
    return ms * (1 + this.#random() / 6);
  }

  #timestamp(): string {
    return `${new Date(this.#clock.now()).toISOString().slice(0, 19)}Z`;
  }
}

interface EventGroup {
  readonly object: ObjectRef;
  readonly problems: Problem[];
}

/** Problems that one Event tells of; those that no object has are left to the log. */
function groupByEvent(problems: readonly Problem[]): Map<string, EventGroup> {
  const groups = new Map<string, EventGroup>();
  for (const problem of problems) {
    const { object, reason } = problem;
    if (object === null) continue;
    const key = `${object.kind}/${object.namespace}/${object.name}/${reason}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { object, problems: [problem] });
    else group.problems.push(problem);
  }
  return groups;
}
