/**
 * `deno task soak:drain`: one proxy after another takes over from the one before, which is drained
 * under load. In: how many drains. Out: what was served, and that nothing was lost.
 *
 * Clients do what a load balancer has them do: new connections go to a proxy that says it is ready,
 * a connection that is told `Connection: close`, GOAWAY or 1001, is made anew. No request is sent
 * twice: what gets no whole answer is lost.
 */
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { FrameBoundary } from "../../proxy/http/websocket_frames.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { Http2Backend, http2SnapshotOf } from "../support/http2_backend.ts";
import { Http2Client } from "../support/http2_client.ts";
import { taskOptions } from "../../tools/task_options.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

export interface DrainReport {
  readonly drains: number;
  readonly requests: number;
  readonly uploads: number;
  /** Connections of HTTP/2 that ended by GOAWAY, with all of their requests answered. */
  readonly http2: number;
  /** gRPC streams that were begun before a drain and ended by themselves in it. */
  readonly streams: number;
  /** WebSockets that ended with 1001, at the end of a frame. */
  readonly webSockets: number;
  /** What was lost, a line each. */
  readonly lost: readonly string[];
}

const HOST = "Host: a.test\r\n";
const UPGRADE = `GET /socket HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n` +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
/** A masked binary frame with 20 bytes. */
const FRAME = new Uint8Array([0x82, 0x80 | 20, 1, 2, 3, 4, ...new Uint8Array(20).fill(7)]);

/** Leads to the backend that speaks HTTP/2 itself. */
const RPC_PATH = "/pingress.test.Echo";
const RPC = "test/rpc:80";

/** Between SIGTERM and the end of accepting, in ms: readiness is looked at every 20 ms meanwhile. */
const DRAIN_DELAY = 300;
const FLAGS = ["--workers=2", "--allow-loopback-upstreams", `--drain-delay=${DRAIN_DELAY}ms`];

async function play(peer: Peer): Promise<void> {
  for (;;) {
    const request = await peer.reader.head("request");
    if (request === null) return;
    const path = request.head.split(" ")[1];
    if (path === "/socket") {
      await peer.send(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      );
      // Back as a server's frame: without the mask.
      const frame = new Uint8Array([0x82, 20, ...new Uint8Array(20).fill(6)]);
      for (let due = 0, view = await peer.read(); view !== null; view = await peer.read()) {
        for (due += view.length; due >= FRAME.length; due -= FRAME.length) await peer.send(frame);
      }
      return;
    }
    await peer.reader.body(request);
    if (path === "/slow") await pause(400);
    await peer.send(reply(`${request.body.length}`));
  }
}

/** The proxies that say they are ready, as an Endpoints object would list them. */
class Balancer {
  readonly ready: ProxyProcess[] = [];
  /** When each proxy was told to drain, in ms. */
  readonly #told = new Map<ProxyProcess, number>();
  #next = 0;

