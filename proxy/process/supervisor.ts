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
import { type AdminServer, startAdmin } from "../../shared/admin/server.ts";
import { describeListenError, formatAddress } from "../../shared/net/address.ts";
import { Lifecycle } from "../../shared/lifecycle.ts";
import { createLogger, type Logger, standardOutput } from "../../shared/log.ts";
import type { Snapshot, SnapshotChange } from "../../shared/snapshot/types.ts";
import { newLoopMark } from "../../shared/loop_mark_generator.ts";
import { VERSION } from "../../shared/version.ts";
import { adminHandlers } from "./admin_handlers.ts";
import { CertificateLoader } from "../certificates/loader.ts";
import type { DataPlane } from "./data_plane.ts";
import type { LocalPlane } from "./local_plane.ts";
import { SnapshotDiffer } from "../config/diff.ts";
import { ExpiryTimer } from "../certificates/expiry.ts";
import { onIpv4 } from "../cli/listen_addresses.ts";
import { parseProxyOptions, type ProxyOptions, workerCount } from "../cli/options.ts";
import { SnapshotSources } from "./sources.ts";
import type { FromSupervisor, ToSupervisor } from "./supervisor_protocol.ts";
import { TelemetryHub } from "../telemetry/hub.ts";
import { SpanRelay } from "../telemetry/traces/span_relay.ts";
import { WorkerPool } from "./worker_pool.ts";
import { LinkedThread, type WorkerThread } from "./worker_thread.ts";

/** At the end, what waits of spans has this long (ms) to be sent. */
const SPANS_TIMEOUT = 3_000;

/** Null before the start. */
let supervisor: Supervisor | null = null;
let threads: readonly LinkedThread[] = [];

self.onmessage = ({ data }: MessageEvent<ToSupervisor>) => {
  // As if it had been thrown here: the first thread is told, and ends the process.
  if (data.kind === "start") start(data).catch(reportError);
  else if (data.kind === "ping") post({ kind: "pong" });
  else if (data.kind === "worker-died") threads[data.worker].died(data.message);
  else if (supervisor !== null) supervisor.stop();
  else post({ kind: "exit", code: 0 });
};
post({ kind: "up" });

async function start(data: Extract<ToSupervisor, { kind: "start" }>): Promise<void> {
  const parsed = parseProxyOptions(data.args);
  if (parsed.kind !== "ok") throw new TypeError("The command line was to be good");
  const { listenHttp, listenHttps, ipv4Only, exporter } = data;
  const options = { ...parsed.options, listenHttp, listenHttps };
  threads = data.workers.map((port, worker) =>
    new LinkedThread(port, () => post({ kind: "end-worker", worker }))
  );
  const log = createLogger({ level: options.logLevel, format: options.logFormat });
  // A mistake of ours in one exchange must not end all the others, nor one while a configuration is
  // waited for. What keeps `run` from its end is told apart, and ends it.
  self.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("Unhandled rejection", { error: event.reason });
  });
  const serving = workerCount(options) === 1 ? await import("./local_plane.ts") : null;
  const own = ipv4Only ? onIpv4(options) : options;
  supervisor = new Supervisor(own, log, exporter, threads, serving?.LocalPlane ?? null);
  await supervisor.run();
}

class Supervisor {
  readonly #options: ProxyOptions;
  readonly #threads: readonly WorkerThread[];
  readonly #log: Logger;
  readonly #lifecycle = new Lifecycle();
  readonly #hub: TelemetryHub;
  /** Null where no spans are made. */
  readonly #spans: SpanRelay | null;
  readonly #plane: DataPlane;
  readonly #certificates: CertificateLoader;
  readonly #expiry: ExpiryTimer;
  readonly #sources: SnapshotSources;
  readonly #differ = new SnapshotDiffer();
  #admin: AdminServer | null = null;
  /** Of sockets, as they were logged last. */
  #obstacles = "[]";
  /** Of HTTPS, as clients know it. */
  #httpsPort: number | null = null;

