/**
 * The proxy, stage by stage. In: the command line, by message, a configuration file, and the
 * controller's stream. Out: traffic on the listeners, health on the admin port, events on standard
 * output, an exit code.
 *
 *     options ─▶ snapshot sources ─▶ data plane (apply, listen) ─▶ admin ─▶ stop: drain
 *                                     └──telemetry──▶ hub ──────────┘
 *
 * A worker of `main.ts`, since that is how a thread gets no more rights than it needs (`permissions.ts`).
 */
/// <reference lib="deno.worker" />
import { dirname, resolve } from "node:path";
import { startAdmin } from "../../shared/admin/server.ts";
import { describeListenError, formatAddress } from "../../shared/net/address.ts";
import { Lifecycle } from "../../shared/lifecycle.ts";
import { createLogger, standardOutput } from "../../shared/log.ts";
import { newLoopMark } from "../../shared/loop_mark.ts";
import { VERSION } from "../../shared/version.ts";
import { adminHandlers } from "./admin_handlers.ts";
import { CertificateLoader } from "../certificates/loader.ts";
import { type DataPlane, LocalPlane } from "./data_plane.ts";
import { ExpiryTimer } from "../certificates/expiry.ts";
import { onIpv4 } from "../cli/listen_addresses.ts";
import { parseProxyOptions, type ProxyOptions } from "../cli/options.ts";
import { SnapshotSources } from "./sources.ts";
import type { FromSupervisor, ToSupervisor } from "./supervisor_protocol.ts";
import { TelemetryHub } from "../telemetry/hub.ts";
import { WorkerFleet } from "./worker_pool.ts";

/** Begins to end, or gives up what it is at; null before the start. */
let stop: (() => void) | null = null;

self.onmessage = ({ data }: MessageEvent<ToSupervisor>) => {
  if (data.kind === "stop") return stop?.();
  if (data.kind === "ping") return post({ kind: "pong" });
  const parsed = parseProxyOptions(data.args);
  if (parsed.kind !== "ok") throw new TypeError("The command line was to be good");
  // As if it had been thrown here: the first thread is told, and ends the process.
  const { listenHttp, listenHttps, ipv4Only } = data;
  const options = { ...parsed.options, listenHttp, listenHttps };
  run(ipv4Only ? onIpv4(options) : options).catch(reportError);
};
post({ kind: "up" });

