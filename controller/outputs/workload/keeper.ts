/**
 * Keeps the proxy workload as it is planned. In: a plan, and the objects as watches show them. Out:
 * calls to the API server for what is not as planned, and what it refuses as problems.
 *
 * Call `sync` whenever the plan or one of the objects has changed; it writes nothing where nothing
 * is to be done. Foreign changes of fields that the plan sets are put back, all others stay. None
 * carries an owner reference: whoever deletes the controller keeps the proxies.
 */
import type { ObjectRef, Problem } from "../../../shared/problem.ts";
import { Backoff } from "../../kube/backoff.ts";
import { FIELD_MANAGER, type KubeClient } from "../../kube/client.ts";
import { isAlike } from "../../kube/likeness.ts";
import { ABORTED, type ApiError, type KubeObject, SECRETS } from "../../kube/types.ts";
import { fieldOf } from "../../base/json.ts";
import { allWorkloadRefs } from "./objects.ts";
import { healthProblems, podsOf, type WorkloadStatus, workloadStatus } from "./health.ts";
import { WORKLOAD_RESOURCES } from "./kinds.ts";
import { MANAGED_BY_LABEL, OWNER_LABELS, PREDECESSOR } from "./names.ts";
import type { PlannedObject, PlannedRef, WorkloadKind, WorkloadPlan } from "./options.ts";
import { hasApplied, isOurs, takeoverPatch } from "./ownership.ts";
import { projection } from "./projection.ts";
import { refusalProblem } from "./refusal.ts";

/** Who owns the number of replicas between our last word on it and the autoscaler's first. */
const REPLICAS_MANAGER = `${FIELD_MANAGER}-replicas`;

/** Between two tries of what the API server did not take. */
const FAILURES = { first: 1_000, last: 60_000 };

/** Between two times that one foreign change is put back: who insists must not keep us busy. */
const PUT_BACKS = { first: 1_000, last: 60_000 };

/** Milliseconds after which whoever changed our fields has given up. */
const PEACE = 600_000;

export interface WorkloadKeeperOptions {
  readonly client: Pick<KubeClient, "apply" | "delete" | "get" | "patch">;
  readonly namespace: string;
  /** The object as a synced watch shows it; null where it shows none. */
  readonly live: (kind: WorkloadKind) => KubeObject | null;
  /** Asked before each write: whether we lead. */
  readonly mayWrite: () => boolean;
  /** Milliseconds that never go back. */
  readonly now?: () => number;
}

/** One write that was done. */
export interface WorkloadChange {
  readonly object: ObjectRef;
  readonly verb: "applied" | "put back" | "taken over" | "deleted";
}

export interface SyncResult {
  /** Of the plan, and what the API server refuses for good. */
  readonly problems: readonly Problem[];
  /** What failed now, be it for good or not. For logs. */
  readonly failures: readonly { readonly object: ObjectRef; readonly error: ApiError }[];
  readonly changes: readonly WorkloadChange[];
  /** Milliseconds after which to sync again although nothing changes; null for never. */
  readonly retryAfter: number | null;
}

export interface Health {
  /** One of each workload that is there: two while a backend takes the other's place. */
  readonly statuses: readonly WorkloadStatus[];
  readonly problems: readonly Problem[];
}

/** What we know of one object that we apply. */
interface Entry {
  /** What was tried to apply last, as text; "" before. */
  tried: string;
  /** What was applied last, as text; "" before. */
  applied: string;
  /** That it has since then. */
  generation: number;
  /** What the API server made of it. */
  expected: unknown;
  /** No call about it before. */
  notBefore: number;
  readonly failures: Backoff;
  readonly putBacks: Backoff;
  lastPutBack: number;
  problem: Problem | null;
}

/** One run. */
class Work {
  readonly problems: Problem[] = [];
  readonly failures: { object: ObjectRef; error: ApiError }[] = [];
  readonly changes: WorkloadChange[] = [];
  retryAfter: number | null = null;

  again(milliseconds: number): void {
    this.retryAfter = Math.min(this.retryAfter ?? Infinity, Math.max(0, milliseconds));
  }
}

