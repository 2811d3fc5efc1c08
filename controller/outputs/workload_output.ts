/**
 * The proxies. In: how many Ingresses and Gateways are served, and the proxies' objects as watches show them. Out:
 * those objects as they should be, what is wrong with them; and their end where nothing is served.
 */
import type { ObjectRef, Problem } from "../../shared/problem.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Reconciliation } from "../reconcile/reconciler.ts";
import { leaderJob, type Output, type OutputContext } from "./output.ts";
import { type AccountReading, ProxyAccount } from "./workload/account.ts";
import { workloadStatus } from "./workload/health.ts";
import { type SyncResult, WorkloadKeeper } from "./workload/keeper.ts";
import { PROXY_NAME } from "./workload/names.ts";
import { allWorkloadRefs, workloadObjects, type WorkloadOptions } from "./workload/objects.ts";
import type { WorkloadKind } from "./workload/options.ts";
import { Teardown } from "./workload/teardown.ts";
import { DONE, type Job, type JobOutcome } from "./write/job.ts";

/** Milliseconds between two looks at proxies while some are not ready. */
const PROXY_INTERVAL = 15_000;

export interface WorkloadHooks {
  /** Lists everything anew and translates that; null where a list failed. */
  readonly confirm: () => Promise<Reconciliation | null>;
  /**
   * Proxies without a configuration would only wait for it, and a kubelet looks a minute later for
   * what was not there when a pod began.
   */
  readonly mayBegin: () => boolean;
  /** Takes away what proxies live on; null, or why it failed. */
  readonly removeConfiguration: () => Promise<string | null>;
  readonly onProblems: () => void;
}

export class WorkloadOutput implements Output {
  readonly #context: OutputContext;
  readonly #workload: WorkloadOptions;
  readonly #hooks: WorkloadHooks;
  readonly #account: ProxyAccount;
  readonly #keeper: WorkloadKeeper;
  readonly #cleanup: Teardown;
  readonly #job: Job;
  readonly #cleanupJob: Job;
  /** Ingresses and Gateways that are served. */
  #served = 0;
  #problems: readonly Problem[] = [];
  /** How writes failed last, by object, so that each is logged once. */
  readonly #failures = new Map<string, string>();

