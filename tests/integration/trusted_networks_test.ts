/**
 * Whose forwarded headers are believed, from ingress-nginx's ConfigMap to what clients and upstreams
 * get over HTTP/1.1 and HTTP/2. Out: responses to the same requests while the list changes.
 */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, reply, statusOf, until } from "../support/backend.ts";
import { type Field, get, headers } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { TestProxy } from "../support/test_proxy.ts";

const CLIENT = "203.0.113.9";
const PEER = "127.0.0.1";

const ROOT: AnnotatedIngress["paths"] = [["/", "Prefix"]];
const INGRESSES: Readonly<Record<string, AnnotatedIngress>> = {
  listed: {
    host: "listed.test",
    annotations: { "whitelist-source-range": "203.0.113.0/24" },
    paths: ROOT,
  },
  denied: {
    host: "denied.test",
    annotations: { "denylist-source-range": "203.0.113.0/24" },
    paths: ROOT,
  },
  secure: { host: "secure.test", annotations: { "force-ssl-redirect": "true" }, paths: ROOT },
  outside: { host: "outside.test", annotations: {}, paths: ROOT, isOutside: true },
};

/** What a load balancer says of the client before it. */
const SAID: readonly Field[] = [
  ["x-forwarded-for", CLIENT],
  ["x-forwarded-proto", "https"],
];

/** By host, with the address that the upstream gets to know. */
const BELIEVED: Readonly<Record<string, string>> = {
  "listed.test": `200 ${CLIENT}`,
  "denied.test": "403",
  "secure.test": `200 ${CLIENT}`,
  "outside.test": `200 ${CLIENT}`,
};
const NOT_BELIEVED: Readonly<Record<string, string>> = {
  "listed.test": "403",
  "denied.test": `200 ${PEER}`,
  "secure.test": "308",
  "outside.test": `200 ${PEER}`,
};

/** With the peer of the tests; with others; with none; and switched off. */
const LISTS: readonly (readonly [data: Readonly<Record<string, string>>, isTrusted: boolean])[] = [
  [{ "use-forwarded-headers": "true", "proxy-real-ip-cidr": "192.0.2.0/24,127.0.0.0/8" }, true],
  [{ "use-forwarded-headers": "true", "proxy-real-ip-cidr": "192.0.2.0/24,127.0.0.2" }, false],
  [{ "use-forwarded-headers": "true", "proxy-real-ip-cidr": "127.0.0.1" }, true],
  [{ "use-forwarded-headers": "false", "proxy-real-ip-cidr": "127.0.0.1" }, false],
  [{ "use-forwarded-headers": "true", "proxy-real-ip-cidr": "127.0.0.1,2001:db8::/32" }, true],
  [{}, false],
];

function snapshotWith(data: Readonly<Record<string, string>>, port: number): Snapshot {
  return annotatedSnapshot(INGRESSES, [port], "nginx", [], {}, data);
}

/** Replies with X-Real-IP. */
function telling(): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      await peer.send(reply(/^x-real-ip: (.*)\r$/im.exec(asked.head)?.[1] ?? "none"));
    }
  });
}

function shown(status: number, body: string): string {
  return status === 200 ? `${status} ${body}` : String(status);
}

/** Asks for a host on one connection, again and again. */
type Client = { ask(host: string): Promise<string> } & AsyncDisposable;

async function http1Client(port: number): Promise<Client> {
  const peer = await Peer.connect(port);
  const lines = SAID.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return {
    ask: async (host) => {
      const answer = await peer.ask(`GET / HTTP/1.1\r\nHost: ${host}\r\n${lines}\r\n`);
      return shown(statusOf(answer), answer.body);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(peer.close()),
  };
}

async function http2Client(port: number): Promise<Client> {
  const peer = await H2Peer.connect(port);
  return {
    ask: async (host) => {
      const stream = peer.nextStream();
      const fields = get("/", SAID)
        .map(([name, value]): Field => [name, name === ":authority" ? host : value]);
      await peer.send(headers(stream, fields, { end: true }));
      const answer = await peer.answer(stream);
      return shown(answer.status, answer.body);
    },
    [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
  };
}

const WAYS = [["HTTP/1.1", http1Client], ["HTTP/2", http2Client]] as const;

async function answersOf(client: Client): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const host of Object.keys(BELIEVED)) answers[host] = await client.ask(host);
  return answers;
}

for (const [way, connect] of WAYS) {
  Deno.test(`${way}: a peer of proxy-real-ip-cidr is believed, from the next request of an open connection on`, async () => {
    await using backend = telling();
    using proxy = new TestProxy([]);
    proxy.server.apply(snapshotWith({}, backend.port));
    await using kept = await connect(proxy.port);
    assert.deepEqual(await answersOf(kept), NOT_BELIEVED);
    for (const [data, isTrusted] of LISTS) {
      proxy.server.apply(snapshotWith(data, backend.port));
      const expected = isTrusted ? BELIEVED : NOT_BELIEVED;
      assert.deepEqual(await answersOf(kept), expected, `open: ${JSON.stringify(data)}`);
      await using fresh = await connect(proxy.port);
      assert.deepEqual(await answersOf(fresh), expected, `new: ${JSON.stringify(data)}`);
    }
  });
}

