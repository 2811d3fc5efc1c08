/**
 * Everything that the controller writes. In: each reconciliation, whether we lead, and what the API
 * server has now. Out: configuration, proxies, status and Events as they should be, by those who
 * write them; each goes at its own pace, and none waits for another but proxies for their
 * configuration.
 */
import type { Logger } from "../../shared/log.ts";
import type { ObjectRef, Problem } from "../../shared/problem.ts";
import { ClaimsKeeper } from "./publish/host_claims.ts";
import { Cleanup } from "./workload/teardown.ts";
import { EventWriter } from "./events/writer.ts";
import { FinalizerRemover } from "./status/finalizers.ts";
import { DONE, IDLE, Job, type JobOutcome } from "./write/job.ts";
import type { FencedClient, WriteClient } from "../kube/fenced_client.ts";
import type { WriteFence } from "../kube/term.ts";
import type { KubeObject } from "../kube/types.ts";
import { reachesBackend } from "../translate/model/status.ts";
import type { ControllerMetrics } from "../metrics.ts";
import type { ControllerOptions } from "../cli/options.ts";
import { ProblemLog } from "../problems/log.ts";
import { Publication } from "./publish/publication.ts";
import { Publisher } from "./publish/publisher.ts";
import type { PublishedState, Reconciliation } from "../reconcile/reconciler.ts";
import { StatusWriter } from "./status/writer.ts";
import { AddressHold } from "./status/address_hold.ts";
import type { StatusIngress } from "./status/ingress.ts";
import { type AddressService, publishedAddresses } from "./status/published_addresses.ts";
import { AuthorityKeeper } from "../stream/ca/keeper.ts";
import { refusalProblems, type ShownSession, tooLargeProblems } from "../stream/proxies.ts";
import { unknownClasses } from "../problems/unknown_class.ts";
import type { Watches } from "../watch/kinds.ts";
import { allWorkloadRefs, workloadObjects, type WorkloadOptions } from "./workload/objects.ts";
import { type AccountReading, ProxyAccount } from "./workload/account.ts";
import { workloadStatus } from "./workload/health.ts";
import { type SyncResult, WorkloadKeeper } from "./workload/keeper.ts";
import { PROXY_NAME } from "./workload/names.ts";
import type { WorkloadKind } from "./workload/options.ts";

/** The longest pause in ms while the stream's authority cannot be kept: proxies wait for it. */
const AUTHORITY_PAUSE = 5_000;

/** Milliseconds between two looks at proxies while some are not ready. */
const PROXY_INTERVAL = 15_000;

/** An Event changes nothing, so none is too late. */
const ALWAYS = { mayWrite: () => true };

/** Milliseconds in which all proxies may have answered. */
const HEARING = 500;

export interface OutputsOptions {
  readonly client: FencedClient;
  readonly fence: WriteFence;
  /** For what every replica tells, whether or not it leads. */
  readonly ownClient: WriteClient;
  readonly watches: Watches;
  readonly workload: WorkloadOptions;
  readonly options: ControllerOptions;
  readonly identity: string;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
  /** Lists everything anew and translates that; null where a list failed. */
  readonly confirm: () => Promise<Reconciliation | null>;
  /** Another translation is wanted, with what is published now. */
  readonly translateAnew: () => void;
  /** The proxies of our stream. */
  readonly streamed: () => readonly ShownSession[];
  /** Bytes of the newest configuration, where it is too large for our stream; else null. */
  readonly tooLarge: () => number | null;
}

