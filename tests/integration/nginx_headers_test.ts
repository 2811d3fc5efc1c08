/** Headers that backends and clients of the profile nginx get, over HTTP/1.1, HTTP/2 and TLS. */
import assert from "node:assert/strict";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, reply } from "../support/backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { certificateFor, TlsProxy } from "../support/tls_proxy.ts";

const HSTS = "max-age=31536000; includeSubDomains";

/** Responds as a backend with headers of its own, and keeps the heads of requests. */
function backendWith(received: string[], ...fields: string[]): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      received.push(asked.head);
      await peer.send(reply("ok", fields.map((field) => `${field}\r\n`).join("")));
    }
  });
}

const INGRESSES = {
  open: { annotations: {}, host: "a.test", paths: [["/", "Prefix"]] },
  denied: {
    annotations: { "denylist-source-range": "127.0.0.0/8" },
    host: "a.test",
    paths: [["/denied", "Prefix"]],
  },
} as const;

/** The values of a header, of all its lines. */
function valuesOf(head: string, name: string): string[] {
  const lines = head.split("\r\n").map((line) => line.split(/: ?(.*)/));
  return lines.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
}

Deno.test("backends of the profile nginx learn of the client what ingress-nginx says", async () => {
  const received: string[] = [];
  await using backend = backendWith(received);
  using proxy = new TestProxy([]);
  proxy.server.apply(annotatedSnapshot(INGRESSES, [backend.port], "nginx"));
  using client = await Peer.connect(proxy.port);
  await using http2 = await H2Peer.connect(proxy.port);
  const sent = [
    ["x-request-id", "mine-1"],
    ["x-forwarded-for", "192.0.2.1"],
    ["x-forwarded-for", "192.0.2.2"],
    ["x-forwarded-proto", "https"],
    ["x-scheme", "https"],
    ["x.scheme", "https"],
    ["x-forwarded-scheme", "https"],
    ["x-original-forwarded-for", "192.0.2.3"],
    ["proxy", "http://192.0.2.4"],
  ] as const;
  const lines = sent.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  await client.ask(`GET /1 HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`);
  await http2.ask("/2", [["host", "a.test"], ...sent]);
  for (const head of received) {
    const expected: Readonly<Record<string, readonly string[]>> = {
      "x-request-id": ["mine-1"],
      "x-real-ip": ["127.0.0.1"],
      "x-forwarded-for": ["127.0.0.1"],
      "x-forwarded-host": ["a.test"],
      "x-forwarded-port": [String(proxy.port)],
      "x-forwarded-proto": ["http"],
      "x-forwarded-scheme": ["http"],
      "x-scheme": ["http"],
      "x.scheme": [],
      "x-original-forwarded-for": ["192.0.2.1, 192.0.2.2"],
      "proxy": [],
    };
    for (const [name, values] of Object.entries(expected)) {
      assert.deepEqual(valuesOf(head, name), values, name);
    }
  }
  assert.equal(received.length, 2);
  // The connection's next request has nothing of the last one, and ids that are none are replaced.
  for (const id of ["", "x-request-id: a b\r\n", `x-request-id: ${"a".repeat(129)}\r\n`]) {
    received.length = 0;
    await client.ask(`GET /3 HTTP/1.1\r\nHost: a.test\r\n${id}\r\n`);
    const [head] = received;
    assert.match(valuesOf(head, "x-request-id").join(), /^[\da-f]{32}$/);
    assert.deepEqual(valuesOf(head, "x-original-forwarded-for"), []);
  }
});

Deno.test("a response of the proxy itself has the request id that the client has sent, in the profile nginx", async () => {
  using proxy = new TestProxy([]);
  proxy.server.apply(annotatedSnapshot(INGRESSES, [], "nginx"));
  using client = await Peer.connect(proxy.port);
  const { head } = await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\nX-Request-Id: mine\r\n\r\n");
  assert.match(head, /^HTTP\/1\.1 503 /);
  assert.deepEqual(valuesOf(head, "x-request-id"), ["mine"]);
});

Deno.test("clients of the profile nginx get HSTS over TLS, and never the backend's Server", async () => {
  await using backend = backendWith(
    [],
    "Server: backend/1.0",
    "Strict-Transport-Security: max-age=1",
    "X-Powered-By: it",
  );
  const certificates = [await certificateFor("a", { names: ["a.test"] })];
  using proxy = await TlsProxy.start({ certificates });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  for (const profile of ["nginx", "pingress"] as const) {
    const snapshot = annotatedSnapshot(INGRESSES, [backend.port], profile);
    proxy.server.apply(snapshot, certificates);
    const isNginx = profile === "nginx";
    using tls = await proxy.connect();
    for (const [path, own] of [["/", ["max-age=1"]], ["/denied", []]] as const) {
      const head = await tls.ask(`GET ${path} HTTP/1.1\r\nHost: a.test`);
      assert.deepEqual(valuesOf(head, "strict-transport-security"), isNginx ? [HSTS] : own);
    }
    using plain = await Peer.connect(port);
    const { head } = await plain.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    // Over plain HTTP it means nothing, and is the backend's.
    assert.deepEqual(valuesOf(head, "strict-transport-security"), ["max-age=1"]);
    assert.deepEqual(valuesOf(head, "server"), isNginx ? [] : ["backend/1.0"]);
    assert.deepEqual(valuesOf(head, "x-powered-by"), ["it"]);
    await using http2 = await H2Peer.connect(port);
    const answer = await http2.ask("/", [["host", "a.test"]]);
    assert.equal(answer.field("server"), isNginx ? "" : "backend/1.0");
    using denied = await Peer.connect(port);
    const own = await denied.ask("GET /denied HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert.deepEqual(valuesOf(own.head, "server"), isNginx ? [] : ["pingress"]);
  }
});

Deno.test("redirects to HTTPS, and to and from www, name no server in the profile nginx", async () => {
  const ingresses = {
    forced: {
      annotations: { "force-ssl-redirect": "true" },
      host: "a.test",
      paths: [["/", "Prefix"]],
    },
    bare: {
      annotations: { "from-to-www-redirect": "true" },
      host: "b.test",
      paths: [["/", "Prefix"]],
    },
    www: {
      annotations: { "from-to-www-redirect": "true" },
      host: "www.c.test",
      paths: [["/", "Prefix"]],
    },
  } as const;
  using proxy = new TestProxy([]);
  for (const profile of ["nginx", "pingress"] as const) {
    proxy.server.apply(annotatedSnapshot(ingresses, [], profile));
    using client = await Peer.connect(proxy.port);
    await using http2 = await H2Peer.connect(proxy.port);
    const expected = profile === "nginx" ? [] : ["pingress"];
    for (const host of ["a.test", "www.b.test", "c.test"]) {
      const { head } = await client.ask(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      assert.match(head, /^HTTP\/1\.1 308 /, host);
      assert.deepEqual(valuesOf(head, "server"), expected, host);
      const answer = await http2.ask("/", [], host);
      assert.equal(answer.status, 308, host);
      assert.equal(answer.field("server"), expected.join(), host);
    }
  }
});

Deno.test("10,000 Ingresses of the profile nginx share one set of filters and one policy", () => {
  const ingresses = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, i) => [`i${i}`, { ...INGRESSES.open, host: `h${i}.test` }]),
  );
  const { routes, filterSets, policies } = annotatedSnapshot(ingresses, [80], "nginx");
  assert.deepEqual([routes.length, filterSets?.length, policies?.length], [10_000, 1, 1]);
});
