/** Changes of the configuration, and of an application's pods, as clients of HTTP/2 meet them. */
import assert from "node:assert/strict";
import { Backend, playOk, until } from "../support/backend.ts";
import { Http2Backend, http2SnapshotOf } from "../support/http2_backend.ts";
import { Http2Client } from "../support/http2_client.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";
import { authority, certificateFor, TlsProxy } from "../support/tls_proxy.ts";

const GRPC = { "content-type": "application/grpc", te: "trailers" };

Deno.test("an open stream is not affected by a change, even if its backend is removed", async () => {
  await using first = await Http2Backend.start();
  await using second = await Http2Backend.start();
  using proxy = new TestProxy([]);
  proxy.server.apply(http2SnapshotOf([first.port]));
  using client = await Http2Client.connect(proxy.port);
  const call = client.call();
  assert.equal(await call.echo("one"), "one");
  const whole = http2SnapshotOf([first.port]);
  for (
    const snapshot of [
      { ...whole, version: { epoch: "test", seen: { Ingress: "2" } } },
      http2SnapshotOf([first.port, second.port]),
      http2SnapshotOf([second.port]),
      { ...whole, routes: [], upstreams: [] },
    ]
  ) {
    proxy.server.apply(snapshot);
    assert.equal(await call.echo("two"), "two");
  }
  assert.equal((await client.ask()).status, 404);
  proxy.server.apply(http2SnapshotOf([second.port]));
  assert.equal((await client.ask()).body, "ok");
  assert.equal(second.requests, 1);
  assert.equal(await call.echo("x".repeat(100_000)), "x".repeat(100_000));
  call.end();
  const { trailers } = await call.answer;
  assert.equal(trailers["grpc-status"], "0");
  assert.equal(first.accepted, 1);
  assert.ok(!client.isLeaving);
  await until("the connection to who has left ends", () => first.sessions.size === 0);
});

Deno.test("requests of one connection are routed by the configuration at their time", async () => {
  await using blue = new Backend(playOk);
  await using green = new Backend(playOk);
  using proxy = new TestProxy([blue.port]);
  using client = await Http2Client.connect(proxy.port);
  for (let i = 0; i < 4; i++) {
    proxy.server.apply(snapshotOf([i % 2 === 0 ? blue.port : green.port]));
    assert.equal((await client.ask()).body, "ok");
  }
  assert.deepEqual([blue.accepted, green.accepted], [2, 2]);
  assert.ok(!client.isLeaving);
});

Deno.test("a connection keeps the certificate of its handshake, and the next one has the new", async () => {
  await using backend = new Backend(playOk);
  const [before, after] = await Promise.all(
    ["one", "two"].map((id) => certificateFor(id, { names: ["a.test", `${id}.test`] })),
  );
  using proxy = await TlsProxy.start({ certificates: [before], endpoints: [backend.port] });
  using client = await Http2Client.connect(proxy.port, { ca: authority.certificate });
  assert.equal((await client.ask()).body, "ok");
  proxy.apply([after]);
  assert.equal((await client.ask()).body, "ok");
  using next = await proxy.connect();
  assert.equal(next.names, "a.test two.test");
  assert.ok(!client.isLeaving);
});

/** Calls of gRPC, some at a time on one connection, until they are told to end. */
class Calls {
  answered = 0;
  over = false;
  readonly failures: string[] = [];
  readonly #running: Promise<void>[];

  constructor(client: Http2Client, count: number) {
    this.#running = Array.from({ length: count }, () => this.#repeat(client));
  }

  async end(): Promise<void> {
    this.over = true;
    await Promise.all(this.#running);
  }

  async #repeat(client: Http2Client): Promise<void> {
    while (!this.over) {
      try {
        const body = crypto.randomUUID();
        const answer = await client.ask({ path: "/test.Echo/Say", body, fields: GRPC });
        const { status, fields, trailers } = answer;
        if (status === 200 && answer.body === body && trailers["grpc-status"] === "0") {
          this.answered++;
        } else {
          this.failures.push(JSON.stringify({ body: answer.body, ...fields, ...trailers }));
        }
      } catch (error) {
        this.failures.push(String(error));
      }
      await new Promise((resume) => setTimeout(resume, 1));
    }
  }
}

for (
  const [says, leavesFirst] of [
    ["the proxy hears of before", false],
    ["the proxy hears of only afterwards", true],
  ] as const
) {
  Deno.test(`replaced pods, which ${says}, fail no gRPC call`, async () => {
    const pods = [await Http2Backend.start(), await Http2Backend.start()];
    // Pods are replaced within a second here, so that calls of all of them are tried again at once.
    using proxy = new TestProxy([], { retryBudget: 100 });
    const apply = () => proxy.server.apply(http2SnapshotOf(pods.map(({ port }) => port)));
    apply();
    using client = await Http2Client.connect(proxy.port);
    const calls = new Calls(client, 8);
    try {
      for (let i = 0; i < 6; i++) {
        const { answered } = calls;
        await until("calls are answered", () => calls.answered > answered + 20);
        const leaving = pods.shift()!;
        pods.push(await Http2Backend.start());
        if (leavesFirst) await leaving.leave();
        apply();
        if (!leavesFirst) await leaving.leave();
      }
      await until("new pods are asked", () => pods.every(({ requests }) => requests > 0));
    } finally {
      await calls.end();
    }
    assert.deepEqual(calls.failures, []);
    assert.ok(!client.isLeaving);
    for (const pod of pods) await pod[Symbol.asyncDispose]();
  });
}
