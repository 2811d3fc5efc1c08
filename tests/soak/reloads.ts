/**
 * `deno task soak:reload`: one configuration after another under load. In: how many, and for how
 * many workers. Out: what was served, and that nothing was lost.
 *
 * Every other configuration changes routes, endpoints or certificates; the others say the same under
 * a new version. Clients hold on to their connections: one that closes counts as lost, and so does
 * every answer that is not what one of the configurations in turn gives.
 */
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { Backend, type Peer, reply } from "../support/backend.ts";
import { Http2Backend } from "../support/http2_backend.ts";
import { ProxyProcess, type Publish } from "../support/proxy_process.ts";
import { TlsClient } from "../support/tls_proxy.ts";
import { taskOptions } from "../../tools/task_options.ts";
import { HOST, HOST_WITH_FILES, ReloadPlan } from "./reload_plan.ts";
import { ReloadLoad } from "./reload_load.ts";

export interface ReloadOptions {
  readonly reloads: number;
  readonly workers: number;
  /** How configurations reach the watched folder; by a rename without it. */
  readonly publish?: Publish;
  /** Further routes that never change. */
  readonly routes?: number;
  readonly onReload?: (index: number) => void;
}

export interface ReloadReport {
  /** Seen in force, one by one. */
  readonly applied: number;
  /** Half-written ones that were put between them, and refused. */
  readonly refused: number;
  readonly requests: number;
  readonly handshakes: number;
  /** That came back over WebSockets and gRPC streams. */
  readonly frames: number;
  readonly failures: readonly string[];
  /** Connections that ended before the load did. */
  readonly closed: number;
  /** From a request to its answer, at the longest, in ms; this process's own pauses included. */
  readonly longestStall: number;
  /** The longest of those pauses, in ms. */
  readonly longestPause: number;
}

/** Connections that stay for the whole run. */
const FLAGS = [
  "--allow-loopback-upstreams",
  "--connection-request-limit=1000000000",
  "--ssl-redirect=false",
];

/** Answers with its name: at once, after a while, or whatever comes over a WebSocket. */
export function playAs(name: string): (peer: Peer) => Promise<void> {
  return async (peer) => {
    for (;;) {
      const request = await peer.reader.head("request");
      if (request === null) return;
      const path = request.head.split(" ")[1];
      if (path === "/socket") {
        await peer.send(
          "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        );
        for (let view = await peer.read(); view !== null; view = await peer.read()) {
          await peer.send(view.slice());
        }
        return;
      }
      await peer.reader.body(request);
      if (path === "/slow") await pause(300);
      await peer.send(reply(name));
    }
  };
}

/** Reloads so many times. */
export async function runReloads(
  { reloads, workers, publish, routes = 0, onReload }: ReloadOptions,
): Promise<ReloadReport> {
  await using blue = new Backend(playAs("blue"));
  await using green = new Backend(playAs("green"));
  await using red = new Backend(playAs("red"));
  await using rpc = await Http2Backend.start();
  using plan = await ReloadPlan.create([blue.port, green.port, red.port], rpc.port, routes);
  await using proxy = await ProxyProcess.start({
    snapshot: plan.snapshot,
    publish,
    args: [...FLAGS, `--workers=${workers}`, `--watch=${plan.certificateFolder}`],
  });
  const load = new ReloadLoad(proxy, plan.certificateNames);
  const running = load.run();
  let refused = 0;
  try {
    for (let index = 1; index <= reloads; index++) {
      if (index % 10 === 5) {
        const text = serialiseSnapshot(plan.snapshot, { revealKeys: true });
        proxy.replaceText(`${text.slice(0, text.length / 2)}${index}`);
        refused++;
        await until(`refusal ${refused}`, async () => await refusals(proxy) >= refused);
      }
      const change = plan.advance(index % 2 === 0);
      if (change !== "files") proxy.replace(plan.snapshot);
      await until(`reload ${index} (${change})`, () => isInForce(proxy, plan));
      onReload?.(index);
    }
    // As long again as a slow answer takes, so that all of them see the last configuration.
    await pause(400);
  } finally {
    load.over = true;
    await running;
  }
  const { requests, handshakes, frames, failures, closed, longestStall, longestPause } = load;
  const complaints = proxy.lines.filter(({ level, message }) =>
    level === "error" && message !== "Configuration rejected, keeping the active one"
  );
  return {
    applied: reloads,
    refused,
    requests,
    handshakes,
    frames,
    failures: [...failures, ...complaints.map((line) => `logged: ${JSON.stringify(line)}`)],
    closed,
    longestStall,
    longestPause,
  };
}

/** Whether a new client meets the plan's configuration, and no older one. */
async function isInForce(proxy: ProxyProcess, plan: ReloadPlan): Promise<boolean> {
  const metrics = (await proxy.admin("/metrics")).text;
  const version = /^pingress_snapshot_resource_version\{kind="Ingress"\} (\d+)$/m.exec(metrics);
  if (Number(version?.[1]) !== plan.version) return false;
  for (const [host, path] of plan.probes) {
    const answer = await askOnce(proxy.httpPort, host, path);
    if (!plan.expects(host, path, answer.status, answer.body)) return false;
  }
  for (const host of [HOST, HOST_WITH_FILES]) {
    using client = await TlsClient.connect(proxy.httpsPort, { name: host });
    if (client.names !== plan.namesOf(host)) return false;
  }
  return true;
}

async function askOnce(port: number, host: string, path: string) {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  const text = await new Response(connection.readable).text();
  const [head, body] = text.split("\r\n\r\n", 2);
  return { status: Number(head.split(" ")[1]), body };
}

async function refusals(proxy: ProxyProcess): Promise<number> {
  const { text } = await proxy.admin("/metrics");
  return Number(/^pingress_snapshot_loads_total\{result="refused"\} (\d+)$/m.exec(text)?.[1]);
}

/** How long one configuration may take to be in force, in ms. */
const PATIENCE = 20_000;

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE;
  while (!await condition()) {
    if (performance.now() > end) throw new Error(`Waited in vain for ${what}`);
    await pause(10);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}

if (import.meta.main) {
  const { reloads, workers, routes } = taskOptions({
    name: "deno task soak:reload",
    summary: "Reloads a proxy under load, again and again, and checks that nothing is lost.",
  }, {
    reloads: { type: "integer", min: 1, default: 1000, help: "How often it is reloaded." },
    workers: { type: "integer", min: 1, default: 2, help: "Workers of the proxy." },
    routes: { type: "integer", min: 1, default: 1000, help: "Further routes that never change." },
  }, Deno.args);
  const report = await runReloads({
    reloads,
    workers,
    routes,
    onReload: (index) => {
      if (index % 100 === 0) console.log(`${index} of ${reloads} in force`);
    },
  });
  for (const line of report.failures.slice(0, 20)) console.log(`failed: ${line}`);
  console.log(
    `${report.applied} reloads in force, ${report.refused} half-written ones refused; ` +
      `${report.requests} requests, ${report.handshakes} handshakes, ${report.frames} frames; ` +
      `${report.failures.length} failures, ${report.closed} closed connections, ` +
      `longest stall ${Math.round(report.longestStall)} ms ` +
      `(this process alone stood still for up to ${Math.round(report.longestPause)} ms)`,
  );
  Deno.exit(report.failures.length === 0 && report.closed === 0 ? 0 : 1);
}
