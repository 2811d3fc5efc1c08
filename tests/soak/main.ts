/**
 * `deno task soak`: minutes of mixed load on `deno task proxy`, with its own permissions. In: how
 * long. Out: what was served, and whether memory and descriptors stay where they are; exit code 1
 * where they do not, where a request failed, or where the proxy met with a mistake of its own.
 *
 * In the warm-up clients press: V8 gives a heap room by what has been asked of it at the most, and
 * each worker has one, so it takes ten thousand handshakes until they stop growing.
 *
 *     start ─▶ warm-up ─▶ first tenth … last tenth ─▶ clients leave ─▶ at rest ─▶ SIGTERM
 *                          └─ lowest memory, highest descriptors: compared ─┘
 *
 * Seconds are no warm-up on a machine that is busy with something else, so a short run whose memory
 * has grown goes on for as long again, up to `MORE_SPANS` times: heaps that have their size stay there,
 * and a leak grows by as much each time.
 */
import type { Certificate, Snapshot } from "../../shared/snapshot/types.ts";
import { Http2Backend, http2SnapshotOf } from "../support/http2_backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { certificateFor } from "../support/tls_proxy.ts";
import { taskOptions } from "../../tools/task_options.ts";
import { falls, MIB, mib } from "./memory_watch.ts";
import { valueOf } from "./metrics.ts";
import { mixedBackend, MixedLoad } from "./mixed_load.ts";
import { RPC_PATH, SECURE_HOST } from "./mixed_targets.ts";

/** The warm-up's share of the time, and the part of it in which clients press. */
const WARM_UP = 0.4;
const PRESSING = 0.3;
/** The longest warm-up, in s: heaps have their size by then. */
const LONGEST_WARM_UP = 600;

/** From this length on, in s, the slope of memory over the last `SLOPE_SPAN` counts. */
const HOUR = 3_600;
const SLOPE_SPAN = 2_400;

/** What the last tenth may have more than the first one, and the end more than the start. */
interface Margins {
  /** Of resident memory, in bytes. Its lowest: garbage that is not collected yet is none of it. */
  readonly memory: number;
  /** At the highest: two clients that break off at a time, and those that replace them. */
  readonly descriptors: number;
  /** Sockets, once all clients have left, besides connections in the pool. */
  readonly leftOpen: number;
  /** Bytes of memory in ten minutes, by least squares. */
  readonly slope: number;
}

/**
 * Heaps grow in steps, and a machine that is busy with something else brings on one, so give a full
 * run the machine to itself. In ten minutes a leak of 50 bytes a request exceeds its margin; seconds
 * only show a flood.
 */
const SHORT_MARGINS: Margins = {
  memory: 64 * MIB,
  descriptors: 16,
  leftOpen: 0,
  slope: Infinity,
};
/** How often a short run goes on. */
const MORE_SPANS = 3;
const FULL_MARGINS: Margins = { ...SHORT_MARGINS, memory: 16 * MIB };
const HOUR_MARGINS: Margins = { ...FULL_MARGINS, slope: 2 * MIB };

/** Between two samples, and between two configurations, in ms. */
const INTERVAL = 500;
const RELOAD = 1_000;

/** The upstream of HTTP/2. */
const RPC = "test/rpc:80";

/** What of a run is compared, in s. */
interface Span {
  readonly from: number;
  readonly to: number;
  /** The length of its first and its last part. */
  readonly part: number;
}

interface Sample {
  readonly at: number;
  readonly memory: number;
  readonly descriptors: number;
}

/** A folder's snapshot: its version, its certificate and one of its routes change each time. */
function snapshotAt(
  index: number,
  backendPort: number,
  rpcPort: number,
  certificates: readonly Certificate[],
): Snapshot {
  const base = snapshotOf([backendPort]);
  const [route] = base.routes;
  const [rpc] = http2SnapshotOf([rpcPort]).upstreams;
  const value = `/turn/${index}`;
  return {
    ...base,
    version: { epoch: "soak", seen: { Ingress: String(index + 1) } },
    routes: [
      {
        ...route,
        id: `* Prefix ${RPC_PATH}`,
        match: { path: { type: "Prefix", value: RPC_PATH } },
        action: { kind: "forward", backends: [{ upstream: RPC }] },
      },
      { ...route, id: `* Prefix ${value}`, match: { path: { type: "Prefix", value } } },
      route,
    ],
    upstreams: [{ ...rpc, id: RPC }, ...base.upstreams],
    certificates: [certificates[index % certificates.length]],
  };
}