  pick(): ProxyProcess {
    return this.ready[this.#next++ % this.ready.length];
  }

  drain(proxy: ProxyProcess): void {
    this.#told.set(proxy, performance.now());
    proxy.signal("SIGTERM");
  }

  /**
   * Connects to a ready proxy. On a busy machine this process may notice a drain only after its delay: a connection
   * that is refused then goes to the next proxy, as a load balancer's does, and one refused sooner is lost.
   */
  async connect<T>(to: (port: number) => Promise<T>): Promise<T> {
    for (;;) {
      const proxy = this.pick();
      try {
        return await to(proxy.httpPort);
      } catch (error) {
        const told = this.#told.get(proxy) ?? Infinity;
        if (!isRefusal(error) || performance.now() - told < DRAIN_DELAY) throw error;
        await pause(20);
      }
    }
  }

  /** Lists a proxy while it is ready; what cannot be asked for a moment stays as it was. */
  async watch(proxy: ProxyProcess): Promise<void> {
    let isOver = false;
    proxy.ended.then(() => isOver = true);
    let isReady = true;
    this.ready.push(proxy);
    while (!isOver) {
      const was: boolean = isReady;
      isReady = await proxy.admin("/readyz").then(({ status }) => status === 200, () => was);
      if (isReady && !was) this.ready.push(proxy);
      if (!isReady && was) this.ready.splice(this.ready.indexOf(proxy), 1);
      await pause(20);
    }
    if (isReady) this.ready.splice(this.ready.indexOf(proxy), 1);
  }
}

/** Drains so many proxies, one after another. */
export async function runDrains(
  drains: number,
  onDrain: (index: number) => void = () => {},
): Promise<DrainReport> {
  await using backend = new Backend(play);
  await using rpc = await Http2Backend.start();
  const balancer = new Balancer();
  const load = new Load(balancer);
  const start = async () => {
    const proxy = await ProxyProcess.start({
      snapshot: snapshotFor(backend.port, rpc.port),
      // Six times what an upload takes: on a busy machine it takes longer. WebSockets end only then.
      args: [...FLAGS, "--drain-timeout=3s"],
    });
    balancer.watch(proxy);
    return proxy;
  };
  let current = await start();
  const running = load.run();
  for (let index = 1; index <= drains; index++) {
    const next = await start();
    await pause(200);
    balancer.drain(current);
    const code = await current.ended;
    if (code !== 0) load.lost.push(`drain ${index} ended with ${code}`);
    await current[Symbol.asyncDispose]();
    current = next;
    onDrain(index);
  }
  load.over = true;
  await running;
  await current[Symbol.asyncDispose]();
  const { requests, uploads, http2, streams, webSockets, lost } = load;
  return { drains, requests, uploads, http2, streams, webSockets, lost };
}

function snapshotFor(port: number, rpcPort: number): Snapshot {
  const base = snapshotOf([port]);
  const [route] = base.routes;
  const [rpc] = http2SnapshotOf([rpcPort]).upstreams;
  return {
    ...base,
    routes: [
      {
        ...route,
        id: `* Prefix ${RPC_PATH}`,
        match: { path: { type: "Prefix", value: RPC_PATH } },
        action: { kind: "forward", backends: [{ upstream: RPC }] },
      },
      route,
    ],
    upstreams: [{ ...rpc, id: RPC }, ...base.upstreams],
  };
}

class Load {
  over = false;
  requests = 0;
  uploads = 0;
  http2 = 0;
  streams = 0;
  webSockets = 0;
  readonly lost: string[] = [];
  readonly #balancer: Balancer;

  constructor(balancer: Balancer) {
    this.#balancer = balancer;
  }

