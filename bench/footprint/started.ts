/**
 * A proxy that has just been started. In: a peer or our own with certificates, and how many routes.
 * Out: its process, and how long it took until it served a route.
 */
import { ProxyProcess } from "../../tests/support/proxy_process.ts";
import { snapshotOfShape } from "../../tests/support/large_snapshot.ts";
import { cpuTime } from "../controller/process_usage.ts";
import { H1_SMALL } from "../cases/h1_small.ts";
import { freePort } from "../child.ts";
import { askFor } from "../host_request.ts";
import type { Peer, Setup } from "../model.ts";
import type { ProxyProgram } from "../peers/pingress.ts";
import { routesOf } from "../routes.ts";
import type { Surroundings } from "../start.ts";

/** What a start took. */
export interface StartCost {
  /** From the start of the process until it served, in ms. */
  readonly time: number;
  /** CPU time until then, in ms. */
  readonly cpu: number;
}

export interface Started extends AsyncDisposable {
  readonly cost: StartCost;
  /** Resident memory, in bytes; what its processes share counts once. */
  memory(): number;
  /** CPU time of its processes since the start, in ms. */
  cpu(): number;
}

/** Milliseconds between two requests to a proxy that does not serve yet. */
const PAUSE = 5;

/** Milliseconds that a start may take. */
const PATIENCE = 60_000;

/** Throws where it does not serve in time. */
export async function startPeer(
  peer: Peer,
  { backend, folder }: Surroundings,
  { routes, workers }: Pick<Setup, "routes" | "workers">,
): Promise<Started> {
  const listen = { hostname: "127.0.0.1", port: freePort() };
  const own = await Deno.makeTempDir({ dir: folder, prefix: `${peer.name}-` });
  await Deno.chmod(own, 0o755);
  const child = await peer.start({
    listen,
    backend: await backend.addressFor(H1_SMALL),
    folder: own,
    workers,
    tls: null,
    http: 1,
    upstream: "http",
    routes,
    endpoints: 1,
    accessLog: false,
    traceRatio: 0,
    reloads: false,
  });
  const { host, path } = routes === 1
    ? { host: "bench.test", path: "/small" }
    : routesOf(routes).at(-1)!;
  const end = performance.now() + PATIENCE;
  for (;;) {
    const status = await askFor(listen, host, path).then((answer) => answer.status, () => null);
    if (status === 200) break;
    if (performance.now() > end) {
      await child.stop();
      throw new Error(`${peer.name} does not serve ${routes} routes: ${status}`);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  const cpu = () => {
    const { user, system } = child.usage();
    return (user + system) / 1000;
  };
  return {
    cost: { time: timeSinceStart(child.pid), cpu: cpu() },
    memory: () => child.usage().memory,
    cpu,
    [Symbol.asyncDispose]: () => child.stop(),
  };
}

/** Our own, with its configuration in a file, keys included, until its log says that it is ready. */
export async function startWithCertificates(
  { folder, main, cache }: ProxyProgram,
  routes: number,
  certificates: number,
): Promise<StartCost> {
  const snapshot = {
    ...await snapshotOfShape("certificates", certificates),
    routes: (await snapshotOfShape("paths", routes)).routes,
  };
  await using proxy = await ProxyProcess.start({
    snapshot,
    root: folder,
    program: main,
    wrapper: cache === undefined ? [] : ["env", `DENO_DIR=${cache}`],
    args: ["--workers=1"],
  });
  return { time: timeSinceStart(proxy.pid), cpu: cpuTime(proxy.pid) };
}

/** Of a process, in ms. */
function timeSinceStart(pid: number): number {
  const [uptime] = Deno.readTextFileSync("/proc/uptime").split(" ");
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  // The 22nd field, in hundredths of a second since the system's start: the name may hold spaces.
  const started = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  return Number(uptime) * 1000 - started * 10;
}
