/**
 * A proxy that has just been started. In: a peer or our own with certificates, and how many routes.
 * Out: its process, and how long it took until it served a route.
 */
import { ProxyProcess } from "../../tests/support/proxy_process.ts";
import { snapshotOfShape } from "../../tests/support/large_snapshot.ts";
import { ageOf, cpuTime } from "../controller/process_usage.ts";
import { H1_SMALL } from "../cases/h1_small.ts";
import { askFor } from "../host_request.ts";
import type { Peer, Setup } from "../model.ts";
import { type ProxyProgram, wrapperOf } from "../peers/pingress.ts";
import { routesOf } from "../routes.ts";
import { setupFor, type Surroundings } from "../start.ts";

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
  { routes, workers }: Pick<Setup, "routes" | "workers">,
  surroundings: Surroundings,
): Promise<Started> {
  const setup = await setupFor(peer, { ...H1_SMALL, routes, workers }, surroundings);
  const child = await peer.start(setup);
  const { host, path } = routes === 1
    ? { host: "bench.test", path: "/small" }
    : routesOf(routes).at(-1)!;
  const end = performance.now() + PATIENCE;
  for (;;) {
    const status = await askFor(setup.listen, host, path).then(
      (answer) => answer.status,
      () => null,
    );
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
    cost: { time: ageOf(child.pid), cpu: cpu() },
    memory: () => child.usage().memory,
    cpu,
    [Symbol.asyncDispose]: () => child.stop(),
  };
}

/** Our own, with its configuration in a file, keys included, until its log says that it is ready. */
export async function startWithCertificates(
  program: ProxyProgram,
  routes: number,
  certificates: number,
): Promise<StartCost> {
  const snapshot = {
    ...await snapshotOfShape("certificates", certificates),
    routes: (await snapshotOfShape("paths", routes)).routes,
  };
  await using proxy = await ProxyProcess.start({
    snapshot,
    root: program.folder,
    program: program.main,
    wrapper: wrapperOf(program),
    args: ["--workers=1"],
  });
  return { time: ageOf(proxy.pid), cpu: cpuTime(proxy.pid) };
}