export class WorkloadKeeper {
  readonly #options: WorkloadKeeperOptions;
  readonly #now: () => number;
  readonly #entries = new Map<WorkloadKind, Entry>();
  /** Until we know that nothing of the Pingress Controller in Rust is there. */
  #hasPredecessor = true;
  /** No call about its Secret before. */
  #predecessorNotBefore = -Infinity;
  /** One run at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: WorkloadKeeperOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Makes the objects as planned. Never throws for what the API server says. */
  sync(plan: WorkloadPlan): Promise<SyncResult> {
    return this.#run(async (work) => {
      work.problems.push(...plan.problems);
      if (plan.apply.length === 0) return;
      // An autoscaler that stays would fight for the number of replicas.
      const first = plan.remove.filter(({ kind }) => isAutoscalerOf(kind, plan));
      for (const ref of first) await this.#delete(ref, work);
      for (const object of plan.apply) await this.#ensure(object, firstReplicas(plan), work);
      if (!this.#isReplaced(plan)) return;
      const rest = plan.remove.filter((ref) => !first.includes(ref));
      for (const ref of rest) await this.#delete(ref, work);
      if (plan.apply.some(({ kind }) => kind === "DaemonSet") || !this.#has("DaemonSet")) {
        await this.#deletePredecessorSecret(work);
      }
    });
  }

  /** Deletes all of it, the Service only if asked to: its address would be lost. */
  remove({ service }: { readonly service: boolean }): Promise<SyncResult> {
    return this.#run(async (work) => {
      for (const ref of allWorkloadRefs(this.#options.namespace)) {
        if (service || ref.kind !== "Service") await this.#delete(ref, work);
      }
      if (!this.#has("DaemonSet")) await this.#deletePredecessorSecret(work);
    });
  }

  /** Forgets what it knows: the next run asks the API server for every object. For a new leader. */
  reset(): void {
    this.#entries.clear();
    this.#hasPredecessor = true;
    this.#predecessorNotBefore = -Infinity;
  }

  /**
   * How many proxies there should be and are, and what keeps the others away.
   * @param pods with the proxies' selector. @param now in ms since 1970.
   */
  health(pods: readonly KubeObject[], now: number): Health {
    const workloads = (["DaemonSet", "Deployment"] as const).flatMap((kind) => {
      const there = this.#options.live(kind);
      return there === null ? [] : [{ ...there, kind }];
    });
    return {
      statuses: workloads.map(workloadStatus),
      problems: workloads.flatMap((one) => healthProblems(one, podsOf(one, pods), now)),
    };
  }

  #run(step: (work: Work) => Promise<void>): Promise<SyncResult> {
    const run = this.#last.then(async () => {
      const work = new Work();
      await step(work);
      return work;
    });
    this.#last = run.catch(() => {});
    return run;
  }

  async #ensure(wanted: PlannedObject, first: number, work: Work): Promise<void> {
    const { live, mayWrite } = this.#options;
    const { kind } = wanted;
    const entry = this.#entryOf(kind);
    const text = JSON.stringify(wanted);
    const isNew = entry.applied !== text;
    if (!isNew && this.#isAsApplied(wanted, live(kind), entry)) return;
    if (entry.tried === text && this.#mustWait(entry, work)) return;
    if (!mayWrite()) return;
    entry.tried = text;
    // What a watch shows may be older than our own last write.
    const { namespace, resource, ref } = this.#placeOf(kind);
    const got = await this.#options.client.get(resource, namespace, ref.name);
    if (!got.ok && got.error.code !== 404) return this.#failed(ref, got.error, entry, work);
    const there = got.ok ? got.value : null;
    if (!isNew && this.#isAsApplied(wanted, there, entry)) return;
    // It is on its way out; the watch tells when it has gone.
    if (there?.metadata.deletionTimestamp !== undefined) return;
    const prepared = there === null ? null : await this.#prepare(wanted, there, work);
    if (prepared !== null) return this.#failed(ref, prepared, entry, work);
    if (!mayWrite()) return;
    const applied = await this.#options.client.apply(resource, wanted);
    if (!applied.ok) return this.#failed(ref, applied.error, entry, work);
    // A new leader finds what the last one has applied.
    if (there?.metadata.resourceVersion !== applied.value.metadata.resourceVersion) {
      work.changes.push({ object: ref, verb: isNew ? "applied" : "put back" });
    }
    if (there === null) await this.#startReplicas(wanted, first, work);
    entry.applied = text;
    entry.expected = projection(wanted, applied.value);
    entry.generation = applied.value.metadata.generation ?? 0;
    entry.problem = null;
    entry.failures.reset();
    if (isNew) entry.notBefore = 0;
    else this.#pace(entry);
  }

  /** An autoscaler begins with what is there, and a new Deployment without a number has one pod. */
  async #startReplicas(wanted: PlannedObject, replicas: number, work: Work): Promise<void> {
    const { client, mayWrite } = this.#options;
    const isLeft = wanted.kind === "Deployment" && fieldOf(wanted.spec, "replicas") === undefined;
    if (!isLeft || replicas === 1 || !mayWrite()) return;
    const { namespace, resource, ref } = this.#placeOf(wanted.kind);
    const applied = await client.apply(
      resource,
      { metadata: { name: ref.name, namespace }, spec: { replicas } } as KubeObject,
      { fieldManager: REPLICAS_MANAGER },
    );
    if (!applied.ok) work.failures.push({ object: ref, error: applied.error });
  }

  /** Whether a call that failed, or was in vain, is too short ago. */
  #mustWait(entry: Entry, work: Work): boolean {
    const wait = entry.notBefore - this.#now();
    if (wait <= 0) return false;
    if (entry.problem !== null) work.problems.push(entry.problem);
    work.again(wait);
    return true;
  }

  #isAsApplied(wanted: PlannedObject, there: KubeObject | null, entry: Entry): boolean {
    return there !== null && isAlike(projection(wanted, there), entry.expected);
  }

  /** What must be done to an object before it can be applied; an error where that failed. */
  async #prepare(wanted: PlannedObject, there: KubeObject, work: Work): Promise<ApiError | null> {
    const { client, mayWrite } = this.#options;
    const { namespace, resource, ref } = this.#placeOf(wanted.kind);
    const patch = takeoverPatch(there, PREDECESSOR.fieldManager);
    if (patch !== null && mayWrite()) {
      const patched = await client.patch(resource, namespace, ref.name, patch, { type: "json" });
      if (!patched.ok) return patched.error;
      work.changes.push({ object: ref, verb: "taken over" });
    }
    const replicas = fieldOf(fieldOf(there, "spec"), "replicas");
    const isLetGo = wanted.kind === "Deployment" && replicas !== undefined &&
      fieldOf(wanted.spec, "replicas") === undefined && isOurs(there, ["spec", "replicas"]);
    if (isLetGo && mayWrite()) {
      // A field that nobody owns any more falls back to its default: one proxy for all the traffic.
      // https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership
      const { metadata: { name } } = wanted;
      const handed = await client.apply(
        resource,
        { metadata: { name, namespace }, spec: { replicas } } as KubeObject,
        { fieldManager: REPLICAS_MANAGER },
      );
      if (!handed.ok) return handed.error;
    }
    return null;
  }

  #failed(ref: PlannedRef, error: ApiError, entry: Entry, work: Work): void {
    work.failures.push({ object: ref, error });
    entry.problem = refusalProblem(ref, error);
    if (entry.problem !== null) work.problems.push(entry.problem);
    const wait = entry.failures.next(error.retryAfter);
    entry.notBefore = this.#now() + wait;
    work.again(wait);
  }

  #pace(entry: Entry): void {
    const now = this.#now();
    if (now - entry.lastPutBack > PEACE) entry.putBacks.reset();
    entry.lastPutBack = now;
    entry.notBefore = now + entry.putBacks.next();
  }

  /** Whether what the plan runs can do the work of what it replaces. */
  #isReplaced({ apply }: WorkloadPlan): boolean {
    const { kind } = apply.find(({ kind }) => isPodKind(kind))!;
    const there = this.#options.live(kind);
    // What the watch shows may be from before our own write, and complete in its old form.
    const { applied, generation } = this.#entryOf(kind);
    const isSeen = applied !== "" && (there?.metadata.generation ?? 0) >= generation;
    if (there === null || !isSeen) return false;
    const { desired, isComplete } = workloadStatus({ ...there, kind });
    return isComplete && desired > 0;
  }

  /** Only what we, or the Pingress Controller in Rust, have made. */
  async #delete(ref: PlannedRef, work: Work): Promise<void> {
    const { client, live, mayWrite } = this.#options;
    const there = live(ref.kind);
    const isOwned = there?.metadata.labels?.[MANAGED_BY_LABEL] === OWNER_LABELS[MANAGED_BY_LABEL];
    if (there === null || !isOwned || there.metadata.deletionTimestamp !== undefined) return;
    const entry = this.#entryOf(ref.kind);
    if (entry.failures.failures > 0 && this.#mustWait(entry, work)) return;
    if (!mayWrite()) return;
    const { namespace, resource } = this.#placeOf(ref.kind);
    const { uid } = there.metadata;
    const deleted = await client.delete(resource, namespace, ref.name, { uid });
    // 409: another one has the name by now; the watch will show it.
    if (!deleted.ok && deleted.error.code !== 404 && deleted.error.code !== 409) {
      return this.#failed(ref, deleted.error, entry, work);
    }
    this.#entries.delete(ref.kind);
    if (deleted.ok) work.changes.push({ object: ref, verb: "deleted" });
  }

  /** Call it when no pod can mount it any more. */
  async #deletePredecessorSecret(work: Work): Promise<void> {
    const { client, mayWrite, namespace } = this.#options;
    if (!this.#hasPredecessor || !mayWrite()) return;
    const wait = this.#predecessorNotBefore - this.#now();
    if (wait > 0) return work.again(wait);
    this.#predecessorNotBefore = this.#now() + FAILURES.last;
    const { secret: name, fieldManager } = PREDECESSOR;
    const object = { kind: SECRETS.kind, namespace, name };
    const got = await client.get(SECRETS, namespace, name);
    if (!got.ok && got.error.code !== 404) {
      // Abandoned because we stop.
      if (got.error.reason === ABORTED) return;
      work.failures.push({ object, error: got.error });
      return work.again(FAILURES.last);
    }
    if (!got.ok || !hasApplied(got.value, fieldManager)) {
      this.#hasPredecessor = false;
      return;
    }
    if (!mayWrite()) return;
    const { uid } = got.value.metadata;
    const deleted = await client.delete(SECRETS, namespace, name, { uid });
    if (deleted.ok) work.changes.push({ object, verb: "deleted" });
    else work.failures.push({ object, error: deleted.error });
    work.again(FAILURES.last);
  }

  #has(kind: WorkloadKind): boolean {
    return this.#options.live(kind) !== null;
  }

  #placeOf(kind: WorkloadKind) {
    const { namespace } = this.#options;
    const [ref] = allWorkloadRefs(namespace).filter((one) => one.kind === kind);
    return { namespace, resource: WORKLOAD_RESOURCES[kind], ref };
  }

  #entryOf(kind: WorkloadKind): Entry {
    const known = this.#entries.get(kind);
    if (known !== undefined) return known;
    const entry: Entry = {
      tried: "",
      applied: "",
      generation: 0,
      expected: null,
      notBefore: 0,
      failures: new Backoff(FAILURES),
      putBacks: new Backoff(PUT_BACKS),
      lastPutBack: -Infinity,
      problem: null,
    };
    this.#entries.set(kind, entry);
    return entry;
  }
}

/** How many pods an autoscaled Deployment is to begin with. */
function firstReplicas({ apply }: WorkloadPlan): number {
  const autoscaler = apply.find(({ kind }) => kind === "HorizontalPodAutoscaler");
  return Number(fieldOf(autoscaler?.spec, "minReplicas") ?? 1);
}

function isPodKind(kind: WorkloadKind): kind is "DaemonSet" | "Deployment" {
  return kind === "DaemonSet" || kind === "Deployment";
}

/** Whether it is an autoscaler of the Deployment that the plan applies without one. */
function isAutoscalerOf(kind: WorkloadKind, { apply }: WorkloadPlan): boolean {
  return kind === "HorizontalPodAutoscaler" && apply.some((one) => one.kind === "Deployment");
}
