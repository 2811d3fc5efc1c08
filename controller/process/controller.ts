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
import { createLogger, standardOutput } from "../../shared/log.ts";
import { newLoopMark } from "../../shared/loop_mark.ts";
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
import { Reconciler } from "../reconcile/reconciler.ts";
import { referencedSecrets } from "../watch/secret_references.ts";
import { ProxyStream } from "../stream/from_options.ts";
import { DEFAULT_CLUSTER_BOUNDS, translate } from "../translate/translator.ts";
import { PUBLISHED_SELECTOR, Watches } from "../watch/kinds.ts";
import { readWorkload } from "../outputs/workload/from_options.ts";
import { proxyMemoryOf } from "../outputs/workload/proxy_memory.ts";
import { OWNER_LABELS } from "../outputs/workload/names.ts";
import type { FromWorker, ToWorker } from "./worker_protocol.ts";

/** Begins to end, or gives up what it is at; null before the start. */
let stop: (() => void) | null = null;

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "stop") return stop?.();
  const parsed = parseControllerOptions(data.args);
  if (parsed.kind !== "ok") throw new TypeError("The command line was to be good");
  // As if it had been thrown here: the first thread is told, and ends the process.
  run(parsed.options, data.credentials, data.identity).catch(reportError);
};
post({ kind: "up" });

