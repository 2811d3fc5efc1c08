/**
 * What one change costs a proxy that serves 10,000 routes: the CPU of its main thread from the line of
 * the stream to what is posted to workers, and of a worker from there until it serves by it.
 *
 * `deno task bench:delta`. In: nothing. Out: a table, medians of several runs of many changes each, and
 * the bytes that are posted to each worker.
 */
import process from "node:process";
import { deserialize, serialize } from "node:v8";
import { CertificateLoader } from "../proxy/certificates/loader.ts";
import { parseProxyOptions } from "../proxy/cli/options.ts";
import { ActiveSnapshot } from "../proxy/config/active_snapshot.ts";
import { SnapshotDiffer } from "../proxy/config/diff.ts";
import { packDelta, type PostedDelta, unpackDelta } from "../proxy/process/worker_protocol.ts";
import { ProxyServer } from "../proxy/server.ts";
import { TelemetryHub } from "../proxy/telemetry/hub.ts";
import { LineOutput, silentLogger } from "../shared/log.ts";
import { CidrList } from "../shared/net/cidr.ts";
import type { Route, Snapshot, SnapshotChange, Upstream } from "../shared/snapshot/types.ts";
import { deltaLine, wholeLine } from "../shared/stream/change.ts";
import { Content } from "../shared/stream/content.ts";
import { readUpdate } from "../shared/stream/messages.ts";
import { ReceivedContent } from "../shared/stream/received.ts";
import { taskOptions } from "../tools/task_options.ts";

taskOptions(
  {
    name: "deno task bench:delta",
    summary: "Measures what one change costs a proxy with 10,000 routes.",
  },
  {},
  Deno.args,
);

const ROUTES = 10_000;
const RUNS = 9;
const CHANGES = 60;

const ORIGIN = { kind: "Ingress", namespace: "team", name: "web", field: "spec.rules[0]" };

function route(index: number, path = "/"): Route {
  const host = `app-${String(index).padStart(6, "0")}.example.com`;
  return {
    id: `${host} Prefix ${path}`,
    host,
    match: { path: { type: "Prefix", value: path } },
    action: { kind: "forward", backends: [{ upstream: upstream(index).id }] },
    origin: ORIGIN,
  };
}

function upstream(index: number, port = 8080): Upstream {
  const address = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  return {
    id: `team/app-${String(index).padStart(6, "0")}:80`,
    protocol: "http",
    addresses: { kind: "endpoints", endpoints: [{ address, port }] },
  };
}

/** The `round`th of its kind; what it gives are the lists after it. */
type Change = (from: Snapshot, round: number) => Partial<Snapshot>;

const KINDS: Readonly<Record<string, Change>> = {
  "nothing but the version": () => ({}),
  "path of one route": ({ routes }, round) => ({
    routes: routes.with((round * 97) % ROUTES, route((round * 97) % ROUTES, `/v${round}`)),
  }),
  // Another id, as of other content: the one before is gone.
  "policy of one route": ({ routes }, round) => ({
    routes: routes.with(ROUTES - 1, { ...routes[ROUTES - 1], policy: `policy-${round}` }),
    policies: [{ id: `policy-${round}`, bodyLimit: round }],
  }),
  "endpoints of one upstream": ({ upstreams }, round) => ({
    upstreams: upstreams.with((round * 89) % ROUTES, upstream((round * 89) % ROUTES, 9000 + round)),
  }),
  "one host and its upstream": ({ routes, upstreams }, round) => ({
    routes: [...routes, route(ROUTES + round)],
    upstreams: [...upstreams, upstream(ROUTES + round)],
  }),
};