  async run(): Promise<void> {
    const many = (count: number, client: () => Promise<void>) =>
      Array.from({ length: count }, () => this.#repeat(client));
    await Promise.all([
      ...many(16, () => this.#keepAlive(`GET / HTTP/1.1\r\n${HOST}\r\n`, 5)),
      ...many(4, () => this.#keepAlive(`GET /slow HTTP/1.1\r\n${HOST}\r\n`, 5)),
      ...many(4, () => this.#keepAlive(`GET / HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`, 20)),
      ...many(4, () => this.#upload()),
      ...many(4, () => this.#http2()),
      ...many(4, () => this.#webSocket()),
    ]);
  }

  async #repeat(client: () => Promise<void>): Promise<void> {
    while (!this.over) {
      try {
        await client();
      } catch (error) {
        this.lost.push(`connection: ${error}`);
        await pause(50);
      }
    }
  }

  #connect(): Promise<Peer> {
    return this.#balancer.connect((port) => Peer.connect(port));
  }

  /** One connection, until it is told to close. */
  async #keepAlive(text: string, rest: number): Promise<void> {
    using client = await this.#connect();
    for (let count = 0; !this.over; count++) {
      const answer = await client.ask(text);
      if (statusOf(answer) !== 200 || !answer.complete) {
        this.lost.push(`request ${count} of a connection: ${JSON.stringify(answer.head)}`);
        return;
      }
      this.requests++;
      if (/^connection: close\r$/im.test(answer.head)) return;
      await pause(rest);
    }
  }

  /** An upload that takes half a second. */
  async #upload(): Promise<void> {
    using client = await this.#connect();
    await client.send(`POST / HTTP/1.1\r\n${HOST}Content-Length: 50000\r\n\r\n`);
    for (let i = 0; i < 50; i++) {
      if (!await client.send("x".repeat(1000))) break;
      await pause(10);
    }
    const answer = await client.answer();
    if (answer.body === "50000") this.uploads++;
    else this.lost.push(`upload: ${JSON.stringify(answer)}`);
  }

  /** One connection of HTTP/2, until it is told to go: requests beside a gRPC stream. */
  async #http2(): Promise<void> {
    using client = await this.#balancer.connect((port) => Http2Client.connect(port));
    const goesOn = () => !this.over && !client.isLeaving;
    const asking = async (path: string) => {
      while (goesOn()) {
        const { status, body } = await client.ask({ path });
        if (status !== 200 || body !== "0") this.lost.push(`request in HTTP/2: ${status} ${body}`);
        this.requests++;
        await pause(5);
      }
    };
    const streaming = async () => {
      const call = client.call(`${RPC_PATH}/Chat`);
      while (goesOn()) {
        await call.echo("a message");
        await pause(20);
      }
      await call.echo("the last one");
      call.end();
      const { trailers } = await call.answer;
      if (trailers["grpc-status"] === "0") this.streams++;
      else this.lost.push(`gRPC stream: ${JSON.stringify(trailers)}`);
    };
    await Promise.all([asking("/"), asking("/"), asking("/slow"), streaming()]);
    if (!this.over) this.http2++;
  }

  /** A WebSocket, until it is told 1001. */
  async #webSocket(): Promise<void> {
    using client = await this.#connect();
    await client.send(UPGRADE);
    const answer = await client.reader.head("response");
    if (!answer?.head.startsWith("HTTP/1.1 101 ")) {
      return void this.lost.push(`upgrade: ${JSON.stringify(answer?.head)}`);
    }
    const frames = new FrameBoundary();
    const talking = (async () => {
      while (!frames.hasClosed && !this.over && await client.send(FRAME)) await pause(20);
      if (this.over) client.close();
    })();
    for (let view = await client.read(); view !== null; view = await client.read()) {
      frames.pass(view);
    }
    if (!this.over) {
      if (frames.hasClosed && frames.isReached) this.webSockets++;
      else this.lost.push("a WebSocket was cut without a Close frame");
    }
    client.close();
    await talking;
  }
}

/** Of Deno's sockets, or of Node's. */
function isRefusal(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionRefused ||
    (error instanceof Error && "code" in error && error.code === "ECONNREFUSED");
}

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}

if (import.meta.main) {
  const { drains } = taskOptions({
    name: "deno task soak:drain",
    summary: "Drains a proxy under load, again and again, and checks that nothing is lost.",
  }, {
    drains: { type: "integer", min: 1, default: 100, help: "How often the proxy is drained." },
  }, Deno.args);
  const report = await runDrains(drains, (index) => {
    if (index % 10 === 0) console.log(`${index} of ${drains} drained`);
  });
  const { requests, uploads, http2, streams, webSockets, lost } = report;
  for (const line of lost.slice(0, 20)) console.log(`lost: ${line}`);
  console.log(
    `${drains} drains under load: ${requests} requests, ${uploads} uploads, ${http2} connections ` +
      `of HTTP/2 told to go and ${streams} gRPC streams, ${webSockets} WebSockets ended with 1001; ` +
      `${lost.length} lost`,
  );
  Deno.exit(lost.length === 0 ? 0 : 1);
}
