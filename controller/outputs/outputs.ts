/**
 * Everything that the controller writes. In: each reconciliation, whether we lead, and what the API
 * server has now. Out: configuration, proxies, status and Events as they should be, each by an output
 * of its own; none waits for another but proxies for their configuration.
 */
import type { Problem } from "../../shared/problem.ts";
import type { WriteClient } from "../kube/fenced_client.ts";
import type { PublishedState, Reconciliation } from "../reconcile/reconciler.ts";
import { refusalProblems, type ShownSession, tooLargeProblems } from "../stream/proxies.ts";
import { AuthorityOutput } from "./authority_output.ts";
import { GatewayOutputs, type GatewaySources } from "./gateway_outputs.ts";
import type { Output, OutputContext } from "./output.ts";
import { ProblemOutput } from "./problem_output.ts";
import { PublishOutput } from "./publish_output.ts";
import { StatusOutput } from "./status_output.ts";
import type { WorkloadOptions } from "./workload/objects.ts";
import { WorkloadOutput } from "./workload_output.ts";

export interface OutputsOptions extends OutputContext {
  /** For what every replica reports, whether or not it leads. */
  readonly ownClient: WriteClient;
  readonly workload: WorkloadOptions;
  readonly identity: string;
  /** Lists everything anew and translates that; null where a list failed. */
  readonly confirm: () => Promise<Reconciliation | null>;
  /** Another translation is wanted, with what is published now. */
  readonly translateAnew: () => void;
  /** The proxies of our stream. */
  readonly streamed: () => readonly ShownSession[];
  /** Bytes of the newest configuration, where it is too large for our stream; else null. */
  readonly tooLarge: () => number | null;
  /** Null where Gateway API is not read. */
  readonly gateways: Omit<GatewaySources, "onProblems"> | null;
}

export class Outputs {
  readonly #context: OutputContext;
  readonly #authority: AuthorityOutput;
  readonly #publish: PublishOutput;
  readonly #workload: WorkloadOutput;
  readonly #status: StatusOutput;
  /** Null where Gateway API is not read. */
  readonly #gateways: GatewayOutputs | null;
  readonly #problems: ProblemOutput;
  /** In the order in which they begin. */
  readonly #all: readonly Output[];

  constructor(options: OutputsOptions) {
    this.#context = options;
    const { confirm, translateAnew, streamed, tooLarge, ownClient, identity } = options;
    this.#authority = new AuthorityOutput(options, {
      onRun: (isFirst) => {
        this.#problems.reportNews();
        if (isFirst) this.#workload.changed();
      },
    });
    this.#publish = new PublishOutput(options, {
      onStale: translateAnew,
      isRemoved: () => this.#workload.isRemoved,
      onRun: () => {
        // That it does not fit is a problem also where there are no proxies yet.
        this.#problems.reportNews();
        this.#workload.changed();
      },
    });
    this.#workload = new WorkloadOutput(options, options.workload, {
      confirm,
      mayBegin: () => this.#publish.isUsable && this.#authority.hasTried,
      removeConfiguration: () => this.#publish.remove(),
      onProblems: () => this.#problems.reportNews(),
    });
    this.#status = new StatusOutput(options);
    const { ref } = this.#workload;
    this.#gateways = options.gateways === null ? null : new GatewayOutputs(options, {
      ...options.gateways,
      onProblems: () => this.#problems.changed(),
    });
    this.#problems = new ProblemOutput(options, {
      ownClient,
      identity,
      own: () => [
        ...this.#publish.problems,
        ...this.#authority.problems,
        ...this.#workload.problems,
        ...tooLargeProblems(tooLarge(), ref),
      ],
      gateways: () => this.#gateways?.problems() ?? [],
      refusals: () => refusalProblems(streamed(), ref, performance.now()),
      workload: ref,
      live: () => this.#workload.live,
      onReport: () => this.#status.sync(),
    });
    this.#all = [
      ...[this.#authority, this.#publish, this.#workload, this.#status],
      ...(this.#gateways === null ? [] : [this.#gateways]),
      this.#problems,
    ];
  }

  /** What is published, as far as it is known. */
  published(): PublishedState {
    return this.#publish.published();
  }

  /** Of objects, of publishing and of the proxies. */
  problems(): readonly Problem[] {
    return this.#problems.all();
  }

  update(result: Reconciliation): void {
    for (const output of this.#all) output.observe?.(result);
    this.#pokeAll();
  }

  /** As `PublishOutput.claimsChanged`. */
  claimsChanged(): boolean {
    return this.#publish.claimsChanged();
  }

  /** As `PublishOutput.changed`. */
  publishedChanged(): boolean {
    const isOther = this.#publish.changed();
    this.#pokeAll();
    return isOther;
  }

  workloadChanged(): void {
    this.#workload.changed();
    this.#status.changed();
    this.#gateways?.changed();
  }

  /** What proxies say of what they were sent may have changed. */
  streamChanged(): void {
    this.#problems.streamChanged();
    this.#gateways?.changed();
  }

  /** CRDs of Gateway API are of another bundle. */
  crdsChanged(): void {
    this.#gateways?.poke();
  }

  /** We begin or cease to lead. */
  lead(isLeader: boolean): void {
    for (const output of this.#all) output.forget?.();
    if (!isLeader) return;
    for (const output of this.#all) output.wake?.();
  }

  /** Metrics of what is rather than of what happens. */
  measure(): void {
    const writes = {
      ...this.#status.backlogs,
      events: this.#problems.backlog,
      ...(this.#gateways === null ? {} : { gateways: this.#gateways.backlog }),
    };
    for (const [of, backlog] of Object.entries(writes)) {
      this.#context.metrics.set("pingress_controller_writes_waiting", backlog, { of });
    }
    for (const output of this.#all) output.measure?.();
  }

  /** Resolves when no write is on its way any more. */
  async stop(): Promise<void> {
    await Promise.all(this.#all.map((output) => output.stop()));
    for (const output of this.#all) output.close?.();
  }

  #pokeAll(): void {
    for (const output of this.#all) output.poke?.();
  }
}
