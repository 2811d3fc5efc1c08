/** gRPC through the proxy by HTTP/2: what passes, what our own failures are, and deadlines. */
import assert from "node:assert/strict";
import type { Limits } from "../../proxy/http/limits.ts";
import type { ProxyServerOptions } from "../../proxy/server.ts";
import { Backend, refusingPort, until } from "../support/backend.ts";
import { GrpcBackend, grpcSnapshotOf } from "../support/grpc_backend.ts";
import { GrpcClient, type Outcome } from "../support/grpc_client.ts";
import { CODE, data, rstStream } from "../support/h2_frames.ts";
import { H2Backend } from "../support/h2_peer.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { SlowConnect } from "../support/slow_connect.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

/** A client, a proxy, and gRPC backends on these ports. */
async function scene(
  ports: readonly number[],
  limits: Partial<Limits> = {},
  options: Partial<ProxyServerOptions> = {},
) {
  const proxy = new TestProxy([], limits, { h2c: true, ...options });
  proxy.server.apply(grpcSnapshotOf(ports));
  const client = await GrpcClient.connect(proxy.port);
  return {
    proxy,
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      proxy[Symbol.dispose]();
    },
  };
}

/** Fails unless the call has ended with our own failure, as one head and nothing else. */
function assertFailed(outcome: Outcome, grpcStatus: number): void {
  const { status, head, isTrailersOnly } = outcome;
  assert.deepEqual([status, outcome.grpcStatus, isTrailersOnly], [200, grpcStatus, true]);
  assert.equal(head["content-type"], "application/grpc");
  assert.notEqual(outcome.grpcMessage, "");
  assert.match(head["x-request-id"], /^[0-9a-f]{32}$/);
  assert.equal(head["content-length"], undefined);
}

Deno.test("every kind of gRPC call is forwarded, with its messages, fields and trailers", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  const unary = await it.client.call("Echo", ["hello"], [["x-meta", "a"], ["x-meta-bin", "AAE="]]);
  assert.deepEqual([unary.status, unary.grpcStatus, unary.reset], [200, 0, null]);
  assert.deepEqual(unary.messages, ["hello"]);
  assert.equal(unary.head["x-first"], "head");
  assert.equal(unary.trailers["x-last-bin"], "AAE=");
  assert.deepEqual(
    ["te", "content-type", "x-meta", "x-meta-bin"].map((name) => backend.calls[0][name]),
    ["trailers", "application/grpc+proto", "a", "AAE="],
  );
  const client = await it.client.call("Echo", ["a", "b", "c"]);
  assert.deepEqual([client.messages, client.grpcStatus], [["a", "b", "c"], 0]);
  const server = await it.client.call("Count", ["3"]);
  assert.deepEqual(server.messages, ["message 1", "message 2", "message 3"]);
  const call = await it.client.open("Echo");
  for (let i = 1; i <= 5; i++) {
    await call.send(`ping ${i}`);
    // Each answer comes before the next question is put.
    assert.equal((await call.received(i)).at(-1), `ping ${i}`);
  }
  await call.end();
  assert.equal((await call.outcome()).grpcStatus, 0);
});

Deno.test("a status that a backend sends without a body is forwarded without one", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  const outcome = await it.client.call("Missing");
  assert.deepEqual(
    [outcome.grpcStatus, outcome.grpcMessage, outcome.isTrailersOnly],
    [5, "no such thing", true],
  );
});

Deno.test("an error page of a proxy before the backend is forwarded unchanged", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  const { status, head, grpcStatus } = await it.client.call("Gateway");
  assert.deepEqual([status, head["content-type"], grpcStatus], [502, "text/html", null]);
});

Deno.test("gRPC and HTTP share a host, a connection and a backend", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  for (let i = 0; i < 3; i++) {
    const [call, page] = await Promise.all([
      it.client.call("Echo", [`call ${i}`]),
      it.client.peer.ask(`/page/${i}`),
    ]);
    assert.deepEqual([call.messages, call.grpcStatus], [[`call ${i}`], 0]);
    assert.deepEqual([page.status, page.body], [200, `plain /page/${i}`]);
  }
});

