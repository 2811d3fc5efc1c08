/** Workers that do not answer: who serves in their place, and when the process ends. */
import assert from "node:assert/strict";
import type { LogFields, Logger } from "../../shared/log.ts";
import { signal, until } from "../support/backend.ts";
import { type FleetOptions, snapshotOf, stalls, startFleet, unheardHub } from "../support/fleet.ts";
import { listeningSockets } from "../support/listening_sockets.ts";

const LOOPBACK = { hostname: "127.0.0.1", port: 0 };

/** A fleet whose workers hang to order, beside two backends. */
class Scene implements AsyncDisposable {
  readonly hub = unheardHub();
  /** The messages of the log. */
  readonly lines: string[] = [];
  /** Why the process was to end. */
  readonly ends: string[] = [];
  readonly obstacles: string[] = [];
  readonly fleet;
  readonly #going = new Int32Array(new SharedArrayBuffer(4));
  readonly #backends = ["blue", "green"].map((text) =>
    Deno.serve({ ...LOOPBACK, onListen() {} }, () => new Response(text))
  );
  port = 0;
  httpsPort = 0;

  constructor(count: number, limits: FleetOptions["stalls"] = {}) {
    const log = (message: string, _fields?: LogFields) => void this.lines.push(message);
    const logger: Logger = { debug: log, info: log, warn: log, error: log };
    this.fleet = startFleet(count, {
      hub: this.hub,
      log: logger,
      onEnd: (reason) => this.ends.push(reason),
      onObstacle: (name, reason) => reason !== null && this.obstacles.push(name),
      stalls: limits,
      going: this.#going,
    });
  }

  async listen(): Promise<void> {
    this.apply("blue");
    const { http, https } = await this.fleet.listen({ http: [LOOPBACK], https: [LOOPBACK] });
    this.port = http[0].port;
    this.httpsPort = https[0].port;
  }

  apply(backend: "blue" | "green", epoch?: string): Promise<void> {
    const { port } = this.#backends[backend === "blue" ? 0 : 1].addr;
    return this.fleet.serve(snapshotOf(port, epoch), []);
  }

  /** Who hangs goes on. */
  release(): void {
    Atomics.store(this.#going, 0, 1);
    Atomics.notify(this.#going, 0);
  }

  /** One request on a connection of its own: its body, or how it was lost. */
  async ask(): Promise<string> {
    try {
      using connection = await Deno.connect({ ...LOOPBACK, port: this.port });
      const request = "GET / HTTP/1.1\r\nHost: app.example.com\r\nConnection: close\r\n\r\n";
      await connection.write(new TextEncoder().encode(request));
      const buffer = new Uint8Array(4096);
      let text = "";
      for (let count; (count = await connection.read(buffer)) !== null;) {
        text += new TextDecoder().decode(buffer.subarray(0, count));
      }
      return text.split("\r\n\r\n")[1] ?? `ended after ${text.length} characters`;
    } catch (error) {
      return String(error);
    }
  }

  /** Waits until both ports are listened on by so many sockets; Linux alone tells. */
  async sockets(count: number): Promise<void> {
    await until(
      `${count} sockets`,
      () => listeningSockets(this.port) === count && listeningSockets(this.httpsPort) === count,
    );
  }

  async logged(message: string): Promise<void> {
    await until(`the line ${message}`, () => this.lines.includes(message));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release();
    this.fleet.close();
    await Promise.all(this.#backends.map((backend) => backend.shutdown()));
  }
}

Deno.test("a worker that is silent for a moment is logged and counted, and continues", async () => {
  await using scene = new Scene(2, { stuck: Infinity });
  await scene.listen();
  const applied = scene.apply("green", "hang-0");
  await scene.logged("Worker stalled");
  assert.ok(stalls(scene.hub) >= 1);
  scene.release();
  await scene.logged("Worker responds again");
  await applied;
  const answers = await Promise.all(Array.from({ length: 30 }, () => scene.ask()));
  assert.deepEqual(new Set(answers), new Set(["green"]));
  assert.equal(scene.fleet.restarts, 0);
  assert.deepEqual([scene.obstacles, scene.ends], [[], []]);
});

const LINUX = { ignore: Deno.build.os !== "linux" };

Deno.test(
  "beside a stuck worker nearly all connections are served, and all once it responds",
  LINUX,
  async () => {
    // So many clients keep a busy machine from the other worker for longer than the usual two seconds.
    await using scene = new Scene(2, { stuck: 4_000 });
    await scene.listen();
    scene.apply("blue", "hang-0");
    await scene.logged("Worker stuck");
    // It holds nothing up that is applied from now on.
    await scene.apply("green");
    await scene.sockets(33);
    let served = 0;
    const asked = Array.from({ length: 300 }, () => scene.ask());
    for (const asking of asked) asking.then(() => served++);
    // With a socket each the stuck worker would be given a third.
    await until("most are served", () => served >= 250);
    assert.deepEqual([scene.obstacles, scene.ends], [[], []]);
    scene.release();
    // Those that wait in its queue are served too, and by nothing older than what is in force.
    assert.deepEqual(new Set(await Promise.all(asked)), new Set(["green"]));
    await scene.logged("Worker retired");
    const answers = await Promise.all(Array.from({ length: 60 }, () => scene.ask()));
    assert.deepEqual(new Set(answers), new Set(["green"]));
    assert.equal(scene.fleet.restarts, 0);
    assert.deepEqual([scene.obstacles, scene.ends], [[], []]);
    await scene.sockets(32);
  },
);

Deno.test("a worker that starts later has as many sockets as the others", LINUX, async () => {
  await using scene = new Scene(3);
  await scene.listen();
  scene.apply("blue", "hang-0");
  await scene.logged("Worker stuck");
  await scene.sockets(1 + 3 * 16);
  scene.apply("blue", "throw");
  await until("the others are replaced", () => scene.fleet.restarts >= 3);
  await scene.sockets(1 + 3 * 16);
});

Deno.test("a drain does not wait for a stuck worker", async () => {
  await using scene = new Scene(2);
  await scene.listen();
  scene.apply("blue", "hang-0");
  await scene.logged("Worker stuck");
  await scene.fleet.drain({ delay: 0, timeout: 3_600_000 });
  assert.deepEqual(scene.ends, []);
});

Deno.test("a second stuck worker ends the process, after a delay", async () => {
  const over = signal();
  await using scene = new Scene(3, { endDelay: () => over.promise });
  await scene.listen();
  scene.apply("blue", "hang");
  await scene.logged("Shutting down soon");
  assert.deepEqual(scene.ends, []);
  over.resolve();
  await until("the end", () => scene.ends.length > 0);
  assert.deepEqual(scene.ends, ["a second worker is stuck"]);
});

Deno.test("the process does not end if all workers respond in time", async () => {
  const over = signal();
  await using scene = new Scene(3, { endDelay: () => over.promise });
  await scene.listen();
  scene.apply("green", "hang");
  await scene.logged("Shutting down soon");
  scene.release();
  await scene.logged("Worker retired");
  await until(
    "the others answer",
    () => scene.lines.filter((line) => line === "Worker responds again").length >= 2,
  );
  over.resolve();
  await scene.logged("Shutdown cancelled, all workers respond again");
  assert.deepEqual(scene.ends, []);
  const answers = await Promise.all(Array.from({ length: 30 }, () => scene.ask()));
  assert.deepEqual(new Set(answers), new Set(["green"]));
});

Deno.test("one worker that stays stuck ends the process", async () => {
  await using scene = new Scene(2, { hopeless: 4_000 });
  await scene.listen();
  scene.apply("blue", "hang-0");
  await until("the end", () => scene.ends.length > 0);
  assert.match(scene.ends[0], /^a worker has been stuck for \d+ ms$/);
});
