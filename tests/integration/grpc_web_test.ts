/** gRPC-Web by HTTP/1.1 and HTTP/2, through the proxy to a backend that knows gRPC alone. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Limits } from "../../proxy/http/limits.ts";
import type { ProxyServerOptions } from "../../proxy/server.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { until } from "../support/backend.ts";
import { GrpcBackend, grpcSnapshotOf } from "../support/grpc_backend.ts";
import { concat, frameOf, framesOf, messagesOf } from "../support/grpc_messages.ts";
import { data, type Field, headers } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";

const BINARY = "application/grpc-web+proto";
const TEXT = "application/grpc-web-text+proto";

interface SceneOptions {
  readonly limits?: Partial<Limits>;
  readonly server?: Partial<ProxyServerOptions>;
  /** Of the upstream; default true. */
  readonly grpcWeb?: boolean | null;
  readonly protocol?: Snapshot["upstreams"][number]["protocol"];
}

/** A proxy before these backends. */
function proxyTo(ports: readonly number[], options: SceneOptions = {}): TestProxy {
  const { limits, server, grpcWeb = true, protocol = "h2c" } = options;
  const proxy = new TestProxy([], limits, server);
  const snapshot = grpcSnapshotOf(ports, grpcWeb ?? undefined);
  const upstreams = snapshot.upstreams.map((upstream) => ({ ...upstream, protocol }));
  proxy.server.apply({ ...snapshot, upstreams });
  return proxy;
}

/** What a client of gRPC-Web reads. */
interface Answer {
  readonly status: number;
  readonly type: string;
  readonly head: (name: string) => string | null;
  readonly body: Uint8Array;
}

/** Base64 in which each part was padded for itself. */
function decodeText(text: string): Uint8Array {
  return concat(
    (text.match(/[A-Za-z0-9+/]+={0,2}/g) ?? []).map((part) =>
      new Uint8Array(Buffer.from(part, "base64"))
    ),
  );
}

type Ask = (
  port: number,
  method: string,
  type: string,
  parts: readonly Uint8Array[],
  more?: Record<string, string>,
) => Promise<Answer>;

const path = (method: string) => `/test.Service/${method}`;

/** One part has a length, more are chunked. */
const byHttp1: Ask = async (port, method, type, parts, more = {}) => {
  const body = parts.length === 1
    ? parts[0] as Uint8Array<ArrayBuffer>
    : ReadableStream.from(parts as Uint8Array<ArrayBuffer>[]);
  const answer = await fetch(`http://127.0.0.1:${port}${path(method)}`, {
    method: "POST",
    headers: { "content-type": type, ...more },
    body,
  });
  return {
    status: answer.status,
    type: answer.headers.get("content-type") ?? "",
    head: (name) => answer.headers.get(name),
    body: new Uint8Array(await answer.arrayBuffer()),
  };
};

const byHttp2: Ask = async (port, method, type, parts, more = {}) => {
  await using peer = await H2Peer.connect(port);
  const stream = peer.nextStream();
  const fields: Field[] = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path(method)],
    [":authority", "rpc.test"],
    ["content-type", type],
    ...Object.entries(more),
  ];
  await peer.send(
    headers(stream, fields),
    ...parts.map((part, i) => data(stream, part, { end: i === parts.length - 1 })),
  );
  const answer = await peer.answer(stream);
  assert.equal(answer.reset, null);
  assert.equal(answer.trailers, null);
  return {
    status: answer.status,
    type: answer.field("content-type"),
    head: (name) => answer.field(name) || null,
    body: new Uint8Array(Buffer.from(answer.body, "latin1")),
  };
};

/** A text as a client may write it: each message padded for itself. */
function encodeParts(messages: readonly string[]): Uint8Array {
  const text = messages.map((message) => Buffer.from(frameOf(message)).toString("base64")).join("");
  return new TextEncoder().encode(text);
}

/** In pieces that end anywhere. */
function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size));
  return parts;
}