async function run(options: ProxyOptions): Promise<void> {
  const log = createLogger({ level: options.logLevel, format: options.logFormat });
  const lifecycle = new Lifecycle();
  /** The port to which plain HTTP is redirected, once one is known. */
  let redirectPort: number | null = null;
  // A mistake of ours in one exchange must not end all the others (reliability row 92), nor one while
  // a configuration is waited for. What keeps this function from its end is told apart, and ends it.
  self.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("Unhandled rejection", { error: event.reason });
  });
  // Nothing to finish before it is ready; asked again while it ends, it ends at once.
  stop = () => {
    if (lifecycle.state === "ready") end(0, "signal");
    else post({ kind: "exit", code: lifecycle.state === "starting" ? 0 : 1 });
  };
  const hub: TelemetryHub = new TelemetryHub({
    accessLog: options.accessLog ? { query: options.accessLogQuery } : null,
    output: standardOutput(),
    stream: () => sources.scraped,
  });
  const workers = options.workers || navigator.hardwareConcurrency;
  const { memoryBytes: limit } = options.limits;
  const plane = startPlane();
  plane.setZone(options.zone);
  const certificates = new CertificateLoader({
    folder: dirname(resolve(options.config)),
    log,
    now: Date.now,
  });
  const expiry = new ExpiryTimer(certificates, Date.now);
  const sources: SnapshotSources = new SnapshotSources({
    file: options.config,
    watch: options.watch,
    clusterDomain: options.clusterDomain,
    maxRouteLoss: options.maxRouteLoss,
    memory: limit === 0 ? null : { limit, workers },
    controller: options.controller,
    log,
    apply(snapshot) {
      const usable = certificates.load(snapshot);
      expiry.restart();
      hub.snapshotComes(snapshot);
      const applied = plane.apply(snapshot, usable);
      hub.snapshotApplied(snapshot, usable, certificates.refused);
      return applied;
    },
    onRefused: () => hub.snapshotRefused(),
    onNone: (reason) => lifecycle.setObstacle("configuration", reason),
    onZone: (zone) => options.zone === null && plane.setZone(zone),
  });

  const loaded = await sources.load();
  if (!loaded.ok && !loaded.waits) return await fail(loaded.message);
  const admin = startAdminPort();
  if (typeof admin === "string") return await fail(admin);
  plane.protect(admin.address);
  if (!loaded.ok) {
    // Alive, but not ready: in a cluster, what is lacking is under way.
    log.info("Not ready", { admin: formatAddress(admin.address) });
    sources.start();
    await sources.first;
  }
  lifecycle.clearObstacle("configuration");
  try {
    const { listenHttp: http, listenHttps: https } = options;
    const listening = await plane.listen({ http, https });
    const [first] = listening.https;
    if (options.sslRedirect && first !== undefined) {
      redirectPort = options.sslRedirectPort || first.port;
    }
    log.info("Listening", {
      http: listening.http.map(formatAddress),
      https: listening.https.map(formatAddress),
    });
  } catch (error) {
    return await fail(error instanceof Error ? error.message : String(error));
  }
  if (loaded.ok) sources.start();
  lifecycle.enter("ready");
  log.info("Ready", { admin: formatAddress(admin.address) });

  /** Several event loops where there are several CPUs; one serves in this thread. */
  function startPlane(): DataPlane {
    if (workers === 1) {
      post({ kind: "serves" });
      return new LocalPlane({ ...options, log, onObstacle }, hub);
    }
    const settings = {
      ...options,
      trustedProxies: options.trustedProxies.toString(),
      upstreamNetworks: options.upstreamNetworks.toString(),
      loopMark: newLoopMark(),
    };
    const write = (text: string) => standardOutput().write(text);
    return new WorkerFleet({
      count: workers,
      settings,
      log,
      hub,
      write,
      onObstacle,
      retirement: { delay: options.drainDelay, timeout: options.drainTimeout },
      onEnd: (reason) => end(1, reason),
    });
  }

  /** Load balancers stay away meanwhile. */
  function onObstacle(name: string, reason: string | null): void {
    if (reason === null) lifecycle.clearObstacle(name);
    else lifecycle.setObstacle(name, reason);
  }

  /** The admin port, or why it cannot be had. */
  function startAdminPort(): ReturnType<typeof startAdmin> | string {
    try {
      const handlers = adminHandlers({
        hub,
        version: VERSION,
        state: () => sources.state,
        redirectPort: () => redirectPort,
        paths: options.limits,
      });
      return startAdmin({ ...options.admin, lifecycle, handlers, logger: log });
    } catch (error) {
      return describeListenError(error, options.admin, "--admin");
    }
  }

  /** Ends without dropping what can be finished. Whatever fails on the way, the end is told. */
  async function end(code: number, reason: string): Promise<void> {
    if (!lifecycle.enter("draining")) return;
    const { drainDelay: delay, drainTimeout: timeout } = options;
    log[code === 0 ? "info" : "error"]("Draining", { reason, delay, timeout });
    let failed = false;
    const attempt = async (step: string, run: () => Promise<void>) => {
      try {
        await run();
      } catch (error) {
        failed = true;
        log.error("Failed while ending", { step, error });
      }
    };
    await attempt("drain", () => plane.drain({ delay, timeout }));
    await attempt("configuration", () => sources.stop());
    if (typeof admin !== "string") await attempt("admin port", () => admin.close());
    lifecycle.enter("stopped");
    log.info("Stopped");
    await attempt("log", () => standardOutput().flush());
    post({ kind: "exit", code: failed ? 1 : code });
  }

  /** Ends a start that cannot succeed. */
  async function fail(message: string): Promise<void> {
    log.error("Cannot start", { reason: message });
    await standardOutput().flush();
    post({ kind: "exit", code: 1 });
  }
}

function post(message: FromSupervisor): void {
  self.postMessage(message);
}
