/**
 * What a scrape of `/metrics` costs outside of the workers. In: nothing. Out: a table of CPU time,
 * duration and size of a scrape, for proxies with 5,000 routes of which each has had a request, counted
 * by host and by route.
 *
 * CPU time is that of the process less that of its workers, as the metrics themselves have it.
 */
import type { Route, Snapshot, Upstream } from "../shared/snapshot/types.ts";
import { Backend, Peer, statusOf } from "../tests/support/backend.ts";
import { ProxyProcess } from "../tests/support/proxy_process.ts";
import { taskOptions } from "../tools/task_options.ts";

taskOptions(
  {
    name: "deno task bench:scrape",
    summary: "Measures what a scrape of the metrics of 5,000 routes costs.",
  },
  {},
  Deno.args,
);

const ROUTES = 5_000;
const WORKERS = 2;
/** Not counted: the code is compiled meanwhile. */
const WARM_UP = 10;
const SCRAPES = 30;

interface Cost {
  /** Of one scrape, in ms. */
  readonly cpu: number;
  readonly duration: number;
  /** In bytes. */
  readonly size: number;
  readonly series: number;
}

/** Each route has a host and a Service of its own. */
function snapshot(port: number): Snapshot {
  const routes: Route[] = [];
  const upstreams: Upstream[] = [];
  for (let i = 0; i < ROUTES; i++) {
    const host = hostOf(i);
    const id = `team-${i % 100}/app-${i}:80`;
    routes.push({
      id: `${host} Prefix /`,
      host,
      match: { path: { type: "Prefix", value: "/" } },
      action: { kind: "forward", backends: [{ upstream: id }] },
      origin: { kind: "Ingress", namespace: `team-${i % 100}`, name: `app-${i}`, field: "spec" },
    });
    const endpoints = [{ address: "127.0.0.1", port }];
    upstreams.push({ id, protocol: "http", addresses: { kind: "endpoints", endpoints } });
  }
  return {
    format: 2,
    version: { epoch: "bench", seen: {} },
    routes,
    defaultAction: null,
    upstreams,
    certificates: [],
    defaultCertificate: null,
  };
}

function hostOf(i: number): string {
  return `app-${i}.team-${i % 100}.example.com`;
}

/** In seconds. */
function cpuOutsideOfWorkers(text: string): number {
  const [, all] = /^process_cpu_seconds_total (\S+)$/m.exec(text)!;
  const workers = [...text.matchAll(/^pingress_worker_cpu_seconds_total\{[^}]*\} (\S+)$/gm)];
  return workers.reduce((rest, [, cpu]) => rest - Number(cpu), Number(all));
}

async function measure(by: string): Promise<Cost> {
  await using backend = new Backend();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshot(backend.port),
    args: ["--allow-loopback-upstreams", `--workers=${WORKERS}`, `--metrics-by=${by}`],
  });
  using client = await Peer.connect(proxy.httpPort);
  for (let i = 0; i < ROUTES; i++) {
    const answer = await client.ask(`GET / HTTP/1.1\r\nHost: ${hostOf(i)}\r\n\r\n`);
    if (statusOf(answer) !== 200) throw new Error(`${hostOf(i)} got ${statusOf(answer)}`);
  }
  const scrape = async () => (await proxy.admin("/metrics")).text;
  for (let i = 0; i < WARM_UP; i++) await scrape();
  // Workers look at themselves once a second.
  await new Promise((resume) => setTimeout(resume, 1_500));
  const before = cpuOutsideOfWorkers(await scrape());
  const begun = performance.now();
  let last = "";
  for (let i = 0; i < SCRAPES; i++) last = await scrape();
  const duration = (performance.now() - begun) / SCRAPES;
  const cpu = (cpuOutsideOfWorkers(last) - before) * 1000 / SCRAPES;
  const series = last.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length;
  return { cpu, duration, size: last.length, series };
}

console.log("| counted by | CPU of a scrape, ms | duration, ms | MB | series |");
console.log("| --- | ---: | ---: | ---: | ---: |");
for (const by of ["host", "route"]) {
  const { cpu, duration, size, series } = await measure(by);
  const shown = [cpu.toFixed(1), duration.toFixed(0), (size / 1e6).toFixed(1), series];
  console.log(`| ${by} | ${shown.join(" | ")} |`);
}