export class Outputs {
  readonly #options: OutputsOptions;
  readonly #publisher: Publisher;
  readonly #publication: Publication;
  readonly #claims: ClaimsKeeper;
  readonly #authority: AuthorityKeeper;
  readonly #account: ProxyAccount;
  readonly #keeper: WorkloadKeeper;
  readonly #status: StatusWriter;
  readonly #events: EventWriter;
  /** Written by each replica, as only it knows of the proxies on its stream. */
  readonly #ownEvents: EventWriter;
  readonly #finalizers: FinalizerRemover;
  readonly #cleanup: Cleanup;
  readonly #problemLog: ProblemLog;
  readonly #jobs: Readonly<Record<"authority" | "publish" | "workload" | "cleanup", Job>>;
  #result: Reconciliation | null = null;
  /** The Ingresses that it is about: those of now may have another class already. */
  #translated: readonly StatusIngress[] = [];
  readonly #addressHold = new AddressHold({ onRelease: () => this.#syncStatus() });
  #classProblems: readonly Problem[] = [];
  #workloadProblems: readonly Problem[] = [];
  /** How writes of the workload failed last, by object, so that each is said once. */
  readonly #failures = new Map<string, string>();
  /** Problems of publishing and of the proxies, as they were when they were last told. */
  #told = "";
  #telling: ReturnType<typeof setTimeout> | undefined;
  #addressing: ReturnType<typeof setTimeout> | undefined;
  /** Null when it has ended. */
  #hearing: ReturnType<typeof setTimeout> | undefined | null;
  /** Of what is published, as it was when it last changed. */
  #digest: string | null = null;