Deno.test("a missing endpoint is UNAVAILABLE for gRPC, and a page for HTTP", async () => {
  await using it = await scene([]);
  assertFailed(await it.client.call("Echo"), 14);
  const page = await it.client.peer.ask("/page");
  assert.deepEqual([page.status, page.field("grpc-status")], [503, ""]);
  assert.match(page.body, /^503 /);
});

Deno.test("a host without a route is UNIMPLEMENTED", async () => {
  await using it = await scene([]);
  it.proxy.server.apply({ ...grpcSnapshotOf([]), routes: [] });
  assertFailed(await it.client.call("Echo"), 12);
});

Deno.test("a backend that is unreachable, or closes before its response, is UNAVAILABLE", async () => {
  await using closing = new H2Backend(async (peer) => {
    await peer.until("a request", () => peer.streams.size > 0);
  });
  for (const port of [refusingPort(), closing.port]) {
    await using it = await scene([port]);
    assertFailed(await it.client.call("Echo"), 14);
  }
});

Deno.test("a call that the proxy fails counts as 5xx, and one that a backend serves as 2xx", async () => {
  await using backend = await GrpcBackend.start();
  const counts = async (port: number) => {
    using observed = new ObservedProxy([], { server: { h2c: true } });
    observed.apply(grpcSnapshotOf([port]));
    await using client = await GrpcClient.connect(observed.proxy.port);
    await client.call("Echo");
    const series = await observed.series();
    return [...series].flatMap(([name, count]) =>
      name.startsWith("pingress_requests_total{") && count > 0
        ? [/status="(.*?)"/.exec(name)![1]]
        : []
    );
  };
  assert.deepEqual(await counts(refusingPort()), ["5xx"]);
  assert.deepEqual(await counts(backend.port), ["2xx"]);
});

Deno.test("a backend that does not respond in time is DEADLINE_EXCEEDED, and its stream is reset", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port], { responseHeadTimeout: 200 });
  assertFailed(await it.client.call("Silent"), 4);
  await until("the end of the backend's stream", () => backend.open === 0);
  assert.deepEqual(it.proxy.codes, ["upstream_timeout"]);
});

Deno.test("a backend that aborts in the middle ends only its own call, without trailers", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  const other = await it.client.open("Echo");
  await other.send("before");
  const call = await it.client.open("Broken");
  await call.received(1);
  await call.end();
  const broken = await call.outcome();
  assert.deepEqual([broken.status, broken.messages], [200, ["one"]]);
  assert.deepEqual([broken.grpcStatus, broken.reset], [null, CODE.INTERNAL_ERROR]);
  await other.end(["after"]);
  const outcome = await other.outcome();
  assert.deepEqual([outcome.messages, outcome.grpcStatus], [["before", "after"], 0]);
});

Deno.test("a client that cancels its call cancels it at the backend", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  const call = await it.client.open("Stalled");
  assert.deepEqual(await call.received(1), ["one"]);
  assert.equal(backend.open, 1);
  await it.client.peer.send(rstStream(1));
  await until("the end of the backend's stream", () => backend.open === 0);
});

Deno.test("a stream may be silent for longer than other bodies, in both directions", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port], { bodyTimeout: 200, responseBodyTimeout: 200 });
  const call = await it.client.open("Echo");
  await call.send("before");
  await call.received(1);
  // For so long nothing comes.
  await it.client.call("Silent", [], [["grpc-timeout", "700m"]]);
  await call.end(["after"]);
  const { messages, grpcStatus } = await call.outcome();
  assert.deepEqual([messages, grpcStatus], [["before", "after"], 0]);
});

/** Opens a call that says it is gRPC and sends `bytes` of its first message; the status it ends with. */
async function statusOfSilence(it: Awaited<ReturnType<typeof scene>>, bytes: number[]) {
  const call = await it.client.open("Silent");
  if (bytes.length > 0) await it.client.peer.send(data(1, new Uint8Array(bytes)));
  return (await call.outcome()).grpcStatus;
}

