/**
 * What the proxy's first thread does. In: the command line. Out: a supervisor with no more rights
 * than that command line needs, and the exit code. What this thread itself may read and dial is
 * dropped once the supervisor runs.
 *
 *     options ─▶ rights ─▶ supervisor: configuration, metrics, admin port
 *                   │          ├─ deltas, by ports ─▶ workers: traffic
 *                   │          └─ spans, by a port ─▶ exporter: nothing but its collector
 *                   └─▶ starts all of them
 *
 * A supervisor that carries the traffic itself (`--workers 1`) has no other to serve beside it where it
 * hangs: this thread ends the process then, so that it is started anew.
 */
import { formatAddress } from "../../shared/net/address.ts";
import { createLogger, type Logger, standardOutput } from "../../shared/log.ts";
import { dropRights, missingRight, type Rights } from "../../shared/rights.ts";
import { lacksIpv6, onIpv4, onPrivilegedPorts } from "../cli/listen_addresses.ts";
import { parseProxyOptions, workerCount } from "../cli/options.ts";
import {
  exporterRights,
  nameServersOf,
  supervisorRights,
  workerRights,
} from "../cli/permissions.ts";
import type { TraceExport } from "../telemetry/traces/options.ts";
import type { ExporterStart } from "./exporter_thread.ts";
import { type Environment, limitIoEvents } from "./io_turns.ts";
import type { FromSupervisor, ToSupervisor } from "./supervisor_protocol.ts";
import type { FromWorker, ToWorker } from "./worker_protocol.ts";

export interface FirstThreadOptions {
  /** The supervisor's code. */
  readonly module: URL;
  /** The code of the first workers. */
  readonly worker: URL;
  /** Between two pings, in ms. */
  readonly heartbeat: number;
  /** Silence, counted in pings, after which the supervisor is stuck; in ms. */
  readonly silence: number;
}

const DEFAULTS: FirstThreadOptions = {
  module: new URL("./supervisor.ts", import.meta.url),
  worker: new URL("./worker.ts", import.meta.url),
  heartbeat: 5_000,
  // Longer than a large configuration takes, or a starved node; liveness probes end it sooner.
  silence: 60_000,
};

