/**
 * `deno task bench:footprint`. In: proxies of this machine. Out: two Markdown tables: the memory of
 * each at rest, and what each takes to start, with one route and with many.
 *
 * Pingress is measured as its image has it, a bundle, and from its sources. Needs Linux (`/proc`).
 */
import { join } from "node:path";
import { writeImageFiles } from "../../tools/bundle/image.ts";
import { bundledProgram, INSTALLED_PROGRAMS } from "../../tools/programs.ts";
import { taskOptions } from "../../tools/task_options.ts";
import { describeMachine, disturbance } from "../machine.ts";
import type { Peer } from "../model.ts";
import { ENVOY } from "../peers/envoy.ts";
import { HAPROXY } from "../peers/haproxy.ts";
import { NGINX } from "../peers/nginx.ts";
import { pingressAt, type ProxyProgram, ROOT, SOURCES } from "../peers/pingress.ts";
import { TRAEFIK } from "../peers/traefik.ts";
import { figureOf, formatMarkdown, median, spread } from "../report.ts";
import type { Surroundings } from "../start.ts";
import { withSurroundings } from "../surroundings.ts";
import { type StartCost, type Started, startPeer, startWithCertificates } from "./start.ts";

const options = taskOptions(
  {
    name: "deno task bench:footprint",
    summary: "Measures memory at rest and the time to start, beside other proxies.",
  },
  {
    rest: {
      type: "duration",
      default: 60_000,
      reason: "V8 returns memory some time after the last work",
      help: "How long proxies rest before their memory is read.",
    },
    starts: {
      type: "integer",
      min: 1,
      default: 5,
      reason: "the median forgives two disturbed ones",
      help: "Starts of each proxy, in alternation.",
    },
    routes: {
      type: "integer",
      min: 2,
      default: 10_000,
      help: "Routes of the second kind of start.",
    },
    certificates: {
      type: "integer",
      min: 1,
      default: 1_000,
      help: "Certificates of the third kind of start, which is that of Pingress alone.",
    },
  },
  Deno.args,
);

const MIB = 1024 * 1024;

/** Of proxies with several workers, those that differ in memory. */
const WORKERS = [1, 2, 3];

const OTHERS: readonly Peer[] = [NGINX, HAPROXY, ENVOY, TRAEFIK];

await withSurroundings(async (surroundings) => {
  const image = await imageProgram(surroundings.folder);
  const bundled = pingressAt("pingress", ROOT, image);
  const peers = [bundled, pingressAt("pingress, sources", ROOT)];
  console.log(await describeMachine());
  const disturbed = disturbance();
  if (disturbed !== null) console.log(disturbed);
  for (const peer of OTHERS) {
    const found = await peer.find(true);
    if (found.kind === "found") {
      peers.push(peer);
      console.log(`- ${peer.name}: ${found.version}`);
    } else {
      console.log(`skipped: ${peer.name}: ${found.kind === "missing" ? found.remedy : found.why}`);
    }
  }
  await measureRest(peers, surroundings);
  await measureStarts(peers, surroundings, image);
});

/** The proxy as its image has it. */
async function imageProgram(folder: string): Promise<ProxyProgram> {
  const [app, cache, packages] = ["app", "cache", "packages"].map((name) => join(folder, name));
  const proxy = INSTALLED_PROGRAMS.find(({ name }) => name === "proxy")!;
  await writeImageFiles({ app, cache, packages }, proxy.entries[0]);
  return { folder: app, main: bundledProgram(proxy).entries[0], cache };
}

/** All at once: at rest, they do not disturb each other. */
async function measureRest(peers: readonly Peer[], surroundings: Surroundings): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const resting: { peer: Peer; workers: number; started: Started }[] = [];
  for (const peer of peers) {
    for (const workers of WORKERS) {
      const started = stack.use(await startPeer(peer, { routes: 1, workers }, surroundings));
      resting.push({ peer, workers, started });
    }
  }
  const { rest } = options;
  await new Promise((resolve) => setTimeout(resolve, rest / 2));
  const before = resting.map(({ started }) => started.cpu());
  await new Promise((resolve) => setTimeout(resolve, rest / 2));
  const rows = resting.map(({ peer, workers, started }, at) => [
    peer.name,
    String(workers),
    (started.memory() / MIB).toFixed(0),
    ((started.cpu() - before[at]) / (rest / 2) * 100).toFixed(2),
  ]);
  console.log(
    `\n${formatMarkdown([["proxy", "workers", "memory MiB", "CPU at rest %"], ...rows])}`,
  );
}

async function measureStarts(
  peers: readonly Peer[],
  surroundings: Surroundings,
  image: ProxyProgram,
): Promise<void> {
  const { starts, routes, certificates } = options;
  const kinds = new Map<string, { readonly row: readonly string[]; readonly costs: StartCost[] }>();
  const add = (name: string, count: number, withCertificates: number, cost: StartCost) => {
    const row = [name, count.toLocaleString("en"), withCertificates.toLocaleString("en")];
    const kind = kinds.get(row.join()) ?? { row, costs: [] };
    kinds.set(row.join(), kind);
    kind.costs.push(cost);
  };
  for (let i = 0; i < starts; i++) {
    for (const count of [1, routes]) {
      for (const peer of peers) {
        await using started = await startPeer(peer, { routes: count, workers: 1 }, surroundings);
        add(peer.name, count, 0, started.cost);
      }
    }
    for (const [name, program] of [["pingress", image], ["pingress, sources", SOURCES]] as const) {
      const cost = await startWithCertificates(program, routes, certificates);
      add(name, routes, certificates, cost);
    }
  }
  const show = (ms: number) => ms.toFixed(0);
  const rows = [...kinds.values()].map(({ row, costs }) => {
    const time = figureOf(costs.map(({ time }) => time))!;
    const cpu = median(costs.map(({ cpu }) => cpu));
    return [...row, show(time.median), spread(time, show), show(cpu)];
  });
  const head = ["proxy", "routes", "certificates", "ready ms", "its spread", "CPU ms"];
  console.log(`\n${formatMarkdown([head, ...rows])}`);
}
