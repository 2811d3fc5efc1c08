/**
 * `deno task soak:attacks`: attacks on HTTP/2 against `deno task proxy`, one after the other, each by
 * a few connections that come again when they are cut. In: how long each lasts. Out: what one takes
 * of the proxy's CPU and memory, beside what it costs the attacker, and what an honest client notices
 * of it; exit code 1 where that client got a wrong answer, or an attack is dear beyond bounds.
 */
import type { Snapshot } from "../../shared/snapshot/types.ts";
import {
  continuation,
  get,
  headers,
  indexed,
  join,
  literals,
  post,
  PREFACE,
  remembered,
  repeat,
  SETTING,
  windowUpdate,
} from "../support/h2_frames.ts";
import { bytesOf } from "../support/latin1.ts";
import { type Flood, FLOODS } from "../support/h2_floods.ts";
import { Origin } from "../support/h2_origin.ts";
import { H2Peer, type H2PeerOptions } from "../support/h2_peer.ts";
import { cpuOf, ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { taskOptions } from "../../tools/task_options.ts";
import type { CanaryReport } from "./h2_canary.ts";
import { falls, MIB, mib } from "./memory_watch.ts";

/** Connections of an attacker at a time, and how often one that is cut comes again, in ms. */
const CONNECTIONS = 4;
const INTERVAL = 100;

/** The attacker's CPU that one second of the proxy's may cost, turned round (Envoy's line is 100). */
const MAX_AMPLIFICATION = 100;
/** Of resident memory, above what it was before the attack, in bytes. */
const MAX_GROWTH = 128 * MIB;

/** This thread: the attacker and its backend. */
const ATTACKER = `self/task/${Deno.pid}`;

/** Bytes that an attacker sends at a time. */
const PART = 16 * 1024;

interface Attack {
  readonly says: string;
  readonly options?: H2PeerOptions;
  /** One connection, until it is cut or has nothing more to do. */
  readonly run: (peer: H2Peer) => Promise<unknown>;
}

const BOMB = join(
  literals(get("/big")),
  remembered(["cookie", "a".repeat(4_000)]),
  repeat(12_000, () => indexed(62)),
);
const CRUMBS = join(literals(get("/big")), repeat(8_000, () => indexed(32)));

const MORE: readonly Attack[] = [
  {
    says: "CONTINUATION without end",
    run: async (peer) => {
      await peer.send(headers(1, get("/hold"), { endHeaders: false }));
      await peer.send(repeat(500, () => continuation(1, new Uint8Array(0), false)));
    },
  },
  { says: "HPACK bomb", run: (peer) => sendHeads(peer, BOMB) },
  {
    says: "HTTP/2 Bomb, windows of zero",
    options: { settings: [[SETTING.INITIAL_WINDOW_SIZE, 0]] },
    run: (peer) => sendHeads(peer, CRUMBS),
  },
  {
    says: "answers without end, windows of zero",
    options: { settings: [[SETTING.INITIAL_WINDOW_SIZE, 0]] },
    run: (peer) => holdStreams(peer, "/big"),
  },
  {
    says: "answers without end, windows of one byte",
    options: { settings: [[SETTING.INITIAL_WINDOW_SIZE, 1]] },
    run: (peer) => holdStreams(peer, "/big"),
  },
  {
    says: "answers without end, not read",
    options: { deaf: true, settings: [[SETTING.INITIAL_WINDOW_SIZE, 0x7fffffff]] },
    run: async (peer) => {
      await peer.send(windowUpdate(0, 0x7fff0000));
      await holdStreams(peer, "/big");
    },
  },
  {
    says: "streams opened and left",
    run: (peer) => holdStreams(peer, "/hold"),
  },
  {
    says: "a preface that trickles",
    options: { rude: true },
    run: async (peer) => {
      for (const byte of PREFACE.subarray(0, -1)) {
        if (peer.ending !== "" || !await peer.send(Uint8Array.of(byte))) return;
        await new Promise((resume) => setTimeout(resume, 100));
      }
    },
  },
  {
    says: "no frames at all",
    options: { rude: true },
    run: (peer) => peer.send(bytesOf("x".repeat(100_000))),
  },
];

async function sendHeads(peer: H2Peer, block: Uint8Array): Promise<void> {
  while (peer.ending === "") {
    const stream = peer.nextStream();
    await peer.send(headers(stream, block, { end: true }));
    await peer.until("a head", () => peer.stream(stream).heads.length > 0);
  }
}

async function holdStreams(peer: H2Peer, path: string): Promise<void> {
  await peer.send(
    repeat(128, () => headers(peer.nextStream(), post(path), { end: path === "/big" })),
  );
  await peer.ended();
}

/** A flood, whose bytes are made once: each connection sends the same, until it is cut. */
function attackOf(attack: Flood): Attack {
  let bytes: Uint8Array | null = null;
  return {
    says: attack.says,
    run: async (peer) => {
      await attack.before?.(peer);
      bytes ??= repeat(Math.min(attack.sent, 3 * attack.limit), (i) => attack.unit(peer, i));
      for (let at = 0; at < bytes.length && peer.goAway === null; at += PART) {
        if (!await peer.send(bytes.subarray(at, at + PART))) break;
      }
      await peer.ended();
    },
  };
}

const ATTACKS: readonly Attack[] = [...FLOODS.map(attackOf), ...MORE];

/** Requests of canaries have a backend of their own. */
function snapshotWith(origin: number, canary: number): Snapshot {
  const base = snapshotOf([origin]);
  const [route] = base.routes;
  const [upstream] = base.upstreams;
  const id = "test/canary:80";
  return {
    ...base,
    routes: [{
      ...route,
      id: "* Prefix /canary",
      match: { path: { type: "Prefix", value: "/canary" } },
      action: { kind: "forward", backends: [{ upstream: id }] },
    }, route],
    upstreams: [upstream, {
      ...upstream,
      id,
      addresses: { kind: "endpoints", endpoints: [{ address: "127.0.0.1", port: canary }] },
    }],
  };
}

class Runner {
  readonly #proxy: ProxyProcess;
  readonly #origin: Origin;
  readonly #canary: Worker;
  readonly #duration: number;
  #failed = false;

  constructor(proxy: ProxyProcess, origin: Origin, canary: Worker, duration: number) {
    this.#proxy = proxy;
    this.#origin = origin;
    this.#canary = canary;
    this.#duration = duration;
  }

  get failed(): boolean {
    return this.#failed;
  }

  report(): Promise<CanaryReport> {
    return new Promise((resolve) => {
      this.#canary.onmessage = ({ data }) => resolve(data);
      this.#canary.postMessage("report");
    });
  }

  /** One attack, and its line of the table. */
  async attack({ says, options, run }: Attack): Promise<void> {
    const memory = await this.#proxy.memory();
    const [theirs, ours] = [await this.#proxy.cpu(), await cpuOf(ATTACKER)];
    const hits = this.#origin.hits;
    await this.report();
    const end = performance.now() + this.#duration;
    let connections = 0;
    let highest = memory;
    const timer = setInterval(async () => {
      highest = Math.max(highest, await this.#proxy.memory());
    }, 100);
    await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() < end) {
        const next = performance.now() + INTERVAL;
        await using peer = await H2Peer.connect(this.#proxy.httpPort, options);
        connections++;
        const timer = setTimeout(() => {
          // A deaf one learns its end by reading.
          peer.close();
          peer.read();
        }, end - performance.now());
        await run(peer).catch(() => {});
        clearTimeout(timer);
        peer.close();
        await new Promise((resume) => setTimeout(resume, Math.max(0, next - performance.now())));
      }
    }));
    clearInterval(timer);
    const { answers, wrong, median, p99 } = await this.report();
    const [spent, paid] = [
      await this.#proxy.cpu() - theirs,
      await cpuOf(ATTACKER) - ours,
    ];
    const growth = highest - memory;
    console.log(
      `${says.padEnd(52)} ${String(connections).padStart(6)} ${
        String(this.#origin.hits - hits).padStart(7)
      } ${spent.toFixed(2).padStart(6)} ${paid.toFixed(2).padStart(6)} ${
        mib(growth).padStart(10)
      } ${String(answers).padStart(7)} ${median.toFixed(1).padStart(7)} ${
        p99.toFixed(1).padStart(7)
      }`,
    );
    if (wrong.length > 0) this.#fail(`${says}: wrong answers to the canary: ${wrong.slice(0, 3)}`);
    if (spent > MAX_AMPLIFICATION * Math.max(paid, 0.05)) this.#fail(`${says}: dear`);
    if (growth > MAX_GROWTH) this.#fail(`${says}: memory grew by ${mib(growth)}`);
    const left = await falls(() => this.#origin.held, 0);
    if (left > 0) this.#fail(`${says}: ${left} requests left at the backend`);
  }

  #fail(line: string): void {
    console.error(line);
    this.#failed = true;
  }
}