async function certificateOf(id: string): Promise<Certificate> {
  const { hosts, chain, key } = await certificateFor(id, { names: [SECURE_HOST] });
  return {
    id,
    hosts,
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: key },
    origin: { kind: "Secret", namespace: "test", name: id, field: "data" },
  };
}

async function sampleOf(proxy: ProxyProcess, at: number): Promise<Sample> {
  const [memory, { all }] = await Promise.all([proxy.memory(), proxy.descriptors()]);
  return { at, memory, descriptors: all };
}

/** Runs it for so many seconds; a line for each thing that is wrong. */
async function soak(seconds: number): Promise<string[]> {
  const margins = seconds >= HOUR ? HOUR_MARGINS : seconds >= 300 ? FULL_MARGINS : SHORT_MARGINS;
  const warmUp = Math.min(WARM_UP * seconds, LONGEST_WARM_UP);
  const certificates = await Promise.all(["one", "two"].map(certificateOf));
  await using backend = mixedBackend();
  await using rpc = await Http2Backend.start();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotAt(0, backend.port, rpc.port, certificates),
    args: ["--workers=2", "--allow-loopback-upstreams", "--drain-timeout=5s"],
  });
  console.log(`metrics: http://127.0.0.1:${proxy.adminPort}/metrics`);
  const sockets = async () => (await proxy.descriptors()).sockets;
  const atRest = await sockets();
  const load = new MixedLoad(proxy);
  const running = load.run();
  const samples: Sample[] = [];
  const start = performance.now();
  const passed = () => (performance.now() - start) / 1000;
  let reloads = 0;
  let said = 0;
  let next = 0;
  let more = margins === SHORT_MARGINS ? MORE_SPANS : 0;
  let span: Span = { from: warmUp, to: seconds, part: 0.1 * seconds };
  for (;; await pause(INTERVAL)) {
    if (passed() >= span.to) {
      if (more === 0 || growthOf(samples, span) <= margins.memory) break;
      console.log(`memory: ${mib(growthOf(samples, span))} more in ${span.to - span.from} s`);
      more--;
      const from = span.to - span.part;
      span = { ...span, from, to: from + (seconds - warmUp) };
    }
    samples.push(await sampleOf(proxy, passed()));
    load.pressing = passed() < (PRESSING / WARM_UP) * warmUp;
    if (passed() * 1000 >= next) {
      next += RELOAD;
      await proxy.replace(snapshotAt(++reloads, backend.port, rpc.port, certificates));
    }
    if (passed() >= said + 30) {
      said = Math.floor(passed());
      const { memory, descriptors } = samples.at(-1)!;
      console.log(`${said} s: ${mib(memory)}, ${descriptors} descriptors`);
    }
  }
  load.over = true;
  await running;
  const left = await falls(
    async () => await sockets() - backend.open.size - rpc.sessions.size,
    atRest + margins.leftOpen,
  ) - atRest;
  const metrics = (await proxy.admin("/metrics")).text;
  proxy.signal("SIGTERM");
  const code = await proxy.ended;

  const wrong = load.failures.slice(0, 20);
  const check = (isRight: boolean, line: string) => {
    console.log(line);
    if (!isRight) wrong.push(line);
  };
  const { plain, tls, handshakes, messages, uploads, downloads } = load.served;
  check(
    Math.min(plain, tls, handshakes, messages, uploads, downloads, load.aborted) > 0,
    `${seconds} s, served: ${plain} requests, ${tls} over TLS (${handshakes} handshakes), ` +
      `${messages} WebSocket messages, ${uploads} uploads, ${downloads} downloads; ` +
      `${load.aborted} clients broke off`,
  );
  const { streams, transfers, cancelled, ...http2 } = load.http2.served;
  check(
    Math.min(http2.plain, http2.tls, http2.messages, streams, transfers, cancelled) > 0,
    `HTTP/2: ${http2.plain} requests, ${http2.tls} over TLS, ${streams} gRPC streams of ` +
      `${http2.messages} messages, ${transfers} uploads and downloads; ${cancelled} taken back`,
  );
  check(load.failures.length === 0, `failed: ${load.failures.length}`);
  compare(samples, span, margins, check);
  check(
    left <= margins.leftOpen,
    `sockets when all clients have left: ${left} more than at the start, besides the pool ` +
      `(margin ${margins.leftOpen})`,
  );
  const applied = valueOf(metrics, 'pingress_snapshot_loads_total{result="applied"}');
  const refused = valueOf(metrics, 'pingress_snapshot_loads_total{result="refused"}');
  check(
    refused === 0 && applied > reloads / 2,
    `configurations: ${reloads} written, ${applied} applied, ${refused} refused`,
  );
  const mistakes = proxy.lines.filter(({ message }) => message === "Unhandled rejection").length;
  const internal = valueOf(metrics, 'pingress_request_errors_total{code="internal"}');
  const restarts = valueOf(metrics, "pingress_worker_restarts_total");
  check(
    mistakes + internal + restarts === 0,
    `unhandled rejections: ${mistakes}, internal errors: ${internal}, workers lost: ${restarts}`,
  );
  check(code === 0, `exit code after SIGTERM: ${code}`);
  return wrong;
}

