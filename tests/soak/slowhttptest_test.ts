/** A thousand slow clients of each kind that slowhttptest knows, and one that is not slow. */
import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { falls, FULL, MemoryWatch, mib } from "./memory_watch.ts";
import { valueOf } from "./metrics.ts";

const COUNT = 1_000;
/** The flags that end slow clients stay as they are, or end them sooner than anyone waits. */
const LIMITS = FULL ? [] : [
  "--request-head-timeout=5s",
  "--body-timeout=5s",
  "--write-timeout=5s",
  "--client-idle-timeout=5s",
];
/** How long the slow clients may stay, in s: past all of the limits, and on a busy machine too. */
const LENGTH = FULL ? 80 : 60;
/** How long it looks whether others are served, in s. */
const PROBE = 20;
/** What the program itself, and the one who asks beside it, may have open. */
const FEW = 5;
/** Idle connections to the backend that the proxy may keep. */
const POOL = 320;
/** Share of the clients that must have come; others are late. */
const MOST = 0.7;

interface Mode {
  readonly name: string;
  readonly args: readonly string[];
  readonly path?: string;
  readonly count?: number;
}

const READ_SLOWLY = ["-X", "-w", "1", "-y", "512", "-n", "1", "-z", "32"];
const MODES: readonly Mode[] = [
  { name: "slow heads (slowloris)", args: ["-H", "-i", "1"] },
  { name: "slow bodies", args: ["-B", "-i", "1", "-s", "8192"] },
  { name: "overlapping ranges", args: ["-R"] },
  { name: "slow reading", args: READ_SLOWLY, path: "/page" },
  // On the loopback interface the system takes megabytes off the hands of each that writes: a
  // thousand would use up all the memory that it has for TCP, and stall everybody by that.
  { name: "slow reading of large responses", args: READ_SLOWLY, path: "/large", count: 150 },
];

/** The system takes the first off the proxy's hands for a slow reader; of the other, a part. */
const BODIES: Readonly<Record<string, Uint8Array>> = {
  "/page": new Uint8Array(100_000).fill(0x70),
  "/large": new Uint8Array(4_000_000).fill(0x70),
};

const isInstalled = await new Deno.Command("slowhttptest", { args: ["-h"], stdout: "null" })
  .output().then(() => true, () => false);

async function play(peer: Peer): Promise<void> {
  for (let request = await peer.request(); request !== null; request = await peer.request()) {
    const body = request.head.startsWith("GET ") ? BODIES[request.head.split(" ")[1]] : undefined;
    if (body === undefined) {
      await peer.send(reply("ok"));
      continue;
    }
    await peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
    if (!await peer.send(body)) return;
  }
}

/** Asks on a new connection each time, until it is told to stop. */
class Bystander {
  over = false;
  served = 0;
  /** That it has opened. */
  connections = 0;
  /** From before the connection to after the answer, in ms. */
  longest = 0;
  readonly refused: string[] = [];

  async run(port: number): Promise<void> {
    while (!this.over) {
      const start = performance.now();
      using client = await Peer.connect(port);
      this.connections++;
      const answer = await client.ask("GET /ok HTTP/1.1\r\nHost: a.test\r\n\r\n");
      if (statusOf(answer) === 200) this.served++;
      else this.refused.push(answer.head);
      this.longest = Math.max(this.longest, performance.now() - start);
      await new Promise((resume) => setTimeout(resume, 50));
    }
  }
}

/** The connections of a proxy's clients, seen several times a second. */
class OpenConnections {
  over = false;
  /** That have ever come, without the bystander's. */
  all = 0;
  most = 0;
  /** Since there were most of them. */
  fewest = 0;

  /** @param enough called once `count` of them have come, and the limits have ended them. */
  async watch(
    proxy: ProxyProcess,
    bystander: Bystander,
    count: number,
    enough: () => void,
  ): Promise<void> {
    while (!this.over) {
      const { text } = await proxy.admin("/metrics");
      // A series that has never counted is missing.
      const open = valueOf(text, "pingress_connections_open") || 0;
      this.all = (valueOf(text, "pingress_connections_total") || 0) - bystander.connections;
      if (open > this.most) this.most = this.fewest = open;
      this.fewest = Math.min(this.fewest, open);
      if (this.all >= count && this.fewest <= FEW) enough();
      await new Promise((resume) => setTimeout(resume, 200));
    }
  }
}

/** Its report, without colours, once it has ended by itself or by SIGINT. */
function slowhttptest(url: string, { args, count = COUNT }: Mode) {
  const child = new Deno.Command("slowhttptest", {
    args: [
      ...args,
      ...["-c", String(count), "-r", "500", "-l", String(LENGTH), "-p", String(PROBE), "-u", url],
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let isRunning = true;
  const report = child.output().then(({ stdout }) => {
    isRunning = false;
    return stripVTControlCharacters(new TextDecoder().decode(stdout));
  });
  return { report, end: () => isRunning && child.kill("SIGINT") };
}

for (const mode of MODES) {
  const { name, path = "/ok", count = COUNT } = mode;
  Deno.test(`${count} clients with ${name} delay nobody`, async () => {
    if (!isInstalled) {
      const remedy = "apt-get install slowhttptest";
      console.log(`skipped: ${name}: slowhttptest is not installed (remedy: ${remedy})`);
      return;
    }
    await using backend = new Backend(play);
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotOf([backend.port]),
      args: ["--workers=1", "--allow-loopback-upstreams", ...LIMITS],
    });
    using memory = await MemoryWatch.begin(proxy);
    const bystander = new Bystander();
    const connections = new OpenConnections();
    const serving = bystander.run(proxy.httpPort);
    const attack = slowhttptest(`http://127.0.0.1:${proxy.httpPort}${path}`, mode);
    const watching = connections.watch(proxy, bystander, count, attack.end);
    const report = await attack.report;
    bystander.over = connections.over = true;
    await Promise.all([serving, watching]);
    const { all, most, fewest } = connections;
    console.log(
      `${name}: ${all} connections, ${most} at once, then ${fewest}; ${bystander.served} requests ` +
        `beside them, ${Math.round(bystander.longest)} ms at the longest; ` +
        `memory +${mib(memory.growth)}`,
    );
    assert.deepEqual(bystander.refused, []);
    assert.ok(bystander.served > 0);
    assert.doesNotMatch(report, /service available: *NO/);
    assert.match(report, /service available: *YES/);
    // Ranges are not slow: their answers come at once.
    if (!mode.args.includes("-R")) assert.ok(all > count * MOST, "most have come");
    // Slow readers stay till the end: the system still feeds them when the proxy has done with them.
    const areGone = /Exit status: *No open connections left/.test(report) || fewest <= FEW;
    assert.ok(areGone, `the limits have ended them: ${report.slice(-200)}`);
    const upstream = await falls(() => backend.open.size, POOL);
    assert.ok(upstream <= POOL, `${upstream} connections to the backend are open`);
  });
}