Deno.test("a call without a complete first message has the timeouts of other bodies, also with an HTTP/2 backend", async () => {
  await using backend = await GrpcBackend.start();
  for (const bytes of [[], [0, 0, 0, 0], [0, 0, 0, 0, 2, 65]]) {
    await using it = await scene([backend.port], { bodyTimeout: 200 });
    await statusOfSilence(it, bytes);
    assert.deepEqual(it.proxy.codes, ["body_timeout"], `${bytes.length} bytes`);
  }
});

Deno.test("a call that trickles its first message is cut by the minimum rate of bodies", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port], { bodyTimeout: 300, bodyRate: 1_000 });
  const call = await it.client.open("Silent");
  await it.client.peer.send(data(1, new Uint8Array([0, 0, 0, 255, 255])));
  const trickle = setInterval(() => {
    it.client.peer.send(data(1, new Uint8Array(1))).catch(() => {});
  }, 50);
  try {
    await call.outcome();
  } finally {
    clearInterval(trickle);
  }
  assert.deepEqual(it.proxy.codes, ["body_timeout"]);
});

Deno.test("a body with a gRPC content type is an ordinary body for an HTTP/1.1 backend", async () => {
  await using backend = new Backend(async (peer) => {
    while (await peer.request() !== null);
  });
  await using it = await scene([], { bodyTimeout: 200 });
  it.proxy.server.apply(snapshotOf([backend.port]));
  await statusOfSilence(it, [0, 0, 0, 0, 1, 65]);
  assert.deepEqual(it.proxy.codes, ["body_timeout"]);
});

// ── Deadlines ───────────────────────────────────────────────────────────────────────────────────

Deno.test("a deadline before the head is DEADLINE_EXCEEDED, and resets the backend's stream", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  assertFailed(await it.client.call("Silent", ["hello"], [["grpc-timeout", "200m"]]), 4);
  assert.equal(backend.calls[0]["grpc-timeout"], "200m");
  await until("the end of the backend's stream", () => backend.open === 0);
  assert.deepEqual(it.proxy.codes, ["deadline_passed"]);
});

Deno.test("a backend that ends a call at its deadline before the client does: DEADLINE_EXCEEDED", async () => {
  // As grpc-go's server does since 1.72: it resets the stream when the time is over.
  await using backend = new H2Backend(async (peer) => {
    await peer.until("a request", () => (peer.streams.get(1)?.heads.length ?? 0) > 0);
    await new Promise((resume) => setTimeout(resume, 150));
    await peer.send(rstStream(1, CODE.CANCEL));
    await peer.ended();
  });
  await using it = await scene([backend.port]);
  assertFailed(await it.client.call("Echo", ["hello"], [["grpc-timeout", "150m"]]), 4);
  assert.deepEqual(it.proxy.codes, ["deadline_passed"]);
});

Deno.test("a call's own deadline may be longer than the timeout for a response's head", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port], { responseHeadTimeout: 100 });
  assertFailed(await it.client.call("Silent", ["hello"], [["grpc-timeout", "600m"]]), 4);
  assert.deepEqual(it.proxy.codes, ["deadline_passed"]);
  assertFailed(await it.client.call("Silent", ["hello"]), 4);
  assert.deepEqual(it.proxy.codes, ["deadline_passed", "upstream_timeout"]);
});

Deno.test("a deadline after the head resets the stream, within a message or not", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  const outcome = await it.client.call("Stalled", ["hello"], [["grpc-timeout", "300m"]]);
  assert.deepEqual([outcome.status, outcome.messages], [200, ["one"]]);
  assert.deepEqual([outcome.grpcStatus, outcome.reset], [null, CODE.CANCEL]);
  await until("the end of the backend's stream", () => backend.open === 0);
  assert.deepEqual(it.proxy.codes, ["deadline_passed"]);
});

Deno.test("a deadline can expire while a call is still being sent", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  const call = await it.client.open("Fields", [["grpc-timeout", "300m"]]);
  await call.send("one");
  const outcome = await call.outcome();
  assert.ok(outcome.grpcStatus === 4 || outcome.reset === CODE.CANCEL, JSON.stringify(outcome));
  await until("the end of the backend's stream", () => backend.open === 0);
});

