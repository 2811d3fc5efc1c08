/**
 * The proxy, stage by stage. In: the command line and a configuration file. Out: traffic on the
 * listeners, health on the admin port, events on standard output.
 *
 *     options ─▶ snapshot source ─▶ data plane (apply, listen) ─▶ admin ─▶ signals: drain
 *                                     └──telemetry──▶ hub ──────────┘
 */
import { dirname, resolve } from "node:path";
import { startAdmin } from "../shared/admin.ts";
import { describeListenError, formatAddress } from "../shared/address.ts";
import { Lifecycle } from "../shared/lifecycle.ts";
import { createLogger, standardOutput } from "../shared/log.ts";
import { VERSION } from "../shared/version.ts";
import { adminHandlers } from "./admin_handlers.ts";
import { CertificateLoader } from "./certificate_loader.ts";
import { parseProxyOptions } from "./options.ts";
import { type DataPlane, LocalPlane } from "./data_plane.ts";
import { SnapshotSource } from "./snapshot_source.ts";
import { TelemetryHub } from "./telemetry/hub.ts";
import { WorkerFleet } from "./worker_fleet.ts";

const parsed = parseProxyOptions(Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { options } = parsed;
const log = createLogger({ level: options.logLevel, format: options.logFormat });
const lifecycle = new Lifecycle();

const hub = new TelemetryHub({
  accessLog: options.accessLog ? { query: options.accessLogQuery } : null,
  output: standardOutput(),
});
const plane = startPlane();
const certificates = new CertificateLoader({
  folder: dirname(resolve(options.config)),
  log,
  now: Date.now,
});
const source = new SnapshotSource({
  file: options.config,
  watch: options.watch,
  clusterDomain: options.clusterDomain,
  log,
  onSnapshot(snapshot) {
    const usable = certificates.load(snapshot);
    hub.snapshotComes(snapshot);
    plane.apply(snapshot, usable);
    hub.snapshotApplied(snapshot, usable);
  },
  onRefused: () => hub.snapshotRefused(),
});

const loaded = await source.load();
if (!loaded.ok) await fail(loaded.message);
const admin = await startAdminPort();
plane.protect(admin.address);
const listening = await plane.listen({ http: options.listenHttp, https: options.listenHttps })
  .catch((error) => fail(error.message));
log.info("Listening", {
  http: listening.http.map(formatAddress),
  https: listening.https.map(formatAddress),
});
source.start();
lifecycle.enter("ready");
log.info("Ready", { admin: formatAddress(admin.address) });

Deno.addSignalListener("SIGTERM", stop);
Deno.addSignalListener("SIGINT", stop);
// A mistake of ours in one exchange must not end all the others (reliability row 92).
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  log.error("Unhandled rejection", { error: event.reason });
});

/** Several event loops where there are several CPUs; one serves in this thread. */
function startPlane(): DataPlane {
  const count = options.workers || navigator.hardwareConcurrency;
  if (count === 1) return new LocalPlane({ ...options, log }, hub);
  const settings = {
    ...options,
    trustedProxies: options.trustedProxies.toString(),
    upstreamNetworks: options.upstreamNetworks.toString(),
  };
  const write = (text: string) => standardOutput().write(text);
  return new WorkerFleet({ count, settings, log, hub, write, onStuck: (reason) => end(1, reason) });
}

async function startAdminPort() {
  try {
    const handlers = adminHandlers({ hub, version: VERSION });
    return startAdmin({ ...options.admin, lifecycle, handlers, logger: log });
  } catch (error) {
    return await fail(describeListenError(error, options.admin, "--admin"));
  }
}

/** The first signal drains; the second ends it at once. */
function stop(): void {
  if (lifecycle.state !== "ready") Deno.exit(1);
  end(0, "signal");
}

/** Ends the process without dropping what can be finished. */
async function end(code: number, reason: string): Promise<void> {
  if (!lifecycle.enter("draining")) return;
  const { drainDelay: delay, drainTimeout: timeout } = options;
  log[code === 0 ? "info" : "error"]("Draining", { reason, delay, timeout });
  await plane.drain({ delay, timeout });
  await source.stop();
  await admin.close();
  lifecycle.enter("stopped");
  log.info("Stopped");
  await standardOutput().flush();
  Deno.exit(code);
}

/** Ends a start that cannot succeed. */
async function fail(message: string): Promise<never> {
  log.error("Cannot start", { reason: message });
  await standardOutput().flush();
  Deno.exit(1);
}
