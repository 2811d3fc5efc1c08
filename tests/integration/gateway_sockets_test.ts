/** Sockets of Gateways open and close by changes of the configuration, in every worker. */
import assert from "node:assert/strict";
import type { Listener, Snapshot } from "../../shared/snapshot/types.ts";
import type { ListenRange } from "../../shared/net/port_range.ts";
import { Backend, Peer, reply, signal, statusOf, until } from "../support/backend.ts";
import { type Fleet, type FleetOptions, startFleet } from "../support/fleet.ts";
import {
  accepts,
  freeRange,
  gatewaySnapshot,
  HOSTNAME,
  listener,
  route,
} from "../support/gateway_listeners.ts";
import { eventually } from "../cluster/support/condition.ts";
import { Http2Client } from "../support/http2_client.ts";
import { listeningSockets } from "../support/listening_sockets.ts";
import { RequestLoad, statusAt } from "../support/request_load.ts";
import { TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

/** Some workers with a range of ports, and a backend. */
class Scene implements AsyncDisposable {
  readonly range: ListenRange = freeRange(8);
  readonly fleet: Fleet;
  readonly #backend: Backend;
  /** Of the proxy's own. */
  port = 0;

  private constructor(count: number, options: FleetOptions, backend: Backend) {
    this.fleet = startFleet(count, { listenRange: this.range, ...options });
    this.#backend = backend;
  }

  static async start(
    count: number,
    options: FleetOptions = {},
    backend = new Backend(),
  ): Promise<Scene> {
    const scene = new Scene(count, options, backend);
    scene.apply([]);
    const { http } = await scene.fleet.listen({
      http: [{ hostname: HOSTNAME, port: 0 }],
      https: [],
    });
    scene.port = http[0].port;
    return scene;
  }

  /** The port at this place of the range. */
  at(place: number): number {
    return this.range.from + place;
  }

  /** Settles when every worker has applied it: a listener for any host on each of these ports. */
  apply(ports: readonly number[], epoch = "file"): Promise<void> {
    const listeners = ports.map((port) => listener(`p${port}`, port));
    return this.serve(listeners, epoch);
  }

  serve(listeners: readonly Listener[], epoch = "file"): Promise<void> {
    const snapshot: Snapshot = gatewaySnapshot({
      listeners,
      routes: listeners.length === 0 ? [] : [route(listeners, "*", "web")],
      upstreams: { web: this.#backend.port },
    });
    return this.fleet.serve({ ...snapshot, version: { epoch, seen: {} } }, []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.fleet.close();
    await this.#backend[Symbol.asyncDispose]();
  }
}

async function statusesAt(port: number, count: number): Promise<string> {
  const statuses = await Promise.all(Array.from({ length: count }, () => statusAt(port)));
  return [...new Set(statuses)].sort().join();
}

const LINUX = { ignore: Deno.build.os !== "linux" };

Deno.test(
  "sockets open and close under load on others, without a failed request on these",
  LINUX,
  async () => {
    await using scene = await Scene.start(3, { drainDelay: 40 });
    const [stays, comes, goes] = [scene.at(0), scene.at(1), scene.at(2)];
    await scene.apply([stays]);
    await using load = new RequestLoad([{ port: scene.port }, { port: stays }]);
    for (let round = 0; round < 6; round++) {
      await scene.apply([stays, comes, goes]);
      // Applied means: by every worker.
      assert.deepEqual(scene.fleet.sockets.open, [stays, comes, goes].map(String));
      assert.deepEqual([comes, goes].map(listeningSockets), [3, 3]);
      assert.equal(await statusesAt(comes, 12), "200");
      await scene.apply([stays]);
      await until(
        "they are closed",
        () => [comes, goes].every((port) => listeningSockets(port) === 0),
      );
      assert.equal(await accepts(comes), false);
      await load.more(20);
    }
    assert.deepEqual(scene.fleet.sockets, { open: [String(stays)], obstacles: [] });
    await load.stop();
    assert.deepEqual(load.failures, []);
    assert.ok(load.requests > 200, String(load.requests));
  },
);

Deno.test(
  "a socket that no listener names any more still responds for the drain delay, then drains alone",
  LINUX,
  async () => {
    const asked = signal();
    const answer = signal();
    const backend = new Backend(async (peer) => {
      for (let request; (request = await peer.request()) !== null;) {
        if (request.head.startsWith("GET /slow")) {
          asked.resolve();
          await answer.promise;
        }
        await peer.send(reply("ok"));
      }
    });
    await using scene = await Scene.start(2, { drainDelay: 300 }, backend);
    const [goes, stays] = [scene.at(0), scene.at(1)];
    await scene.apply([goes, stays]);
    using idle = await Peer.connect(goes);
    using slow = await Peer.connect(goes);
    using other = await Peer.connect(stays);
    const http2 = await Http2Client.connect(goes);
    for (const client of [idle, slow, other]) {
      assert.equal(statusOf(await client.ask(GET)), 200);
    }
    assert.equal((await http2.ask()).status, 200);
    const pending = slow.ask("GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n");
    await asked.promise;
    await scene.apply([stays]);
    // Its listener is gone.
    assert.equal(await statusAt(goes), 404);
    await until("its port is closed", () => listeningSockets(goes) === 0);
    await http2.ended;
    assert.equal(http2.goAways[0]?.code, 0);
    assert.equal(await idle.ended(), "closes");
    answer.resolve();
    const last = await pending;
    assert.equal(statusOf(last), 200);
    assert.match(last.head, /^connection: close\r?$/im);
    assert.equal(await slow.ended(), "closes");
    assert.equal(statusOf(await other.ask(GET)), 200);
  },
);

Deno.test(
  "a listener that moves to another socket is served on both until the first closes",
  LINUX,
  async () => {
    await using scene = await Scene.start(2, { drainDelay: 300 });
    const [before, after] = [scene.at(0), scene.at(1)];
    await scene.serve([listener("a", before)]);
    await scene.serve([listener("a", after)]);
    assert.equal(await statusesAt(before, 8), "200");
    assert.equal(await statusesAt(after, 8), "200");
    await until("the first is closed", () => listeningSockets(before) === 0);
    assert.equal(await statusesAt(after, 8), "200");
  },
);

Deno.test(
  "a socket that is named again within the drain delay stays, and so do its connections",
  LINUX,
  async () => {
    await using scene = await Scene.start(2, { drainDelay: 400 });
    const [returns, goes] = [scene.at(0), scene.at(1)];
    await scene.apply([returns, goes]);
    using client = await Peer.connect(returns);
    await scene.apply([goes]);
    await scene.apply([returns]);
    // Its delay began earlier than that of the other one.
    await until("the other one is closed", () => listeningSockets(goes) === 0);
    assert.equal(listeningSockets(returns), 2);
    assert.equal(statusOf(await client.ask(GET)), 200);
    assert.equal(statusOf(await client.ask(GET)), 200);
  },
);

Deno.test("connections of one Gateway are drained when its socket becomes another one's", async () => {
  await using scene = await Scene.start(2);
  const port = scene.at(0);
  await scene.serve([listener("a", port)]);
  using client = await Peer.connect(port);
  assert.equal(statusOf(await client.ask(GET)), 200);
  await scene.serve([listener("a", port, { id: "test/other/a", port: 8080 })]);
  assert.equal(await client.ended(), "closes");
  assert.equal(await statusesAt(port, 8), "200");
});

Deno.test("a request on a connection to one Gateway never gets a response of another one that has its socket now", async () => {
  const heads: string[] = [];
  const backend = new Backend(async (peer) => {
    for (let request; (request = await peer.request()) !== null;) {
      heads.push(request.head);
      await peer.send(reply("ok"));
    }
  });
  await using scene = await Scene.start(1, { drainDelay: 100 }, backend);
  const port = scene.at(0);
  const own = [listener("a", port)];
  const others = [listener("a", port, { id: "test/other/a" })];
  await scene.serve(own);
  using handedOver = await Peer.connect(port);
  assert.equal(statusOf(await handedOver.ask(GET)), 200);
  await scene.serve(others);
  heads.length = 0;
  const last = await handedOver.ask(GET);
  // It is closed after two seconds, be the machine that slow.
  if (last.head !== "") {
    assert.equal(statusOf(last), 404);
    assert.match(last.head, /^connection: close\r?$/im);
  }
  assert.deepEqual(heads, []);

  // The same where the socket has been closed in between.
  using kept = await Peer.connect(port);
  assert.equal(statusOf(await kept.ask(GET)), 200);
  heads.length = 0;
  await scene.serve([]);
  await until("the port is closed", () => listeningSockets(port) === 0);
  await scene.serve(own);
  assert.notEqual(statusOf(await kept.ask(GET)), 200);
  assert.deepEqual(heads, []);
  assert.equal(await statusAt(port), 200);
});

Deno.test(
  "a drain ends after the port of a socket that was about to close has closed",
  LINUX,
  async () => {
    const listenRange = freeRange(1);
    const port = listenRange.from;
    using proxy = new TestProxy([], {}, { listenRange });
    const { server } = proxy;
    server.apply(gatewaySnapshot({ listeners: [listener("a", port)], upstreams: { web: 1 } }));
    await server.openSockets();
    assert.equal(listeningSockets(port), 1);
    server.apply(gatewaySnapshot({ listeners: [], upstreams: { web: 1 } }));
    // Its drain delay is over: now its queue is emptied.
    await until("it is about to close", () => server.sockets.open.length === 1);
    await new Promise((resume) => setTimeout(resume, 5));
    await server.drain({ delay: 0, timeout: 1_000 });
    assert.equal(listeningSockets(port), 0);
  },
);

Deno.test("a port that is taken is an obstacle, and a later change or retry opens it", async () => {
  await using scene = await Scene.start(2);
  const [taken, free, outside] = [scene.at(0), scene.at(1), scene.range.to + 1];
  for (const way of ["change", "retry"]) {
    const other = Deno.listen({ hostname: HOSTNAME, port: taken });
    try {
      // It keeps nothing from being applied.
      await scene.apply([taken, free, outside]);
      assert.equal(await statusesAt(free, 8), "200");
      const { from, to } = scene.range;
      assert.deepEqual(scene.fleet.sockets, {
        open: [String(free)],
        obstacles: [
          {
            socket: String(taken),
            reason: "another program has the port; stop it, or change --listen-range",
          },
          {
            socket: String(outside),
            reason: `it is outside of --listen-range ${from}-${to}`,
          },
        ],
      });
    } finally {
      other.close();
    }
    if (way === "change") await scene.apply([taken, free]);
    else await until("it is open", () => scene.fleet.sockets.open.includes(String(taken)));
    assert.equal(await statusesAt(taken, 8), "200");
    assert.deepEqual(
      scene.fleet.sockets.obstacles.map(({ socket }) => socket),
      way === "change" ? [] : [String(outside)],
    );
    await scene.apply([]);
    // A socket of one worker is not open in all of them, and still has the port.
    await eventually("all are closed", async () => !await accepts(taken) && !await accepts(free));
  }
});

Deno.test("a worker that is replaced opens the sockets of listeners too", LINUX, async () => {
  await using scene = await Scene.start(2);
  const port = scene.at(0);
  await scene.apply([port]);
  scene.apply([port], "throw");
  await until("both are replaced", () => scene.fleet.restarts === 2);
  await until("both listen", () => listeningSockets(port) === 2);
  await until("both have said so", () => scene.fleet.sockets.open.length === 1);
  assert.equal(await statusesAt(port, 12), "200");
});

Deno.test(
  "beside a stuck worker the others have more sockets on ports of listeners too",
  LINUX,
  async () => {
    const going = new Int32Array(new SharedArrayBuffer(4));
    await using scene = await Scene.start(2, { going });
    const [before, after] = [scene.at(0), scene.at(1)];
    await scene.apply([before]);
    scene.apply([before], "hang-0");
    await until("the others have more", () => listeningSockets(before) === 1 + 2 * 16);
    await scene.apply([before, after]);
    assert.equal(listeningSockets(after), 2 * 16);
    assert.deepEqual(scene.fleet.sockets.open, [String(before), String(after)]);
    Atomics.store(going, 0, 1);
    Atomics.notify(going, 0);
    await until("the stuck one is retired", () => listeningSockets(before) === 2 * 16);
  },
);