/** What it answers begins an orderly end. */
export function startProxy(
  args: readonly string[],
  environment: Environment,
  given: Partial<FirstThreadOptions> = {},
): () => void {
  const { module, worker: workerModule, heartbeat, silence } = { ...DEFAULTS, ...given };
  const parsed = parseProxyOptions(args);
  if (parsed.kind !== "ok") {
    (parsed.kind === "help" ? console.log : console.error)(parsed.text);
    Deno.exit(parsed.kind === "help" ? 0 : 2);
  }
  const { logLevel: level, logFormat: format } = parsed.options;
  const log = createLogger({ level, format });
  const ipv4Only = lacksIpv6(parsed.options);
  if (ipv4Only) log.info("IPv6 is not available, listening on 0.0.0.0 instead of [::]");
  const named = ipv4Only ? onIpv4(parsed.options) : parsed.options;
  const options = onPrivilegedPorts(named);
  const { listenHttp, listenHttps } = options;
  if (options.listensByDefault) {
    log.info("Neither --listen-http nor --listen-https is set, using the defaults", {
      http: listenHttp.map(formatAddress),
      https: listenHttps.map(formatAddress),
    });
  }
  const rights = supervisorRights(options, options.upstreamNetworks.isEmpty ? [] : nameServersOf());
  const missing = missingRight({ read: rights.read as string[] });
  if (missing !== null) {
    fail(
      log,
      `Deno was started without a permission that this command line needs; add ${missing}`,
    );
    // It ends already.
    return () => {};
  }
  const unset = limitIoEvents(environment);
  if (unset !== null) {
    log.warn(`Many busy connections at a time will be served unevenly; add ${unset}`);
  }
  dropRights(["env"]);
  const supervisor = new Worker(module, {
    type: "module",
    name: "supervisor",
    deno: { permissions: rights },
  });
  const tell = (message: ToSupervisor, ports: MessagePort[] = []) =>
    supervisor.postMessage(message, ports);
  const exporter = options.traces === null ? null : startExporter(options.traces.target, log);
  const count = workerCount(options);
  const workers = Array.from(
    { length: count === 1 ? 0 : count },
    (_, worker) =>
      startWorker(
        workerModule,
        workerRights(rights),
        (message) => tell({ kind: "worker-died", worker, message }),
      ),
  );
  supervisor.onmessage = ({ data }: MessageEvent<FromSupervisor>) => {
    unheard = 0;
    if (data.kind === "up") {
      // The code of all threads is read with the rights of this one.
      const others = [...workers, ...exporter === null ? [] : [exporter]];
      Promise.all(others.map(({ isUp }) => isUp)).then(() => dropRights(["read", "net"]));
    } else if (data.kind === "end-worker") workers[data.worker].end();
    else if (data.kind === "serves") setInterval(ping, heartbeat);
    else if (data.kind === "exit") Deno.exit(data.code);
  };
  /** Pings since it last said anything: a pause of the whole process is not its silence. */
  let unheard = 0;
  const ping = () => {
    if (unheard * heartbeat >= silence) {
      return fail(log, `the thread that serves has been silent for ${silence} ms`);
    }
    unheard++;
    tell({ kind: "ping" });
  };
  supervisor.onerror = (event) => {
    event.preventDefault();
    fail(log, event.message);
  };
  const port = exporter?.port ?? null;
  const toWorkers = workers.map(({ port }) => port);
  tell(
    { kind: "start", args, ipv4Only, listenHttp, listenHttps, exporter: port, workers: toWorkers },
    port === null ? toWorkers : [port, ...toWorkers],
  );
  return () => tell({ kind: "stop" });
}

/**
 * Starts the thread of a worker: the port for the supervisor, and when its code is loaded. What goes wrong
 * in it is the supervisor's business.
 */
function startWorker(
  module: URL,
  permissions: Rights,
  onDeath: (message: string) => void,
): { readonly port: MessagePort; readonly isUp: Promise<void>; readonly end: () => void } {
  const channel = new MessageChannel();
  const up = Promise.withResolvers<void>();
  const thread = new Worker(module, { type: "module", deno: { permissions } });
  thread.onmessage = ({ data }: MessageEvent<FromWorker>) => data.kind === "up" && up.resolve();
  thread.onerror = (event) => {
    event.preventDefault();
    up.resolve();
    onDeath(event.message);
  };
  const end = () => {
    up.resolve();
    thread.terminate();
  };
  const link: ToWorker = { kind: "link", port: channel.port1 };
  thread.postMessage(link, [channel.port1]);
  return { port: channel.port2, isUp: up.promise, end };
}

/**
 * Starts the thread that exports spans: the port for whoever has them, and when its code is loaded. One
 * that has died takes no traffic with it.
 */
function startExporter(
  target: TraceExport,
  log: Logger,
): { readonly port: MessagePort; readonly isUp: Promise<void> } {
  const channel = new MessageChannel();
  const up = Promise.withResolvers<void>();
  const thread = new Worker(new URL("./exporter_thread.ts", import.meta.url), {
    type: "module",
    name: "exporter",
    deno: { permissions: exporterRights(target.url) },
  });
  thread.onmessage = () => up.resolve();
  thread.onerror = (event) => {
    event.preventDefault();
    up.resolve();
    log.error("Spans are not exported any more", { reason: event.message });
  };
  const start: ExporterStart = { target, port: channel.port1 };
  thread.postMessage(start, [channel.port1]);
  return { port: channel.port2, isUp: up.promise };
}

/** Ends what cannot go on. */
async function fail(log: Logger, reason: string): Promise<void> {
  log.error("Cannot continue", { reason });
  await standardOutput().flush();
  Deno.exit(1);
}
