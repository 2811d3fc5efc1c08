/**
 * The controller, stage by stage. In: the command line, by message, and an API server. Out: proxies
 * and everything that they live on, kept true to the cluster's Ingresses.
 *
 *     options ─▶ client ─▶ watches ─▶ reconciler: translate ─┬▶ stream ─▶ proxies
 *                  │                                           └▶ outputs: publish, workload, …
 *                  └─▶ leader ──────────── may write? ────────────┘
 *
 * A worker of `main.ts`, since that is how a thread gets no more rights than it needs (`permissions.ts`).
 */
/// <reference lib="deno.worker" />
import { type AdminServer, startAdmin } from "../../shared/admin/server.ts";
import { describeListenError, formatAddress } from "../../shared/net/address.ts";
import { Lifecycle } from "../../shared/lifecycle.ts";
import { createLogger, type Logger, standardOutput } from "../../shared/log.ts";
import { processCpuTime } from "../../shared/cpu_time.ts";
import { LoopDelay } from "../../shared/loop_delay.ts";
import { newLoopMark } from "../../shared/loop_mark_generator.ts";
import { adminHandlers } from "./admin_handlers.ts";
import { awaitEpoch } from "../watch/cluster_id.ts";
import { KubeClient } from "../kube/client.ts";
import type { CredentialSource } from "../kube/credential_source.ts";
import { loadCredentials } from "../kube/credentials.ts";
import { FencedClient } from "../kube/fenced_client.ts";
import { LeaderElector } from "../kube/leader.ts";
import { RefusalLog } from "../kube/refusals.ts";
import { CONFIG_MAPS } from "../kube/types.ts";
import { ControllerMetrics } from "../metrics.ts";
import { type ControllerOptions, parseControllerOptions } from "../cli/options.ts";
import { Outputs } from "../outputs/outputs.ts";
import { Reconciler, type Reconciliation } from "../reconcile/reconciler.ts";
import { GatewayBundle } from "../watch/gateway_bundle.ts";
import { GatewayDiscovery } from "../watch/gateway_discovery.ts";
import { SecretReferences } from "../watch/secret_references.ts";
import { ProxyStream } from "../stream/from_options.ts";
import { servesNginx } from "../translate/ingress/class.ts";
import { DEFAULT_CLUSTER_BOUNDS, Translator } from "../translate/translator.ts";
import { PUBLISHED_SELECTOR } from "../watch/kinds.ts";
import { Watches } from "../watch/watches.ts";
import { readWorkload } from "../outputs/workload/from_options.ts";
import { proxyMemoryOf } from "../outputs/workload/proxy_memory.ts";
import type { WorkloadOptions } from "../outputs/workload/objects.ts";
import { OWNER_LABELS } from "../outputs/workload/names.ts";
import type { FromWorker, ToWorker } from "./worker_protocol.ts";

/** Of the Lease: where other replicas tell the leader what their proxies have acknowledged. */
const STREAM_ADDRESS = "pingress.io/stream-address";

/** Null before the start. */
let controller: Controller | null = null;
let isStopping = false;

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "stop") {
    if (isStopping) return post({ kind: "exit", code: 1 });
    isStopping = true;
    return controller?.stop();
  }
  const parsed = parseControllerOptions(data.args);
  if (parsed.kind !== "ok") throw new TypeError("The command line was to be good");
  // As if it had been thrown here: the first thread is told, and ends the process.
  start(parsed.options, data.credentials, data.identity).catch(reportError);
};
post({ kind: "up" });

async function start(
  options: ControllerOptions,
  source: CredentialSource,
  identity: string,
): Promise<void> {
  const log = createLogger({ level: options.logLevel, format: options.logFormat });
  // A mistake of ours in one write must not end all others.
  self.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("Unhandled rejection", { error: event.reason });
  });
  const credentials = loadCredentials(source);
  if (!credentials.ok) return await fail(log, credentials.message);
  const workload = await readWorkload(options);
  if (!workload.ok) return await fail(log, workload.message);
  controller = new Controller({
    options,
    credentials: credentials.credentials,
    workload: workload.options,
    identity,
    log,
  });
  if (isStopping) controller.stop();
  await controller.run();
}