async function main(): Promise<void> {
  const { seconds, only } = taskOptions({
    name: "deno task soak:attacks",
    summary: "Runs attacks on HTTP/2, each beside a regular client.",
  }, {
    seconds: { type: "integer", min: 1, default: 3, help: "How long each attack takes." },
    only: { type: "string", value: "TEXT", help: "Only attacks whose name has this text." },
  }, Deno.args);
  await using origin = new Origin();
  const canary = new Worker(new URL("./h2_canary.ts", import.meta.url), { type: "module" });
  const backend = await new Promise<number>((resolve) => {
    canary.onmessage = ({ data }) => resolve(data.backend);
  });
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotWith(origin.port, backend),
    // The canary asks more than a client may on one connection.
    args: [
      "--workers=1",
      "--allow-loopback-upstreams",
      "--connection-request-limit=1000000000",
    ],
  });
  const runner = new Runner(proxy, origin, canary, seconds * 1000);
  canary.postMessage({ port: proxy.httpPort });
  await new Promise((resume) => setTimeout(resume, 1_000));
  await runner.report();
  await new Promise((resume) => setTimeout(resume, seconds * 1000));
  const normal = await runner.report();
  console.log(
    `canary alone: ${normal.answers} answers, median ${normal.median.toFixed(1)} ms, ` +
      `p99 ${normal.p99.toFixed(1)} ms\n` +
      `${"attack".padEnd(52)}  conns    hits    cpu  their     memory  canary  median     p99`,
  );
  for (const attack of ATTACKS) {
    if (attack.says.includes(only ?? "")) await runner.attack(attack);
  }
  canary.terminate();
  if (runner.failed) Deno.exit(1);
}

if (import.meta.main) await main();
