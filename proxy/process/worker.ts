/**
 * One event loop of several that share the ports. In: messages of the supervisor (settings first,
 * then deltas). Out: traffic, and what `worker_protocol.ts` says. It reads no file and no
 * environment: all it knows has been posted to it.
 */
/// <reference lib="deno.worker" />
import { CidrList } from "../../shared/net/cidr.ts";
import { createLogger, type Logger } from "../../shared/log.ts";
import { ConnectionCounts } from "../listen/connection_counts.ts";
import { listenAll } from "./listening.ts";
import { PostedPasswords } from "./posted_passwords.ts";
import { SelfProbes } from "../listen/self_probes.ts";
import { ProxyServer } from "../server.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import {
  type FromWorker,
  type PostedDelta,
  type ToWorker,
  unpackDelta,
} from "./worker_protocol.ts";

let server: ProxyServer | null = null;
let telemetry: Telemetry | null = null;
let log: Logger | null = null;
let draining: Promise<void> | null = null;

/** They are verified for all workers in one place. */
const passwords = new PostedPasswords((id, check) => post({ kind: "password", id, check }));

/** What messages go by. */
let link: Pick<MessagePort, "postMessage"> = self;

self.onmessage = receive;

function receive({ data }: MessageEvent<ToWorker>): void {
  switch (data.kind) {
    case "link":
      link = data.port;
      data.port.onmessage = receive;
      break;
    case "start":
      start(data);
      break;
    case "delta":
      applyDelta(data.delta, data.sequence);
      break;
    case "password":
      passwords.settle(data.id, data.verdict);
      break;
    case "zone":
      server?.setZone(data.zone);
      break;
    case "telemetry":
      telemetry?.receive(data.message);
      break;
    case "ping":
      post({ kind: "pong" });
      break;
    case "listeners":
      server?.setListeners(data.count);
      break;
    case "drain":
      draining ??= drain(data.options);
      break;
  }
}

// A mistake of ours in one exchange must not end all the others: it is told, and its own connection
// has been closed by then.
self.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  log?.error("Unhandled rejection", { error: event.reason });
});

function start(
  { settings, listen, listeners, delta, zone, telemetry: setup, cells }: Extract<
    ToWorker,
    { kind: "start" }
  >,
): void {
  telemetry = new Telemetry(
    setup,
    (message) => {
      const transfer = "bytes" in message ? [message.bytes.buffer] : [];
      link.postMessage({ kind: "telemetry", message }, transfer);
    },
  );
  telemetry.sampleLoop();
  log = createLogger({
    level: settings.logLevel,
    format: settings.logFormat,
    write: (text) => post({ kind: "lines", text }),
  });
  server = new ProxyServer({
    ...settings,
    trustedProxies: cidrs(settings.trustedProxies),
    upstreamNetworks: cidrs(settings.upstreamNetworks),
    reusePort: true,
    counts: new ConnectionCounts(cells.counts, cells.worker),
    bodies: new ConnectionCounts(cells.bodies, cells.worker),
    ownCalls: new SelfProbes(cells.calls, cells.worker),
    telemetry,
    verifyPassword: passwords.verify,
    log,
    onSockets: (states) => post({ kind: "sockets", states }),
    onObstacle: (name, reason) => post({ kind: "obstacle", name, reason }),
  });
  for (const address of settings.protected) server.protect(address);
  server.setZone(zone);
  server.applyDelta(unpackDelta(delta));
  listenAll(server, listen).then(
    (listening) => {
      server?.setListeners(listeners);
      post({ kind: "listening", listening });
    },
    (error) => post({ kind: "refused", message: String(error.message ?? error) }),
  );
}

function applyDelta(delta: PostedDelta, sequence: number): void {
  server?.applyDelta(unpackDelta(delta));
  const settled = server?.socketsSettled ?? null;
  if (settled === null) post({ kind: "applied", sequence });
  else settled.then(() => post({ kind: "applied", sequence }));
}

/** A list that the main thread has read already. */
function cidrs(text: string): CidrList {
  const list = CidrList.parse(text);
  if (typeof list === "string") throw new TypeError(`Cannot read addresses: ${list}`);
  return list;
}

async function drain(options: Extract<ToWorker, { kind: "drain" }>["options"]): Promise<void> {
  await server?.drain(options);
  telemetry?.close();
  post({ kind: "drained" });
}

function post(message: FromWorker): void {
  link.postMessage(message);
}

post({ kind: "up" });