/**
 * The samples of the first and the last part; on a machine that is too busy to take any then, the ones
 * nearest to each. Throws where there is none after the warm-up: nothing could be compared.
 */
function partsOf(
  samples: readonly Sample[],
  { from, to, part }: Span,
): readonly [first: readonly Sample[], last: readonly Sample[]] {
  const compared = samples.filter(({ at }) => at >= from);
  if (compared.length === 0) throw new Error("no sample was taken after the warm-up");
  const first = compared.filter(({ at }) => at < from + part);
  const last = compared.filter(({ at }) => at >= to - part);
  return [
    first.length === 0 ? compared.slice(0, 1) : first,
    last.length === 0 ? compared.slice(-1) : last,
  ];
}

function lowest(samples: readonly Sample[]): number {
  return Math.min(...samples.map(({ memory }) => memory));
}

/** Bytes of memory. */
function growthOf(samples: readonly Sample[], span: Span): number {
  const [first, last] = partsOf(samples, span);
  return lowest(last) - lowest(first);
}

function compare(
  samples: readonly Sample[],
  span: Span,
  margins: Margins,
  check: (isRight: boolean, line: string) => void,
): void {
  const [first, last] = partsOf(samples, span);
  const highest = (part: readonly Sample[]) =>
    Math.max(...part.map(({ descriptors }) => descriptors));
  const growth = growthOf(samples, span);
  check(
    growth <= margins.memory,
    `memory: ${mib(lowest(first))} after the warm-up, ${mib(lowest(last))} at the end, ` +
      `${mib(growth)} more (margin ${mib(margins.memory)})`,
  );
  const from = Math.max(span.from, span.to - SLOPE_SPAN);
  const rise = slope(samples.filter(({ at }) => at >= from)) * 600;
  const isBounded = margins.slope !== Infinity;
  // A busy machine takes few samples in a short run, and of a single one there is no slope.
  check(
    !isBounded || rise <= margins.slope,
    `memory: ${mib(rise)} more in 10 minutes, by the slope from ${Math.round(from)} s on` +
      (isBounded ? ` (margin ${mib(margins.slope)})` : ""),
  );
  check(
    highest(last) - highest(first) <= margins.descriptors,
    `descriptors: ${highest(first)} at most after the warm-up, ${highest(last)} at the end ` +
      `(margin ${margins.descriptors})`,
  );
}

/** Bytes a second, by least squares; NaN of a single sample. */
function slope(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  const at = mean(samples.map((sample) => sample.at));
  const memory = mean(samples.map((sample) => sample.memory));
  let above = 0;
  let below = 0;
  for (const sample of samples) {
    above += (sample.at - at) * (sample.memory - memory);
    below += (sample.at - at) ** 2;
  }
  return above / below;
}

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}

const { seconds } = taskOptions({
  name: "deno task soak",
  summary: "Runs mixed load on a proxy, and checks that memory and descriptors do not grow.",
}, {
  seconds: { type: "integer", min: 10, default: 600, help: "How long the load is kept up." },
}, Deno.args);
const wrong = await soak(seconds);
for (const line of wrong) console.log(`wrong: ${line}`);
console.log(wrong.length === 0 ? "The soak has passed" : "The soak has failed");
Deno.exit(wrong.length === 0 ? 0 : 1);
