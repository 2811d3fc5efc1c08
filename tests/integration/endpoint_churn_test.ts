/** Endpoints that come and go while clients are asking: rolling updates, and none left at all. */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { Backend, Peer, refusingPort, statusOf, until } from "../support/backend.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const PUT = "PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc";

/** A backend that ends as a good pod does: it takes no more, and finishes what it has. */
class Pod {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  served = 0;

  constructor(random: Random) {
    const serve = async (request: Request) => {
      this.served++;
      await request.text();
      // Some are under way whenever the pod ends.
      await new Promise((resume) => setTimeout(resume, random.below(6)));
      return new Response("ok");
    };
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, serve);
  }

  get port(): number {
    return this.#server.addr.port;
  }

  end(): Promise<void> {
    return this.#server.shutdown();
  }
}

/** Clients that ask without pause over connections that stay, until it is stopped. */
class Load {
  answered = 0;
  readonly failures: string[] = [];
  #stopped = false;
  readonly #clients: Promise<void>[];

  constructor(port: number, clients: number) {
    this.#clients = Array.from({ length: clients }, (_, i) => this.#ask(port, i % 2 ? GET : PUT));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  async #ask(port: number, text: string): Promise<void> {
    using client = await Peer.connect(port);
    while (!this.#stopped) {
      const answer = await client.ask(text);
      const [status] = answer.head.split("\r\n");
      if (statusOf(answer) !== 200 || answer.body !== "ok") this.failures.push(status);
      if (status === "") return;
      this.answered++;
      // Several hundred a second from all of them.
      await new Promise((resume) => setTimeout(resume, 8));
    }
  }
}

const SWAPS = 100;

type Ending = "leaves the list first" | "ends before the list says so";
for (const ending of ["leaves the list first", "ends before the list says so"] as Ending[]) {
  Deno.test(`${SWAPS} pods are replaced under load without a failed request: each ${ending}`, async () => {
    const random = new Random(102);
    const pods = Array.from({ length: 4 }, () => new Pod(random));
    using proxy = new TestProxy([]);
    const apply = (listed: readonly Pod[]) =>
      proxy.server.apply(snapshotOf(listed.map(({ port }) => port)));
    apply(pods);
    const load = new Load(proxy.port, 8);
    const endings: Promise<void>[] = [];
    for (let swap = 0; swap < SWAPS; swap++) {
      const before = load.answered;
      const old = pods.shift()!;
      pods.push(new Pod(random));
      if (ending === "leaves the list first") {
        apply(pods);
        endings.push(old.end());
      } else {
        endings.push(old.end());
        await until("requests have met the ended pod", () => load.answered >= before + 10);
        apply(pods);
      }
      await until("requests were answered", () => load.answered >= before + 20);
    }
    await load.stop();
    await Promise.all(endings);
    assert.deepEqual(load.failures, []);
    assert.ok(load.answered >= 20 * SWAPS, `${load.answered} requests`);
    assert.ok(pods.every(({ served }) => served > 0), "the last ones take their turns");
    await Promise.all(pods.map((pod) => pod.end()));
  });
}

Deno.test("without an endpoint 503 is sent at once, and 200 with the first request after one is back", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 200);
  for (let i = 0; i < 20; i++) {
    proxy.server.apply(snapshotOf([]));
    const answer = await client.ask(GET);
    assert.equal(statusOf(answer), 503);
    assert.match(answer.head, /\r\nretry-after: [1-9]\d*\r\n/i);
    assert.ok(answer.complete && answer.body.length < 200, answer.body);
    proxy.server.apply(snapshotOf([backend.port]));
    assert.equal((await client.ask(GET)).body, "ok");
  }
});

Deno.test("endpoints that were all failing when removed are used at once when they are back", async () => {
  await using backend = new Backend();
  const port = refusingPort();
  using proxy = new TestProxy([port], { ejectionTime: 3_600_000 });
  using client = await Peer.connect(proxy.port);
  for (let i = 0; i < 10; i++) assert.equal(statusOf(await client.ask(GET)), 502);
  proxy.server.apply(snapshotOf([]));
  assert.equal(statusOf(await client.ask(GET)), 503);
  proxy.server.apply(snapshotOf([port, backend.port]));
  for (let i = 0; i < 10; i++) assert.equal(statusOf(await client.ask(GET)), 200);
});