  constructor(context: OutputContext, workload: WorkloadOptions, hooks: WorkloadHooks) {
    this.#context = context;
    this.#workload = workload;
    this.#hooks = hooks;
    const { client, fence, watches, log, options: { namespace, cleanupDelay } } = context;
    this.#account = new ProxyAccount({ client, namespace });
    this.#keeper = new WorkloadKeeper({
      client,
      namespace,
      live: (kind) => watches.workload(kind, namespace, PROXY_NAME),
      mayWrite: () => fence.mayWrite(),
    });
    this.#cleanup = new Teardown({
      delay: cleanupDelay,
      log,
      confirm: async () => (await hooks.confirm())?.served ?? null,
      remove: () => this.#remove(),
      isAnything: () => this.#isAnythingToRemove(),
      now: () => performance.now(),
    });
    this.#job = leaderJob(context, "workload", () => this.#run());
    this.#cleanupJob = leaderJob(context, "cleanup", () => this.#cleanup.run());
  }

  /** Of the proxies. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Everything has been taken away, until an Ingress is served again. */
  get isRemoved(): boolean {
    return this.#cleanup.hasTaken;
  }

  get ref(): ObjectRef & { readonly kind: "DaemonSet" | "Deployment" } {
    const { backend, namespace } = this.#context.options;
    const kind = backend === "HostPort" ? "DaemonSet" : "Deployment";
    return { kind, namespace, name: PROXY_NAME };
  }

  /** As a watch shows it; null where there is none. */
  get live(): KubeObject | null {
    const { kind, namespace, name } = this.ref;
    return this.#context.watches.workload(kind, namespace, name);
  }

  observe({ served }: Reconciliation): void {
    this.#served = served;
    this.#cleanup.observe(served);
  }

  poke(): void {
    this.#job.poke();
    this.#cleanupJob.poke();
  }

  /** An object of the proxies has changed. */
  changed(): void {
    this.#job.poke();
  }

  forget(): void {
    this.#problems = [];
  }

  wake(): void {
    this.#keeper.reset();
    this.#job.wake();
    this.#cleanupJob.wake();
  }

  measure(): void {
    const { live } = this;
    const status = live === null ? null : workloadStatus(live);
    for (const state of ["desired", "updated", "ready"] as const) {
      this.#context.metrics.set("pingress_controller_proxies", status?.[state] ?? 0, { state });
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#job.stop(), this.#cleanupJob.stop()]);
  }

  async #run(): Promise<JobOutcome> {
    const { watches, fence, log } = this.#context;
    if (this.#cleanup.hasTaken || (this.#served === 0 && !this.#isWorkload())) {
      this.#setProblems([]);
      return DONE;
    }
    if (!this.#hooks.mayBegin()) return DONE;
    const account = await this.#lookForAccount();
    const again = account.again ?? Infinity;
    if (account.isUsable === null) return { kind: "again", after: again };
    const result = await this.#keeper.sync(
      workloadObjects({ ...this.#workload, stream: account.isUsable }),
    );
    for (const { object, verb } of result.changes) {
      log.info("Workload changed", { kind: object.kind, name: object.name, verb });
      this.#failures.delete(`${object.kind} ${object.name}`);
    }
    // Another one may lead by now, and tell of it.
    if (!fence.mayWrite()) return DONE;
    const { statuses, problems } = this.#keeper.health(
      watches.informer("pods").store.list(),
      Date.now(),
    );
    const missing = account.problem === null ? [] : [account.problem];
    this.#setProblems([...result.problems, ...missing, ...problems]);
    this.#logFailures(result.failures);
    // That a proxy takes too long to be ready is no change of any object.
    const isAwaited = statuses.some(({ ready, desired }) => ready < desired);
    const interval = isAwaited ? PROXY_INTERVAL : Infinity;
    const after = Math.min(result.retryAfter ?? Infinity, interval, again);
    return after === Infinity ? DONE : { kind: "again", after };
  }

  #setProblems(problems: readonly Problem[]): void {
    this.#problems = problems;
    this.#hooks.onProblems();
  }

  /** Whether proxies can be told of the stream, if they are to be. */
  async #lookForAccount(): Promise<AccountReading> {
    if (!this.#workload.stream) return { isUsable: false, problem: null, again: null };
    return await this.#account.look(this.ref, this.live);
  }

  /**
   * The keeper paces its own tries, object by object: what one of them waits for holds up no other,
   * so its failures are no failure of the job.
   */
  #logFailures(failures: SyncResult["failures"]): void {
    const { log } = this.#context;
    for (const { object, error } of failures) {
      const name = `${object.kind} ${object.name}`;
      if (this.#failures.get(name) !== error.message) {
        const reason = error.message;
        log.warn("Job failed, will be retried", { job: "workload", object: name, reason });
      }
      this.#failures.set(name, error.message);
    }
  }

  /** Takes everything away that proxies are and live on; null, or why it failed. */
  async #remove(): Promise<string | null> {
    const { cleanupService } = this.#context.options;
    const { failures } = await this.#keeper.remove({ service: cleanupService });
    if (failures.length > 0) return failures[0].error.message;
    return await this.#hooks.removeConfiguration();
  }

  #isAnythingToRemove(): boolean {
    const { watches, options: { cleanupService } } = this.#context;
    return watches.isAnythingPublished || this.#isWorkload(cleanupService ? [] : ["Service"]);
  }

  #isWorkload(besides: readonly WorkloadKind[] = []): boolean {
    const { watches, options: { namespace } } = this.#context;
    return allWorkloadRefs(namespace).some(({ kind, name }) =>
      !besides.includes(kind) && watches.workload(kind, namespace, name) !== null
    );
  }
}
