/** The end of a proxy: what is under way finishes, and nothing new begins. */
import assert from "node:assert/strict";
import { Backend, Peer, reply, signal, statusOf, until } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";
import type { WireMessage } from "../support/wire_message.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const NOW = { delay: 0, timeout: 10_000 };

/** A backend that answers in two halves, the second one when `finish` says so. */
function halting(finish: Promise<void>): Backend {
  return new Backend(async (peer) => {
    while (await peer.request() !== null) {
      await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
      await finish;
      await peer.send("def");
    }
  });
}

Deno.test("a response in progress is completed, and then the connection closes", async () => {
  const finish = signal();
  await using backend = halting(finish.promise);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  const answer = (await client.reader.head("response"))!;
  const draining = proxy.server.drain(NOW);
  finish.resolve();
  await client.reader.body(answer);
  assert.equal(answer.body, "abcdef");
  assert.equal(await client.ended(), "closes");
  await draining;
  assert.equal(proxy.server.connectionCount, 0);
  await until("the backend's connections end", () => backend.open.size === 0);
});

Deno.test("a request without a response yet gets it, with Connection: close", async () => {
  const finish = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await finish.promise;
    await peer.send(reply("ok"));
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  await until("the request is with the backend", () => backend.open.size === 1);
  const draining = proxy.server.drain(NOW);
  finish.resolve();
  const answer = await client.answer();
  assert.equal(answer.body, "ok");
  assert.ok(isLast(answer));
  assert.equal(await client.ended(), "closes");
  await draining;
});

Deno.test("an upload in progress is completed", async () => {
  await using backend = new Backend(async (peer) => {
    const request = await peer.request();
    await peer.send(reply(request!.body));
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 6\r\n\r\nabc");
  await until("the upload has begun", () => backend.open.size === 1);
  const draining = proxy.server.drain(NOW);
  assert.equal((await client.ask("def")).body, "abcdef");
  await draining;
});

Deno.test("requests in transit when the drain begins get their responses", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port]);
  using fresh = await Peer.connect(proxy.port);
  using used = await Peer.connect(proxy.port);
  using half = await Peer.connect(proxy.port);
  assert.equal((await used.ask(GET)).body, "ok");
  await half.send(GET.slice(0, 20));
  await until("all have come", () => proxy.server.connectionCount === 3);
  const draining = proxy.server.drain(NOW);
  await Promise.all([fresh.send(GET), used.send(GET), half.send(GET.slice(20))]);
  for (const client of [fresh, used, half]) {
    const answer = await client.answer();
    assert.equal(answer.body, "ok");
    assert.ok(isLast(answer));
    assert.equal(await client.ended(), "closes");
  }
  await draining;
});

Deno.test("the client of a response in progress may send one more request", async () => {
  const finish = signal();
  await using backend = halting(finish.promise);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  const begun = (await client.reader.head("response"))!;
  const draining = proxy.server.drain(NOW);
  finish.resolve();
  await client.reader.body(begun);
  assert.ok(!isLast(begun), "nobody knew yet");
  const answer = await client.ask(GET);
  assert.equal(answer.body, "abcdef");
  assert.ok(isLast(answer));
  await draining;
});

Deno.test("a process that was suspended before the drain still gives idle connections their grace period", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.ask(GET);
  const end = performance.now() + 3_000;
  while (performance.now() < end);
  const draining = proxy.server.drain(NOW);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const answer = await client.ask(GET);
  assert.equal(answer.body, "ok");
  assert.ok(isLast(answer));
  await draining;
});

Deno.test("idle connections are closed, and new ones are refused", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.ask(GET);
  const draining = proxy.server.drain(NOW);
  await assertRefuses(proxy.port);
  assert.equal(await client.ended(), "closes");
  await draining;
});

Deno.test("during the delay new connections are served", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port]);
  const draining = proxy.server.drain({ delay: 300, timeout: 10_000 });
  using client = await Peer.connect(proxy.port);
  assert.equal((await client.ask(GET)).body, "ok");
  client.close();
  await draining;
  await assertRefuses(proxy.port);
});

Deno.test("a kept connection gets Connection: close within the delay, and one that opens then is kept", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port]);
  using kept = await Peer.connect(proxy.port);
  await kept.ask(GET);
  const draining = proxy.server.drain({ delay: 2_000, timeout: 10_000 });
  assert.ok(!isLast(await kept.ask(GET)), "load balancers have not noticed yet");
  let answer: WireMessage;
  do {
    await new Promise((resolve) => setTimeout(resolve, 20));
    answer = await kept.ask(GET);
    assert.equal(answer.body, "ok");
  } while (!isLast(answer));
  using fresh = await Peer.connect(proxy.port);
  assert.ok(!isLast(await fresh.ask(GET)), "the delay is not over, and it stays");
  assert.equal(await kept.ended(), "closes");
  await draining;
});

Deno.test("exchanges that do not end in time are cut", async () => {
  const never = signal();
  await using backend = halting(never.promise);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  const answer = (await client.reader.head("response"))!;
  await proxy.server.drain({ delay: 0, timeout: 100 });
  await client.reader.body(answer);
  assert.ok(!answer.complete);
  await until("no connection is left", () => proxy.server.connectionCount === 0);
  never.resolve();
});

Deno.test("a drain under load loses no request of clients that respect Connection: close", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port]);
  let served = 0;
  let lost = 0;
  const clients = Array.from({ length: 20 }, async () => {
    using client = await Peer.connect(proxy.port);
    for (;;) {
      const answer = await client.ask(GET);
      if (statusOf(answer) === 200) served++;
      else lost++;
      if (answer.head === "" || isLast(answer)) return;
    }
  });
  await until("they are at work", () => served > 200);
  await proxy.server.drain(NOW);
  await Promise.all(clients);
  assert.equal(lost, 0);
});

function isLast({ head }: WireMessage): boolean {
  return /^connection: close\r$/im.test(head);
}

/** A connection that came just as the port closed is reset in its queue. */
async function assertRefuses(port: number): Promise<void> {
  await assert.rejects(
    Peer.connect(port),
    (error) =>
      error instanceof Deno.errors.ConnectionRefused ||
      error instanceof Deno.errors.ConnectionReset,
  );
}