interface Given {
  readonly options: ControllerOptions;
  readonly credentials: ConstructorParameters<typeof KubeClient>[0];
  readonly workload: WorkloadOptions;
  readonly identity: string;
  readonly log: Logger;
}

class Controller {
  readonly #given: Given;
  readonly #lifecycle = new Lifecycle();
  readonly #stopping = new AbortController();
  readonly #metrics = new ControllerMetrics();
  readonly #loopDelay = new LoopDelay();
  readonly #client: KubeClient;
  readonly #watches: Watches;
  readonly #bundle: GatewayBundle;
  /** Null where Gateway API is not read. */
  readonly #discovery: GatewayDiscovery | null;
  readonly #leader: LeaderElector;
  readonly #stream: ProxyStream;
  readonly #outputs: Outputs;
  /** Null until the cluster has said which one it is. */
  #reconciler: Reconciler | null = null;

  constructor(given: Given) {
    this.#given = given;
    const { options, credentials, workload, identity, log } = given;
    const metrics = this.#metrics;
    const refusals = new RefusalLog(log);
    const client = this.#client = new KubeClient(credentials, (report) => {
      metrics.called(report);
      if (report.refusal !== null) refusals.refused(report.refusal);
    });
    const watches = this.#watches = new Watches({
      client,
      log,
      watchNamespaces: options.watchNamespaces,
      namespace: options.namespace,
      secrets: {
        mode: options.secrets,
        bounds: {
          count: options.namespaceBounds.certificates,
          bytes: options.objectBounds.namespaceBytes,
        },
      },
      nodeAddresses: options.backend === "HostPort" && options.publishAddresses.length === 0,
      configMap: options.configMap,
      gateway: options.gateway !== null,
      objectBounds: options.objectBounds,
    });
    const bundle = this.#bundle = new GatewayBundle({
      client,
      onChange: () => this.#outputs.crdsChanged(),
    });
    this.#discovery = options.gateway !== null
      ? new GatewayDiscovery({ client, watches, log, bundle })
      : null;
    const leader = this.#leader = new LeaderElector({
      client,
      namespace: options.namespace,
      labels: OWNER_LABELS,
      identity,
      leaseDuration: options.leaseDuration,
      renewDeadline: options.renewDeadline,
      retryPeriod: options.retryPeriod,
      isNew: (deadline) => isNothingPublished(client, options.namespace, deadline),
      annotations: () => this.#addressAnnotation(),
      log,
      onChange: (isLeader) => {
        if (!isLeader) this.#stream.notLeading();
        this.#outputs.lead(isLeader);
      },
    });
    const stream = this.#stream = new ProxyStream({
      options,
      client,
      watches,
      identity,
      metrics,
      log,
      onClaim: (version, proxy) => this.#reconciler?.claim(version, proxy),
      onNews: () => this.#outputs.streamChanged(),
      leadership: options.gateway === null ? null : {
        isLeading: () => leader.isLeader,
        leader: () => this.#isGatewayWatched ? leader.annotationOfOther(STREAM_ADDRESS) : null,
      },
    });
    this.#outputs = new Outputs({
      client: new FencedClient(client, leader),
      fence: leader,
      ownClient: client,
      watches,
      workload,
      options,
      identity,
      metrics,
      log,
      confirm: async () => await this.#reconciler?.confirm() ?? null,
      translateAnew: () => this.#reconciler?.changed(),
      streamed: () => stream.server.sessions,
      tooLarge: () => stream.server.tooLarge,
      gateways: options.gateway === null ? null : {
        translationOf: ({ gateway }) => watches.isGatewayApiKnown ? gateway : null,
        contentOf: ({ snapshot }) => stream.server.contentOf(snapshot),
        acks: () => stream.acks(),
        crds: () => this.#bundle.crds,
      },
    });
  }

  /** Resolves when it has ended. */
  async run(): Promise<void> {
    const { options, log } = this.#given;
    const stream = this.#stream;
    this.#loopDelay.start();
    const admin = this.#startAdmin();
    if (typeof admin === "string") return await fail(log, admin);
    const deaf = await stream.start().then(() => null, (error) => error);
    if (deaf !== null) {
      return await fail(log, describeListenError(deaf, options.stream, "--stream"));
    }
    log.info("Listening", {
      admin: formatAddress(admin.address),
      stream: formatAddress(stream.server.address),
    });
    this.#watch();
    const epoch = await awaitEpoch(this.#client, log, this.#stopping.signal);
    if (epoch !== null) {
      this.#reconcile(epoch);
      this.#leader.start();
      await aborted(this.#stopping.signal);
    }
    await this.#end(admin);
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Begins to watch; not ready before everything has been listed and translated once. */
  #watch(): void {
    const watches = this.#watches;
    const sayUnlisted = () => {
      const kinds = watches.unlisted;
      const reason = kinds.length > 0
        ? `not listed yet: ${kinds.join(", ")}`
        : "not translated yet";
      if (this.#reconciler?.latest == null) this.#lifecycle.setObstacle("watches", reason);
    };
    sayUnlisted();
    this.#lifecycle.enter("ready");
    watches.onListed(sayUnlisted);
    watches.start();
    this.#discovery?.start();
  }

  /** Translates from now on, at each change. */
  #reconcile(epoch: string): void {
    const { options, workload, log } = this.#given;
    const watches = this.#watches;
    const { parameters } = watches;
    const outputs = this.#outputs;
    const translator = new Translator();
    const references = new SecretReferences(translator.readers, options);
    const loop = this.#reconciler = new Reconciler({
      epoch,
      kinds: watches.versioned(async (name) =>
        await this.#discovery?.isServed(name) ?? { ok: true, value: false }
      ),
      secrets: {
        objects: watches.secrets,
        references: (resources) =>
          watches.secrets.choose(references.of(resources), outputs.published().snapshot),
      },
      parameters: parameters && {
        objects: parameters,
        references: (resources) =>
          parameters.choose(
            resources,
            translator.readers.gateway,
            outputs.published().snapshot,
          ),
      },
      isSynced: () => watches.areKnown,
      resources: () => watches.resources(),
      published: () => outputs.published(),
      translate: (...inputs) => translator.translate(...inputs),
      translateOptions: {
        ...options,
        allowLocalEndpoints: false,
        loopMark: newLoopMark(),
        clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, memory: proxyMemoryOf(workload) },
      },
      clock: Date.now,
      gatherTime: options.gatherTime,
      gatherLimit: options.gatherLimit,
      log,
      onResult: (result) => this.#use(result),
      onRun: (result, milliseconds) => this.#metrics.reconciled(result, milliseconds),
    });
    watches.onChange((isUrgent) => loop.changed(isUrgent));
    watches.onPublishedChange(() => outputs.publishedChanged() && loop.changed());
    watches.onClaimsChange(() => outputs.claimsChanged() && loop.changed());
    watches.onWorkloadChange(() => outputs.workloadChanged());
    loop.changed();
  }

  #use(result: Reconciliation): void {
    const lifecycle = this.#lifecycle;
    if (lifecycle.readiness().ready === false) {
      this.#given.log.info("Ready", showSize(result.snapshot));
      this.#warnOfConfigMap();
    }
    lifecycle.clearObstacle("watches");
    // First, and whoever leads: proxies do not wait for what is written.
    if (result.behind.length === 0) this.#stream.server.update(result.snapshot);
    this.#outputs.update(result);
  }

  /** Its keys may protect, so nobody must leave it out by mistake. */
  #warnOfConfigMap(): void {
    const { options, log } = this.#given;
    const { ingressClasses } = this.#watches.resources();
    if (options.configMap !== null || !servesNginx(ingressClasses, options)) return;
    log.warn("The profile nginx is served without --configmap", {
      reason: "keys of ingress-nginx's ConfigMap that protect have no effect",
      remedy: "Give --configmap the name that ingress-nginx was started with, if it had one",
    });
  }

  /** Only then anybody asks what proxies of other replicas have. */
  get #isGatewayWatched(): boolean {
    return this.#discovery?.isWatching ?? false;
  }

  /** For other replicas, on the Lease. */
  #addressAnnotation(): Readonly<Record<string, string>> {
    const address = this.#isGatewayWatched ? this.#stream.reachableAt : null;
    return address === null ? {} : { [STREAM_ADDRESS]: address };
  }

  /** Ends in the order in which nothing is written after the lease is given back. */
  async #end(admin: AdminServer): Promise<void> {
    this.#lifecycle.enter("draining");
    const streamed = this.#stream.stop();
    const reconciled = this.#reconciler?.stop();
    // Lists and Secrets that are still waited for end with them.
    const watched = Promise.all([this.#watches.stop(), this.#discovery?.stop()]);
    this.#client.abandonReads();
    await Promise.all([reconciled, streamed]);
    await this.#outputs.stop();
    await this.#leader.stop();
    await watched;
    this.#client.close();
    this.#loopDelay.close();
    await admin.close();
    this.#lifecycle.enter("stopped");
    this.#given.log.info("Stopped");
    await standardOutput().flush();
    post({ kind: "exit", code: 0 });
  }

  /** The admin port, or why it cannot be had. */
  #startAdmin(): AdminServer | string {
    const { options, log } = this.#given;
    const handlers = adminHandlers({
      metrics: this.#metrics,
      measure: () => this.#measure(),
      latest: () => this.#reconciler?.latest ?? null,
      problems: () => this.#outputs.problems(),
      proxies: () => this.#stream.server.show(),
    });
    try {
      return startAdmin({ ...options.admin, lifecycle: this.#lifecycle, handlers, logger: log });
    } catch (error) {
      return describeListenError(error, options.admin, "--admin");
    }
  }

  /** Takes the readings that nobody is told of. */
  #measure(): void {
    const metrics = this.#metrics;
    metrics.set("pingress_controller_leader", Number(this.#leader.isLeader));
    metrics.set("pingress_controller_synced", Number(this.#reconciler?.isSynced ?? false));
    const waiting = (this.#reconciler?.waiting ?? 0) / 1000;
    metrics.set("pingress_controller_changes_waiting_seconds", waiting);
    const { rss } = Deno.memoryUsage();
    metrics.set("pingress_controller_memory_bytes", rss);
    metrics.set("process_resident_memory_bytes", rss);
    metrics.total("process_cpu_seconds_total", processCpuTime());
    metrics.set("pingress_controller_event_loop_delay_seconds", this.#loopDelay.longest);
    metrics.watches(this.#watches.stats());
    this.#outputs.measure();
    this.#stream.server.measure();
  }
}

/** Ends a start that cannot succeed. */
async function fail(log: Logger, message: string): Promise<void> {
  log.error("Cannot start", { reason: message });
  await standardOutput().flush();
  post({ kind: "exit", code: 1 });
}

function showSize(
  { routes, upstreams, certificates }: {
    readonly routes: readonly unknown[];
    readonly upstreams: readonly unknown[];
    readonly certificates: readonly unknown[];
  },
) {
  return { routes: routes.length, upstreams: upstreams.length, certificates: certificates.length };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

function post(message: FromWorker): void {
  self.postMessage(message);
}

/** Whoever has led has published, or had nothing to serve yet. False where it cannot be told. */
async function isNothingPublished(
  client: KubeClient,
  namespace: string,
  deadline: number,
): Promise<boolean> {
  const selection = { namespace, labelSelector: PUBLISHED_SELECTOR, metadataOnly: true };
  const published = await client.list(CONFIG_MAPS, selection, { limit: 1, deadline });
  return published.ok && published.value.items.length === 0;
}