for (const [version, ask] of [["HTTP/1.1", byHttp1], ["HTTP/2", byHttp2]] as const) {
  Deno.test(`${version}: binary calls reach a gRPC backend, and its trailers arrive in the body`, async () => {
    await using backend = await GrpcBackend.start();
    using proxy = proxyTo([backend.port]);
    for (const parts of [[framesOf(["a", "bc"])], cut(framesOf(["a", "bc"]), 3)]) {
      const answer = await ask(proxy.port, "Echo", BINARY, parts, {
        "grpc-timeout": "10S",
        "x-grpc-web": "1",
      });
      assert.deepEqual([answer.status, answer.type], [200, BINARY]);
      assert.equal(answer.head("x-first"), "head");
      assert.deepEqual(messagesOf(answer.body), {
        messages: ["a", "bc"],
        trailers: { "grpc-status": "0", "grpc-message": "", "x-last-bin": "AAE=" },
      });
    }
    const [call] = backend.calls;
    assert.equal(call["content-type"], "application/grpc+proto");
    assert.deepEqual([call["te"], call["grpc-timeout"]], ["trailers", "10S"]);
  });

  Deno.test(`${version}: text calls are decoded and encoded, with padding anywhere`, async () => {
    await using backend = await GrpcBackend.start();
    using proxy = proxyTo([backend.port]);
    const messages = ["a", "bc", "", "d".repeat(1_000)];
    const text = encodeParts(messages);
    for (const parts of [[text], cut(text, 5), cut(text, 64)]) {
      const answer = await ask(proxy.port, "Echo", TEXT, parts);
      assert.deepEqual([answer.status, answer.type], [200, TEXT]);
      const read = messagesOf(decodeText(Buffer.from(answer.body).toString("latin1")));
      assert.deepEqual(read.messages, messages);
      assert.equal(read.trailers?.["grpc-status"], "0");
    }
  });

  Deno.test(`${version}: a large response is forwarded completely, in either encoding`, async () => {
    await using backend = await GrpcBackend.start();
    using proxy = proxyTo([backend.port]);
    for (const type of [BINARY, TEXT]) {
      const request = type === TEXT ? encodeParts(["20000"]) : frameOf("20000");
      const { body } = await ask(proxy.port, "Count", type, [request]);
      const read = type === TEXT ? decodeText(Buffer.from(body).toString("latin1")) : body;
      const { messages, trailers } = messagesOf(read);
      assert.deepEqual([messages.length, messages.at(-1)], [20_000, "message 20000"]);
      assert.equal(trailers?.["grpc-status"], "0");
    }
  });

  Deno.test(`${version}: a status without a body is in the head`, async () => {
    await using backend = await GrpcBackend.start();
    using proxy = proxyTo([backend.port]);
    const answer = await ask(proxy.port, "Missing", TEXT, [encodeParts(["a"])]);
    assert.deepEqual([answer.status, answer.type, answer.body.length], [200, TEXT, 0]);
    assert.deepEqual(
      [answer.head("grpc-status"), answer.head("grpc-message")],
      ["5", "no%20such thing"],
    );
  });

  Deno.test(`${version}: local replies are gRPC errors`, async () => {
    await using backend = await GrpcBackend.start();
    using nobody = proxyTo([]);
    const none = await ask(nobody.port, "Echo", BINARY, [frameOf("a")]);
    assert.deepEqual(
      [none.status, none.type, none.head("grpc-status"), none.body.length],
      [200, "application/grpc-web", "14", 0],
    );
    using proxy = proxyTo([backend.port]);
    const late = await ask(proxy.port, "Silent", BINARY, [frameOf("a")], {
      "grpc-timeout": "100m",
    });
    assert.equal(late.head("grpc-status"), "4");
    await until("the end of the backend's stream", () => backend.open === 0);
  });

  Deno.test(`${version}: text that is not base64 is rejected, however much of it has been sent`, async () => {
    await using backend = await GrpcBackend.start();
    using proxy = proxyTo([backend.port]);
    const whole = encodeParts(["a message that is long enough"]);
    const broken = [whole.subarray(0, 10), new TextEncoder().encode("?"), whole.subarray(11)];
    for (const parts of [[concat(broken)], broken, [whole.subarray(0, 10)]]) {
      const answer = await ask(proxy.port, "Count", TEXT, parts);
      assert.deepEqual([answer.status, answer.head("grpc-status")], [200, "13"]);
    }
    await until("the end of the backend's streams", () => backend.open === 0);
    assert.deepEqual(new Set(proxy.codes), new Set(["bad_chunk"]));
  });

  Deno.test(`${version}: other requests to the same Service are unchanged`, async () => {
    await using backend = await GrpcBackend.start();
    using proxy = proxyTo([backend.port]);
    const page = await ask(proxy.port, "Page", "application/json", [new Uint8Array(2)]);
    assert.equal(Buffer.from(page.body).toString(), `plain ${path("Page")}`);
  });
}