Deno.test("a request without a host has nothing of what a peer said while it was trusted", async () => {
  await using backend = telling();
  using proxy = new TestProxy([]);
  const anyHost = { any: { annotations: {}, paths: ROOT } };
  const apply = (data: Readonly<Record<string, string>>) =>
    proxy.server.apply(annotatedSnapshot(anyHost, [backend.port], "nginx", [], {}, data));
  using peer = await Peer.connect(proxy.port);
  const ask = async () => {
    const head = `GET / HTTP/1.0\r\nConnection: keep-alive\r\nX-Forwarded-For: ${CLIENT}\r\n\r\n`;
    return (await peer.ask(head)).body;
  };
  apply({});
  assert.equal(await ask(), PEER);
  apply(LISTS[0][0]);
  assert.equal(await ask(), CLIENT);
  apply({});
  assert.equal(await ask(), PEER);
  assert.equal(await ask(), PEER);
});

Deno.test("connections leave the count of their address as they came, however trust changes", async () => {
  await using backend = telling();
  using proxy = new TestProxy([], { connectionsPerAddress: 2 });
  const [trusting] = LISTS[0];
  /** Whether a connection is served. */
  const serves = async (client: Peer) =>
    statusOf(await client.ask("GET / HTTP/1.1\r\nHost: outside.test\r\n\r\n")) === 200;
  const gone = (count: number) =>
    until("they are gone", () => proxy.server.connectionCount === count);
  proxy.server.apply(snapshotWith(trusting, backend.port));
  const exempt = await Promise.all([1, 2, 3, 4].map(() => Peer.connect(proxy.port)));
  for (const client of exempt) assert.equal(await serves(client), true);
  proxy.server.apply(snapshotWith({}, backend.port));
  const counted = await Promise.all([1, 2].map(() => Peer.connect(proxy.port)));
  for (const client of counted) assert.equal(await serves(client), true);
  for (const client of exempt) client.close();
  await gone(2);
  using refused = await Peer.connect(proxy.port);
  assert.equal(await serves(refused), false);
  // These go while their address has no limit.
  proxy.server.apply(snapshotWith(trusting, backend.port));
  for (const client of counted) client.close();
  await gone(0);
  proxy.server.apply(snapshotWith({}, backend.port));
  const again = await Promise.all([1, 2].map(() => Peer.connect(proxy.port)));
  for (const client of again) assert.equal(await serves(client), true);
  using over = await Peer.connect(proxy.port);
  assert.equal(await serves(over), false);
  for (const client of again) client.close();
});

/** How long a change may take to reach a worker, in ms. */
const PATIENCE = 20_000;

async function untilSaid(client: Client, host: string, expected: string): Promise<void> {
  const end = performance.now() + PATIENCE;
  while (await client.ask(host) !== expected) {
    if (performance.now() > end) throw new Error(`Waited in vain: ${host} ${expected}`);
  }
}

/** Enough that each worker has some. */
const CONNECTIONS = 12;

for (const workers of [1, 2]) {
  Deno.test(`a change of proxy-real-ip-cidr reaches all connections of ${workers === 1 ? "the worker" : "two workers"}`, async () => {
    await using backend = telling();
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotWith(LISTS[0][0], backend.port),
      args: ["--allow-loopback-upstreams", `--workers=${workers}`],
    });
    await using stack = new AsyncDisposableStack();
    const clients: Client[] = [];
    for (const [, connect] of WAYS) {
      for (let i = 0; i < CONNECTIONS; i++) {
        clients.push(stack.use(await connect(proxy.httpPort)));
      }
    }
    for (const client of clients) assert.deepEqual(await answersOf(client), BELIEVED);
    let seen = 0;
    for (const [data, isTrusted] of LISTS.slice(1)) {
      // Each is newer than the one before.
      const version = { epoch: "test", seen: { Ingress: String(++seen) } };
      proxy.replace({ ...snapshotWith(data, backend.port), version });
      const expected = isTrusted ? BELIEVED : NOT_BELIEVED;
      for (const client of clients) {
        await untilSaid(client, "outside.test", expected["outside.test"]);
        assert.deepEqual(await answersOf(client), expected, JSON.stringify(data));
      }
    }
  });
}

Deno.test("--trusted-proxies counts besides the list, and stays when that goes", async () => {
  await using backend = telling();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotWith(LISTS[1][0], backend.port),
    args: ["--allow-loopback-upstreams", "--trusted-proxies=127.0.0.1"],
  });
  for (const [way, connect] of WAYS) {
    await using client = await connect(proxy.httpPort);
    assert.deepEqual(await answersOf(client), BELIEVED, way);
  }
});