/** The main thread's part, as `supervisor.ts` connects it, without workers to post to. */
class MainThread {
  readonly #received = new ReceivedContent();
  readonly #active: ActiveSnapshot;
  readonly #hub = new TelemetryHub({
    accessLog: null,
    output: new LineOutput({ write: (bytes) => Promise.resolve(bytes.length) }),
  });
  readonly #differ = new SnapshotDiffer();
  readonly #loader = new CertificateLoader({ folder: ".", log: silentLogger, now: Date.now });
  posted: PostedDelta | null = null;

  constructor() {
    this.#active = new ActiveSnapshot({
      maxRouteLoss: 50,
      hasStream: true,
      memory: { limit: 1024 ** 3, workers: 2 },
      apply: (snapshot, change) => this.#apply(snapshot, change),
    });
  }

  take(line: string): void {
    const read = readUpdate(line);
    if (!read.ok) throw new Error(read.reason);
    const { message } = read;
    if (message.kind !== "snapshot" && message.kind !== "delta") throw new Error(message.kind);
    const taken = this.#received.take(message);
    if (!taken.ok) throw new Error(taken.reason);
    const verdict = this.#active.takeStream(taken.snapshot, taken.hash, false, taken.change);
    if (verdict.kind === "refused") throw new Error(verdict.reason);
  }

  #apply(snapshot: Snapshot, change: SnapshotChange | null): Promise<void> {
    const usable = this.#loader.load(snapshot);
    const delta = this.#differ.diff(snapshot, usable, change);
    this.#hub.changes(delta);
    this.posted = packDelta(delta);
    this.#hub.snapshotApplied(snapshot, usable, this.#loader.refused);
    return Promise.resolve();
  }
}

function newServer(): ProxyServer {
  const parsed = parseProxyOptions(["--config", "none.json"]);
  if (parsed.kind !== "ok") throw new Error("defaults");
  const networks = CidrList.parse("");
  if (typeof networks === "string") throw new Error(networks);
  return new ProxyServer({
    ...parsed.options,
    trustedProxies: networks,
    upstreamNetworks: networks,
    listenRange: null,
    log: silentLogger,
  });
}

let content = Content.of({
  format: 2,
  version: { epoch: "bench", seen: { Ingress: "1" } },
  routes: Array.from({ length: ROUTES }, (_, i) => route(i)),
  defaultAction: null,
  upstreams: Array.from({ length: ROUTES }, (_, i) => upstream(i)),
  certificates: [],
  defaultCertificate: null,
});
const main = new MainThread();
const server = newServer();
main.take(wholeLine(content).trimEnd());
server.applyDelta(unpackDelta(main.posted!));
console.log(`${ROUTES} routes and upstreams; ms of CPU for a change`);
let revision = 1;
for (const [name, change] of Object.entries(KINDS)) {
  const inMain: number[] = [];
  const inWorker: number[] = [];
  let bytes = 0;
  for (let run = 0; run < RUNS; run++) {
    const lines: string[] = [];
    for (let i = 0; i < CHANGES; i++) {
      const { snapshot } = content;
      const version = { epoch: "bench", seen: { Ingress: String(++revision) } };
      const next = { ...snapshot, ...change(snapshot, run * CHANGES + i), version };
      const after = Content.of(next, content);
      lines.push(deltaLine(content, after).trimEnd());
      content = after;
    }
    const posted: Uint8Array[] = [];
    inMain.push(
      cpuMillis(() => {
        for (const line of lines) {
          main.take(line);
          posted.push(serialize(main.posted));
        }
      }) / CHANGES,
    );
    inWorker.push(
      cpuMillis(() => {
        for (const message of posted) server.applyDelta(unpackDelta(deserialize(message)));
      }) / CHANGES,
    );
    bytes = posted[0].length;
  }
  const cells = [median(inMain), median(inWorker)].map((ms) => ms.toFixed(2));
  console.log(
    `${name.padEnd(28)} main thread ${cells[0]}, worker ${cells[1]}; ${bytes} bytes posted`,
  );
}
Deno.exit();

/** CPU of this process, all of its threads, in ms. */
function cpuMillis(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}