  /**
   * @param exporter to the thread that exports spans; null where none are made.
   * @param threads of the first workers.
   * @param localPlane for traffic in this thread; null where workers carry it.
   */
  constructor(
    options: ProxyOptions,
    log: Logger,
    exporter: MessagePort | null,
    threads: readonly WorkerThread[],
    localPlane: typeof LocalPlane | null,
  ) {
    this.#options = options;
    this.#threads = threads;
    this.#log = log;
    const { traces } = options;
    this.#spans = traces === null || exporter === null
      ? null
      : new SpanRelay(exporter, traces.target, log);
    this.#hub = new TelemetryHub({
      accessLog: options.accessLog,
      traces: traces === null || this.#spans === null
        ? null
        : { options: traces.spans, relay: this.#spans },
      series: { by: options.metricsBy, limit: options.metricsLimit },
      output: standardOutput(),
      stream: () => this.#sources.scraped,
      refused: () => this.#sources.refused,
    });
    const workers = workerCount(options);
    this.#plane = this.#startPlane(workers, localPlane);
    this.#plane.setZone(options.zone);
    this.#certificates = new CertificateLoader({
      folder: dirname(resolve(options.config)),
      log,
      now: Date.now,
    });
    this.#expiry = new ExpiryTimer(this.#certificates, Date.now);
    this.#sources = this.#newSources(workers);
  }

  async run(): Promise<void> {
    const sources = this.#sources;
    const log = this.#log;
    const loaded = await sources.load();
    if (!loaded.ok && !loaded.waits) return await this.#fail(null);
    const admin = this.#startAdmin();
    if (typeof admin === "string") return await this.#fail(admin);
    this.#admin = admin;
    this.#plane.protect(admin.address);
    if (!loaded.ok) {
      // Alive, but not ready: in a cluster, what is lacking is under way.
      log.info("Not ready", { admin: formatAddress(admin.address) });
      sources.start();
      await sources.first;
    }
    this.#lifecycle.clearObstacle("configuration");
    try {
      await this.#listen();
    } catch (error) {
      return await this.#fail(error instanceof Error ? error.message : String(error));
    }
    if (loaded.ok) sources.start();
    this.#lifecycle.enter("ready");
    log.info("Ready", { admin: formatAddress(admin.address) });
  }

  /** Nothing to finish before it is ready; asked again while it ends, it ends at once. */
  stop(): void {
    const { state } = this.#lifecycle;
    if (state === "ready") this.#end(0, "signal");
    else post({ kind: "exit", code: state === "starting" ? 0 : 1 });
  }

  /** Several event loops where there are several CPUs; one serves in this thread. */
  #startPlane(workers: number, localPlane: typeof LocalPlane | null): DataPlane {
    const options = this.#options;
    const log = this.#log;
    const hub = this.#hub;
    // Load balancers stay away meanwhile.
    const onObstacle = (name: string, reason: string | null): void => {
      if (reason === null) this.#lifecycle.clearObstacle(name);
      else this.#lifecycle.setObstacle(name, reason);
    };
    const { listenRange, listenHttp: [{ hostname }] } = options;
    const own = { ...options, listenRange: listenRange && { ...listenRange, hostname } };
    const onSockets = () => this.#socketsChanged();
    if (localPlane !== null) {
      post({ kind: "serves" });
      return new localPlane({ ...own, log, onObstacle, onSockets }, hub);
    }
    const settings = {
      ...own,
      trustedProxies: options.trustedProxies.toString(),
      upstreamNetworks: options.upstreamNetworks.toString(),
      loopMark: newLoopMark(),
    };
    return new WorkerPool({
      count: workers,
      threads: this.#threads,
      settings,
      log,
      hub,
      write: (text: string) => standardOutput().write(text),
      onObstacle,
      onSockets,
      retirement: { delay: options.drainDelay, timeout: options.drainTimeout },
      onEnd: (reason) => this.#end(1, reason),
    });
  }

  #newSources(workers: number): SnapshotSources {
    const options = this.#options;
    const { memoryBytes: limit } = options.limits;
    return new SnapshotSources({
      file: options.config,
      watch: options.watch,
      clusterDomain: options.clusterDomain,
      maxRouteLoss: options.maxRouteLoss,
      memory: limit === 0 ? null : { limit, workers },
      controller: options.controller,
      log: this.#log,
      apply: (snapshot, change) => this.#apply(snapshot, change),
      onRefused: () => this.#hub.snapshotRefused(),
      onNone: (reason) => this.#lifecycle.setObstacle("configuration", reason),
      onZone: (zone) => options.zone === null && this.#plane.setZone(zone),
      obstacles: () => this.#plane.sockets.obstacles,
    });
  }

  #apply(snapshot: Snapshot, change: SnapshotChange | null): ReturnType<DataPlane["apply"]> {
    const usable = this.#certificates.load(snapshot);
    this.#expiry.restart();
    const delta = this.#differ.diff(snapshot, usable, change);
    this.#hub.changes(delta);
    const applied = this.#plane.apply(delta, { snapshot, certificates: usable });
    this.#hub.snapshotApplied(snapshot, usable, this.#certificates.refused);
    return applied;
  }

  /** Tells people, and the controller. */
  #socketsChanged(): void {
    const { open, obstacles } = this.#plane.sockets;
    const text = JSON.stringify(obstacles);
    if (text !== this.#obstacles) {
      const level = obstacles.length === 0 ? "info" : "warn";
      this.#log[level](
        obstacles.length === 0 ? "Every listener has its socket" : "Listeners without a socket",
        { open: open.length, obstacles },
      );
      this.#obstacles = text;
    }
    this.#sources.socketsChanged();
  }

  /** @throws Error where an address cannot be listened on. */
  async #listen(): Promise<void> {
    const { listenHttp: http, listenHttps: https, sslRedirectPort } = this.#options;
    const listening = await this.#plane.listen({ http, https });
    const [first] = listening.https;
    if (first !== undefined) this.#httpsPort = sslRedirectPort || first.port;
    this.#log.info("Listening", {
      http: listening.http.map(formatAddress),
      https: listening.https.map(formatAddress),
    });
  }

  /** The admin port, or why it cannot be had. */
  #startAdmin(): AdminServer | string {
    const { admin, limits, sslRedirect } = this.#options;
    try {
      const handlers = adminHandlers({
        hub: this.#hub,
        version: VERSION,
        limits,
        state: () => this.#sources.state,
        sockets: () => this.#plane.sockets,
        redirectPort: (isForced) => isForced || sslRedirect ? this.#httpsPort : null,
        paths: limits,
      });
      return startAdmin({ ...admin, lifecycle: this.#lifecycle, handlers, logger: this.#log });
    } catch (error) {
      return describeListenError(error, admin, "--admin");
    }
  }

  /** Ends without dropping what can be finished. Whatever fails on the way, the end is told. */
  async #end(code: number, reason: string): Promise<void> {
    const log = this.#log;
    if (!this.#lifecycle.enter("draining")) return;
    const { drainDelay: delay, drainTimeout: timeout } = this.#options;
    log[code === 0 ? "info" : "error"]("Draining", { reason, delay, timeout });
    let failed = false;
    const attempt = async (step: string, run: () => Promise<void>) => {
      try {
        await run();
      } catch (error) {
        failed = true;
        log.error("Failed during shutdown", { step, error });
      }
    };
    await attempt("drain", () => this.#plane.drain({ delay, timeout }));
    await attempt("configuration", () => this.#sources.stop());
    await attempt("spans", async () => await this.#spans?.close(SPANS_TIMEOUT));
    await attempt("admin port", async () => await this.#admin?.close());
    this.#lifecycle.enter("stopped");
    log.info("Stopped");
    await attempt("log", () => standardOutput().flush());
    post({ kind: "exit", code: failed ? 1 : code });
  }

  /** Ends a start that cannot succeed. @param message Null where the log says it, with the remedy. */
  async #fail(message: string | null): Promise<void> {
    if (message !== null) this.#log.error("Cannot start", { reason: message });
    await standardOutput().flush();
    post({ kind: "exit", code: 1 });
  }
}

function post(message: FromSupervisor): void {
  self.postMessage(message);
}