  constructor(options: OutputsOptions) {
    this.#options = options;
    const { client, fence, watches, log, identity, confirm } = options;
    const { namespace, endpointInterval, cleanupDelay } = options.options;
    this.#publisher = new Publisher({
      client,
      namespace,
      configMaps: watches.configMaps.store,
      secrets: watches.keySecrets.store,
      mayWrite: () => fence.mayWrite(),
      log,
    });
    this.#publication = new Publication({
      publisher: this.#publisher,
      endpointInterval,
      onStale: options.translateAnew,
      now: () => performance.now(),
    });
    this.#claims = new ClaimsKeeper({
      client,
      namespace,
      configMaps: watches.configMaps.store,
      log,
    });
    this.#authority = new AuthorityKeeper({ client, namespace, log });
    this.#account = new ProxyAccount({ client, namespace });
    this.#keeper = new WorkloadKeeper({
      client,
      namespace,
      live: (kind) => watches.workload(kind, namespace, PROXY_NAME),
      mayWrite: () => fence.mayWrite(),
    });
    this.#status = new StatusWriter({ client, ingresses: watches.ingresses.store, fence, log });
    const events = { subjects: watches.subjects(), instance: identity.split("_")[0], log };
    this.#events = new EventWriter({ ...events, client, fence });
    this.#ownEvents = new EventWriter({ ...events, client: options.ownClient, fence: ALWAYS });
    this.#finalizers = new FinalizerRemover({
      client,
      ingresses: watches.ingresses.store,
      fence,
    });
    this.#cleanup = new Cleanup({
      delay: cleanupDelay,
      log,
      confirm: async () => (await confirm())?.statuses.length ?? null,
      remove: () => this.#remove(),
      isAnything: () => this.#isAnythingToRemove(),
      now: () => performance.now(),
    });
    this.#problemLog = new ProblemLog(log);
    this.#jobs = {
      authority: this.#job(
        "authority",
        () => this.#keepAuthority(),
        (failures) => Math.min(AUTHORITY_PAUSE, 500 * 2 ** (failures - 1)),
      ),
      publish: this.#job("publish", () => this.#publish()),
      workload: this.#job("workload", () => this.#runWorkload()),
      cleanup: this.#job("cleanup", () => this.#cleanup.run()),
    };
  }

  /** What is published, as far as it is known. */
  published(): PublishedState {
    return { ...this.#publication.published(), claims: this.#claims.claims() };
  }

  /** The recorded claims have changed. Whether they are other than those translated last. */
  claimsChanged(): boolean {
    this.#jobs.publish.poke();
    return this.#claims.differs;
  }

  /** Of objects, of publishing and of the proxies. */
  problems(): readonly Problem[] {
    return [...this.#sharedProblems(), ...this.#refusals()];
  }

  /** Those that every replica finds, so that the leader tells of them. */
  #sharedProblems(): Problem[] {
    return [
      ...this.#result?.problems ?? [],
      ...this.#classProblems,
      ...this.#ownProblems(),
    ];
  }

  update(result: Reconciliation): void {
    this.#result = result;
    this.#claims.plan(result.claims);
    const { watches: { ingresses, ingressClasses }, options } = this.#options;
    this.#translated = ingresses.store.list();
    this.#classProblems = unknownClasses(
      this.#translated,
      ingressClasses.store.list(),
      options.ingressClasses,
    );
    this.#cleanup.observe(result.statuses.length);
    this.#pokeAll();
    // After what begins to be published now: going through all objects takes a while.
    clearTimeout(this.#telling);
    this.#telling = setTimeout(() => this.#tell(), 0);
  }

  /**
   * What is published has changed. Whether it is other than what was written here, so that all is to
   * be translated with it anew.
   */
  publishedChanged(): boolean {
    const { digest } = this.published();
    const isOther = digest === null || digest !== this.#digest;
    this.#digest = digest;
    this.#pokeAll();
    return isOther;
  }

  workloadChanged(): void {
    this.#jobs.workload.poke();
    // In the middle of a list, some nodes are missing yet, and what pods say would stand for them.
    this.#addressing ??= setTimeout(() => {
      this.#addressing = undefined;
      this.#syncStatus();
    }, 0);
  }

  /** What proxies say of what they were sent may have changed. */
  streamChanged(): void {
    if (this.#hearing !== undefined) return;
    this.#hearing = setTimeout(() => {
      this.#hearing = undefined;
      this.#tellNews();
    }, HEARING);
  }

  /** We begin or cease to lead. */
  lead(isLeader: boolean): void {
    // Another one may have written what we remember as ours, and says what is wrong with it.
    this.#publication.forget();
    this.#authority.forget();
    this.#workloadProblems = [];
    this.#told = "";
    if (!isLeader) return;
    this.#keeper.reset();
    // Whatever failed may have failed for want of the lease.
    for (const job of Object.values(this.#jobs)) job.wake();
    this.#tell();
  }

  /** Metrics of what is rather than of what happens. */
  measure(): void {
    const { metrics } = this.#options;
    metrics.problems(this.problems());
    for (const accepted of ["all", "partly", "none"] as const) {
      const count = this.#result?.statuses.filter((status) => status.accepted === accepted).length;
      metrics.set("pingress_controller_ingresses", count ?? 0, { accepted });
    }
    const writers = {
      status: this.#status,
      events: this.#events,
      finalizers: this.#finalizers,
    };
    for (const [of, { backlog }] of Object.entries(writers)) {
      metrics.set("pingress_controller_writes_waiting", backlog, { of });
    }
    for (const [kind, bytes] of Object.entries(this.#publication.bytes)) {
      metrics.set("pingress_controller_published_bytes", bytes, { kind });
    }
    const live = this.#liveWorkload;
    const status = live === null ? null : workloadStatus(live);
    for (const state of ["desired", "updated", "ready"] as const) {
      metrics.set("pingress_controller_proxies", status?.[state] ?? 0, { state });
    }
  }

  /** Resolves when no write is on its way any more. */
  async stop(): Promise<void> {
    clearTimeout(this.#telling);
    clearTimeout(this.#addressing);
    clearTimeout(this.#hearing ?? undefined);
    this.#hearing = null;
    await Promise.all([
      ...Object.values(this.#jobs).map((job) => job.stop()),
      this.#status.close(),
      this.#events.close(),
      this.#ownEvents.close(),
      this.#finalizers.close(),
    ]);
    this.#addressHold.close();
    this.#publisher.close();
    this.#claims.close();
  }

  #job(name: string, run: () => Promise<JobOutcome>, pause?: (failures: number) => number): Job {
    const { fence, log, metrics } = this.#options;
    return new Job({
      name,
      log,
      pause,
      // Not leading is nothing to fail for: whoever leads sees to it.
      run: () => fence.mayWrite() ? run() : Promise.resolve(IDLE),
      onRun(result, milliseconds) {
        if (result === "idle") return;
        metrics.count("pingress_controller_job_runs_total", { job: name, result });
        metrics.time("pingress_controller_job_duration_seconds", milliseconds, { job: name });
      },
    });
  }

  #pokeAll(): void {
    const { publish, workload, cleanup } = this.#jobs;
    for (const job of [publish, workload, cleanup]) job.poke();
  }

  /** Tells users what became of their objects. */
  #tell(): void {
    const shared = this.#sharedProblems();
    const refusals = this.#refusals();
    if (this.#options.fence.mayWrite()) this.#problemLog.update([...shared, ...refusals]);
    this.#events.sync(shared);
    this.#ownEvents.sync(refusals);
    this.#syncStatus();
  }

  #syncStatus(): void {
    if (this.#result === null) return;
    const { watches, options: { namespace, backend, publishAddresses } } = this.#options;
    // Those of pods stand for those of nodes where these cannot be read, but not before.
    const addresses = !watches.areNodesKnown ? null : publishedAddresses({
      publishAddresses,
      backend,
      service: watches.workload("Service", namespace, PROXY_NAME) as AddressService | null,
      pods: watches.pods.store.list(),
      nodes: watches.nodes?.store.list() ?? [],
    });
    this.#status.sync({
      ingresses: this.#translated,
      served: this.#result.statuses.map(({ object }) => object),
      unready: this.#result.statuses.filter((status) => !reachesBackend(status))
        .map(({ object }) => object),
      // Those of nodes come and go with their proxies.
      addresses: watches.nodes !== null ? this.#addressHold.settle(addresses) : addresses,
    });
  }

  async #publish(): Promise<JobOutcome> {
    if (this.#cleanup.hasTaken) return DONE;
    // First: whoever leads next must know who owned what is published. What cannot be recorded keeps
    // nobody from being served.
    const recorded = await this.#claims.run();
    const outcome = await this.#publication.run(this.#result);
    // When the watch tells of our own write, there is nothing new in it.
    this.#digest = this.published().digest;
    // That it does not fit is a problem also where there are no proxies yet.
    this.#tellNews();
    this.#jobs.workload.poke();
    return recorded.kind === "failed" && outcome.kind !== "failed" ? recorded : outcome;
  }

  async #keepAuthority(): Promise<JobOutcome> {
    const isFirst = !this.#authority.hasTried;
    const outcome = await this.#authority.run();
    this.#tellNews();
    if (isFirst) this.#jobs.workload.poke();
    return outcome;
  }

  async #runWorkload(): Promise<JobOutcome> {
    const { watches, fence, log } = this.#options;
    const isWanted = (this.#result?.statuses.length ?? 0) > 0;
    if (this.#cleanup.hasTaken || (!isWanted && !this.#isWorkload())) {
      this.#setWorkloadProblems([]);
      return DONE;
    }
    // Proxies without a configuration would only wait for it, and a kubelet looks a minute later for
    // what was not there when a pod began.
    if (this.published().digest === null || !this.#authority.hasTried) return DONE;
    const account = await this.#lookForAccount();
    const again = account.again ?? Infinity;
    if (account.isUsable === null) return { kind: "again", after: again };
    const workload = { ...this.#options.workload, stream: account.isUsable };
    const result = await this.#keeper.sync(workloadObjects(workload));
    for (const { object, verb } of result.changes) {
      log.info("Workload changed", { kind: object.kind, name: object.name, verb });
      this.#failures.delete(`${object.kind} ${object.name}`);
    }
    // Another one may lead by now, and tell of it.
    if (!fence.mayWrite()) return DONE;
    const { statuses, problems } = this.#keeper.health(watches.pods.store.list(), Date.now());
    const missing = account.problem === null ? [] : [account.problem];
    this.#setWorkloadProblems([...result.problems, ...missing, ...problems]);
    this.#logFailures(result.failures);
    // That a proxy takes too long to be ready is no change of any object.
    const isAwaited = statuses.some(({ ready, desired }) => ready < desired);
    const interval = isAwaited ? PROXY_INTERVAL : Infinity;
    const after = Math.min(result.retryAfter ?? Infinity, interval, again);
    return after === Infinity ? DONE : { kind: "again", after };
  }

  /** Whether proxies can be told of the stream, if they are to be. */
  async #lookForAccount(): Promise<AccountReading> {
    const { stream } = this.#options.workload;
    if (!stream) return { isUsable: false, problem: null, again: null };
    return await this.#account.look(this.#workloadRef, this.#liveWorkload);
  }

  /**
   * The keeper paces its own tries, object by object: what one of them waits for holds up no other,
   * so its failures are no failure of the job.
   */
  #logFailures(failures: SyncResult["failures"]): void {
    const { log } = this.#options;
    for (const { object, error } of failures) {
      const name = `${object.kind} ${object.name}`;
      if (this.#failures.get(name) !== error.message) {
        const reason = error.message;
        log.warn("Failed, will be tried again", { job: "workload", object: name, reason });
      }
      this.#failures.set(name, error.message);
    }
  }

  #setWorkloadProblems(problems: readonly Problem[]): void {
    this.#workloadProblems = problems;
    this.#tellNews();
  }

  /** Of publishing and of the proxies. */
  #ownProblems(): Problem[] {
    const workload = this.#workloadRef;
    return [
      // Nobody would look for an Event of a ConfigMap, and one that is not there can have none.
      ...[...this.#publication.problems, ...this.#claims.problems, ...this.#authority.problems]
        .map((problem) => ({ ...problem, object: problem.object ?? workload })),
      ...this.#workloadProblems,
      ...tooLargeProblems(this.#options.tooLarge(), workload),
    ];
  }

  /** What the proxies of our stream refuse: another replica knows nothing of it. */
  #refusals(): Problem[] {
    return refusalProblems(this.#options.streamed(), this.#workloadRef, performance.now());
  }

  get #workloadRef(): ObjectRef & { readonly kind: "DaemonSet" | "Deployment" } {
    const { backend, namespace } = this.#options.options;
    const kind = backend === "HostPort" ? "DaemonSet" : "Deployment";
    return { kind, namespace, name: PROXY_NAME };
  }

  /** As a watch shows it; null where there is none. */
  get #liveWorkload(): KubeObject | null {
    const { kind, namespace, name } = this.#workloadRef;
    return this.#options.watches.workload(kind, namespace, name);
  }

  /**
   * Tells of problems of publishing and of the proxies, if they are others than before, or have an
   * object by now: an Event needs it, and a watch may show it later than its problem is known.
   */
  #tellNews(): void {
    const uid = this.#liveWorkload?.metadata.uid ?? null;
    const told = JSON.stringify([uid, ...this.#ownProblems(), ...this.#refusals()]);
    if (told !== this.#told) this.#tell();
    this.#told = told;
  }

  /** Takes everything away that proxies are and live on; null, or why it failed. */
  async #remove(): Promise<string | null> {
    const { cleanupService } = this.#options.options;
    const { failures } = await this.#keeper.remove({ service: cleanupService });
    if (failures.length > 0) return failures[0].error.message;
    return await this.#publication.remove() ?? await this.#claims.remove();
  }

  #isAnythingToRemove(): boolean {
    const { cleanupService } = this.#options.options;
    return this.#options.watches.isAnythingPublished ||
      this.#isWorkload(cleanupService ? [] : ["Service"]);
  }

  #isWorkload(besides: readonly WorkloadKind[] = []): boolean {
    const { watches, options: { namespace } } = this.#options;
    return allWorkloadRefs(namespace).some(({ kind, name }) =>
      !besides.includes(kind) && watches.workload(kind, namespace, name) !== null
    );
  }
}
