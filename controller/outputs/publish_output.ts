/**
 * The configuration that proxies start from, and the recorded claims. In: each reconciliation, and
 * what the API server has. Out: both as they should be, and what is published now.
 */
import type { Problem } from "../../shared/problem.ts";
import type { PublishedState, Reconciliation } from "../reconcile/reconciler.ts";
import { leaderJob, type Output, type OutputContext } from "./output.ts";
import { ClaimsKeeper } from "./publish/host_claims.ts";
import { Publication } from "./publish/publication.ts";
import { Publisher } from "./publish/publisher.ts";
import { DONE, type Job, type JobOutcome } from "./write/job.ts";

export interface PublishHooks {
  /** Another translation is wanted, with what is published now. */
  readonly onStale: () => void;
  /** Everything has been taken away, and stays away. */
  readonly isRemoved: () => boolean;
  /** The job has run: problems may be others, and proxies may begin. */
  readonly onRun: () => void;
}

export class PublishOutput implements Output {
  readonly #context: OutputContext;
  readonly #hooks: PublishHooks;
  readonly #publisher: Publisher;
  readonly #publication: Publication;
  readonly #claims: ClaimsKeeper;
  readonly #job: Job;
  #result: Reconciliation | null = null;
  /** Of what is published, as it was when it last changed. */
  #digest: string | null = null;

  constructor(context: OutputContext, hooks: PublishHooks) {
    this.#context = context;
    this.#hooks = hooks;
    const { client, fence, watches, log, options: { namespace, endpointInterval } } = context;
    this.#publisher = new Publisher({
      client,
      namespace,
      configMaps: watches.informer("configMaps").store,
      secrets: watches.informer("keySecrets").store,
      mayWrite: () => fence.mayWrite(),
      log,
    });
    this.#publication = new Publication({
      publisher: this.#publisher,
      endpointInterval,
      onStale: hooks.onStale,
      now: () => performance.now(),
    });
    const configMaps = watches.informer("configMaps").store;
    this.#claims = new ClaimsKeeper({ client, namespace, configMaps, log });
    this.#job = leaderJob(context, "publish", () => this.#run());
  }

  /** What is published, as far as it is known. */
  published(): PublishedState {
    return { ...this.#publication.published(), claims: this.#claims.claims() };
  }

  /** Whether proxies have a configuration to start from: a kubelet mounts later what is made later. */
  get isUsable(): boolean {
    const { digest, snapshot } = this.published();
    // Without the permission to publish, one of an earlier format, which the stream then replaces.
    return digest !== null || (this.#publication.isDenied && snapshot !== null);
  }

  /** Some have no object: nobody would look for an Event of a ConfigMap. */
  get problems(): readonly Problem[] {
    return [...this.#publication.problems, ...this.#claims.problems];
  }

  observe(result: Reconciliation): void {
    this.#result = result;
    this.#claims.plan(result.claims);
  }

  poke(): void {
    this.#job.poke();
  }

  /**
   * What is published has changed. Whether it is other than what was written here, so that all is to
   * be translated with it anew.
   */
  changed(): boolean {
    const { digest } = this.published();
    const isOther = digest === null || digest !== this.#digest;
    this.#digest = digest;
    return isOther;
  }

  /** The recorded claims have changed. Whether they are other than those translated last. */
  claimsChanged(): boolean {
    this.#job.poke();
    return this.#claims.differs;
  }

  forget(): void {
    this.#publication.forget();
  }

  wake(): void {
    this.#job.wake();
  }

  measure(): void {
    const { metrics } = this.#context;
    for (const [kind, bytes] of Object.entries(this.#publication.bytes)) {
      metrics.set("pingress_controller_published_bytes", bytes, { kind });
    }
    const { publishedAt } = this.#publication;
    if (publishedAt !== null) {
      metrics.set("pingress_controller_published_timestamp_seconds", publishedAt / 1000);
    }
  }

  /** Takes all of it away; null, or why it failed. */
  async remove(): Promise<string | null> {
    return await this.#publication.remove() ?? await this.#claims.remove();
  }

  async stop(): Promise<void> {
    await this.#job.stop();
  }

  close(): void {
    this.#publisher.close();
    this.#claims.close();
  }

  async #run(): Promise<JobOutcome> {
    if (this.#hooks.isRemoved()) return DONE;
    // First: whoever leads next must know who owned what is published. What cannot be recorded keeps
    // nobody from being served.
    const recorded = await this.#claims.run();
    const outcome = await this.#publication.run(this.#result);
    // When the watch tells of our own write, there is nothing new in it.
    this.#digest = this.published().digest;
    this.#hooks.onRun();
    return recorded.kind === "failed" && outcome.kind !== "failed" ? recorded : outcome;
  }
}