const SWITCHES: readonly [string, SceneOptions, boolean][] = [
  ["without flag and annotation", { grpcWeb: null }, false],
  ["with the annotation", { grpcWeb: true }, true],
  ["with the flag", { grpcWeb: null, server: { grpcWeb: true } }, true],
  ["with the flag, and an annotation that refuses", {
    grpcWeb: false,
    server: { grpcWeb: true },
  }, false],
];

for (const [what, options, translated] of SWITCHES) {
  Deno.test(`gRPC-Web ${what} is ${translated ? "translated" : "forwarded unchanged"}`, async () => {
    await using backend = await GrpcBackend.start();
    using proxy = proxyTo([backend.port], options);
    const answer = await byHttp1(proxy.port, "Echo", BINARY, [frameOf("a")]);
    assert.equal(answer.type, translated ? BINARY : "text/plain");
    assert.equal(backend.calls.length, translated ? 1 : 0);
  });
}

Deno.test("the flag does not apply to HTTP/1.1 backends, which may speak gRPC-Web themselves", async () => {
  await using backend = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) =>
      new Response(null, { headers: { "x-type": request.headers.get("content-type")! } }),
  );
  using proxy = proxyTo([backend.addr.port], {
    grpcWeb: null,
    protocol: "http",
    server: { grpcWeb: true },
  });
  const answer = await byHttp1(proxy.port, "Echo", BINARY, [frameOf("a")]);
  assert.equal(answer.head("x-type"), BINARY);
});

Deno.test("a stream's messages arrive as they are sent, and a client that leaves cancels the call", async () => {
  await using backend = await GrpcBackend.start();
  using proxy = proxyTo([backend.port]);
  for (const type of [BINARY, TEXT]) {
    const left = new AbortController();
    const answer = await fetch(`http://127.0.0.1:${proxy.port}${path("Stalled")}`, {
      method: "POST",
      headers: { "content-type": type },
      body: (type === TEXT ? encodeParts(["a"]) : frameOf("a")) as Uint8Array<ArrayBuffer>,
      signal: left.signal,
    });
    const reader = answer.body!.getReader();
    const { value } = await reader.read();
    const read = type === TEXT ? decodeText(Buffer.from(value!).toString("latin1")) : value!;
    assert.deepEqual(messagesOf(read.subarray(0, 8)).messages, ["one"]);
    assert.equal(backend.open, 1);
    left.abort();
    await until("the end of the backend's stream", () => backend.open === 0);
  }
});

Deno.test("a deadline within the body cuts it, without trailers", async () => {
  await using backend = await GrpcBackend.start();
  using proxy = proxyTo([backend.port]);
  const answer = await fetch(`http://127.0.0.1:${proxy.port}${path("Stalled")}`, {
    method: "POST",
    headers: { "content-type": BINARY, "grpc-timeout": "300m" },
    body: frameOf("a"),
  });
  assert.equal(answer.status, 200);
  await assert.rejects(answer.arrayBuffer());
  await until("the end of the backend's stream", () => backend.open === 0);
  assert.ok(proxy.codes.includes("deadline_passed"));
});