Deno.test("a deadline can expire while a call waits for an endpoint", async () => {
  await using it = await scene([], { holdTimeout: 60_000 });
  assertFailed(await it.client.call("Echo", ["hello"], [["grpc-timeout", "200m"]]), 4);
});

Deno.test("a deadline can expire while a connection to the backend opens", async () => {
  await using backend = await GrpcBackend.start();
  using slow = new SlowConnect(backend.port);
  await using it = await scene([backend.port], { connectTimeout: 60_000 });
  assertFailed(await it.client.call("Echo", ["hello"], [["grpc-timeout", "200m"]]), 4);
  assert.equal(slow.dialled, 1);
  slow.open();
  assert.equal((await it.client.call("Echo")).grpcStatus, 0);
  assert.equal(backend.calls.length, 1);
});

Deno.test("a call that ends within its deadline is not affected, nor is the next", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  const quick = await it.client.call("Echo", ["quick"], [["grpc-timeout", "100m"]]);
  assert.equal(quick.grpcStatus, 0);
  const call = await it.client.open("Echo", [["grpc-timeout", "1H"]]);
  await call.send("a");
  await call.received(1);
  // Longer than the first one's deadline, and some sweeps.
  await it.client.call("Silent", [], [["grpc-timeout", "300m"]]);
  await call.end(["b"]);
  assert.deepEqual((await call.outcome()).messages, ["a", "b"]);
});

Deno.test("a malformed grpc-timeout is INTERNAL, and reaches no backend", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  for (const timeout of ["soon", "1s", "123456789S"]) {
    assertFailed(await it.client.call("Echo", ["hello"], [["grpc-timeout", timeout]]), 13);
  }
  assert.deepEqual(backend.calls, []);
});

Deno.test("an endpoint is not ejected because of clients' deadlines", async () => {
  await using one = await GrpcBackend.start();
  await using two = await GrpcBackend.start();
  await using it = await scene([one.port, two.port], { ejectionFailures: 1 });
  const silent = () => it.client.call("Silent", ["hello"], [["grpc-timeout", "1m"]]);
  await Promise.all([silent(), silent(), silent(), silent()]);
  // Deadlines may pass before a call gets to a backend.
  const echoes = () =>
    [one, two].map(({ calls }) =>
      calls.filter((fields) => fields[":path"]?.endsWith("Echo")).length
    );
  for (let i = 0; i < 4; i++) await it.client.call("Echo");
  assert.deepEqual(echoes(), [2, 2]);
});

// ── HTTP/1.1 ────────────────────────────────────────────────────────────────────────────────────

Deno.test("local replies are gRPC errors over HTTP/1.1 too", async () => {
  using proxy = new TestProxy([]);
  const answer = await fetch(`http://127.0.0.1:${proxy.port}/test.Service/Echo`, {
    method: "POST",
    headers: { "content-type": "application/grpc" },
    body: new Uint8Array(5),
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("grpc-status"), "14");
  assert.equal(answer.headers.get("content-length"), "0");
  assert.equal(await answer.text(), "");
});

Deno.test("a call over HTTP/1.1 reaches an HTTP/2 backend, and gets its trailers", async () => {
  await using backend = await GrpcBackend.start();
  await using it = await scene([backend.port]);
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: it.proxy.port });
  const head = "POST /test.Service/Echo HTTP/1.1\r\nHost: rpc.test\r\nConnection: close\r\n" +
    "Content-Type: application/grpc\r\nTE: trailers\r\nContent-Length: 7\r\n\r\n";
  await connection.write(new TextEncoder().encode(`${head}\0\0\0\0\x02ab`));
  const answer = await new Response(connection.readable).text();
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  assert.ok(answer.includes("\r\n7\r\n\0\0\0\0\x02ab\r\n0\r\n"), JSON.stringify(answer));
  assert.match(answer.slice(answer.indexOf("\r\n0\r\n")), /\r\ngrpc-status: 0\r\n/);
});