async function run(
  options: ControllerOptions,
  source: CredentialSource,
  identity: string,
): Promise<void> {
  const log = createLogger({ level: options.logLevel, format: options.logFormat });
  const lifecycle = new Lifecycle();
  const stopping = new AbortController();
  stop = () => stopping.signal.aborted ? post({ kind: "exit", code: 1 }) : stopping.abort();
  // A mistake of ours in one write must not end all others.
  self.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("Unhandled rejection", { error: event.reason });
  });

  const credentials = loadCredentials(source);
  if (!credentials.ok) return await fail(credentials.message);
  const workload = await readWorkload(options);
  if (!workload.ok) return await fail(workload.message);
  const metrics = new ControllerMetrics();
  const refusals = new RefusalLog(log);
  const client = new KubeClient(credentials.credentials, (report) => {
    metrics.called(report);
    if (report.refusal !== null) refusals.refused(report.refusal);
  });
  const watches = new Watches({
    client,
    log,
    watchNamespaces: options.watchNamespaces,
    namespace: options.namespace,
    secrets: options.secrets,
    nodes: options.backend === "HostPort" && options.publishAddresses.length === 0,
    // Whoever is limited to namespaces asks nothing of the cluster.
    zones: options.watchNamespaces === null,
    objectBounds: options.objectBounds,
  });
  const leader = new LeaderElector({
    client,
    namespace: options.namespace,
    labels: OWNER_LABELS,
    identity,
    leaseDuration: options.leaseDuration,
    renewDeadline: options.renewDeadline,
    retryPeriod: options.retryPeriod,
    isNew: (deadline) => isNothingPublished(client, options.namespace, deadline),
    log,
    onChange: (isLeader) => outputs?.lead(isLeader),
  });
  let outputs: Outputs | null = null;
  let reconciler: Reconciler | null = null;
  const stream = new ProxyStream({
    options,
    client,
    watches,
    identity,
    metrics,
    log,
    onClaim: (version, proxy) => reconciler?.claim(version, proxy),
    onNews: () => outputs?.streamChanged(),
  });
  const admin = startAdminPort();
  if (typeof admin === "string") return await fail(admin);
  const deaf = await stream.start().then(() => null, (error) => error);
  if (deaf !== null) return await fail(describeListenError(deaf, options.stream, "--stream"));
  log.info("Listening", {
    admin: formatAddress(admin.address),
    stream: formatAddress(stream.server.address),
  });
  const sayUnlisted = () => {
    const kinds = watches.unlisted;
    const reason = kinds.length > 0 ? `not listed yet: ${kinds.join(", ")}` : "not translated yet";
    if (reconciler?.latest == null) lifecycle.setObstacle("watches", reason);
  };
  sayUnlisted();
  lifecycle.enter("ready");
  watches.onListed(sayUnlisted);
  watches.start();

  const epoch = await awaitEpoch(client, log, stopping.signal);
  if (epoch !== null) {
    const made: Outputs = outputs = new Outputs({
      client: new FencedClient(client, leader),
      fence: leader,
      ownClient: client,
      watches,
      workload: workload.options,
      options,
      identity,
      metrics,
      log,
      confirm: () => reconciler!.confirm(),
      translateAnew: () => reconciler?.changed(),
      streamed: () => stream.server.sessions,
      tooLarge: () => stream.server.tooLarge,
    });
    const loop = reconciler = new Reconciler({
      epoch,
      kinds: watches.kinds,
      secrets: watches.secrets,
      isSynced: () => watches.ownAreSynced && watches.areNamespacesKnown && watches.isDeniedKnown,
      resources: () => watches.resources(),
      references: (resources) => referencedSecrets(resources, options),
      published: () => made.published(),
      translate,
      translateOptions: {
        ...options,
        allowLocalEndpoints: false,
        loopMark: newLoopMark(),
        clusterBounds: {
          ...DEFAULT_CLUSTER_BOUNDS,
          memory: proxyMemoryOf(workload.options),
        },
      },
      clock: Date.now,
      gatherTime: options.gatherTime,
      gatherLimit: options.gatherLimit,
      log,
      onResult(result) {
        if (lifecycle.readiness().ready === false) log.info("Ready", showSize(result.snapshot));
        lifecycle.clearObstacle("watches");
        // First, and whoever leads: proxies do not wait for what is written.
        if (result.behind.length === 0) stream.server.update(result.snapshot);
        made.update(result);
      },
      onRun(result, milliseconds) {
        metrics.count("pingress_controller_reconciles_total", { result });
        metrics.time("pingress_controller_reconcile_duration_seconds", milliseconds);
      },
    });
    watches.onChange(() => loop.changed());
    watches.onPublishedChange(() => made.publishedChanged() && loop.changed());
    watches.onClaimsChange(() => made.claimsChanged() && loop.changed());
    watches.onWorkloadChange(() => made.workloadChanged());
    loop.changed();
    leader.start();
    await aborted(stopping.signal);
  }
  await end(admin);

  /** Ends in the order in which nothing is written after the lease is given back. */
  async function end(admin: AdminServer): Promise<void> {
    lifecycle.enter("draining");
    const streamed = stream.stop();
    const reconciled = reconciler?.stop();
    // Lists and Secrets that are still waited for end with them.
    const watched = watches.stop();
    await Promise.all([reconciled, streamed]);
    await outputs?.stop();
    await leader.stop();
    await watched;
    client.close();
    await admin.close();
    lifecycle.enter("stopped");
    log.info("Stopped");
    await standardOutput().flush();
    post({ kind: "exit", code: 0 });
  }

  /** The admin port, or why it cannot be had. */
  function startAdminPort(): AdminServer | string {
    const handlers = adminHandlers({
      metrics,
      measure: () => measure(),
      latest: () => reconciler?.latest ?? null,
      problems: () => outputs?.problems() ?? [],
      proxies: () => stream.server.show(),
    });
    try {
      return startAdmin({ ...options.admin, lifecycle, handlers, logger: log });
    } catch (error) {
      return describeListenError(error, options.admin, "--admin");
    }
  }

  /** Takes the readings that nobody is told of. */
  function measure(): void {
    metrics.set("pingress_controller_leader", Number(leader.isLeader));
    metrics.set("pingress_controller_synced", Number(reconciler?.isSynced ?? false));
    const waiting = (reconciler?.waiting ?? 0) / 1000;
    metrics.set("pingress_controller_changes_waiting_seconds", waiting);
    metrics.set("pingress_controller_memory_bytes", Deno.memoryUsage().rss);
    metrics.watches(watches.stats());
    outputs?.measure();
    stream.server.measure();
  }

  /** Ends a start that cannot succeed. */
  async function fail(message: string): Promise<void> {
    log.error("Cannot start", { reason: message });
    await standardOutput().flush();
    post({ kind: "exit", code: 1 });
  }
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
