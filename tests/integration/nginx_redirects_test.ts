/**
 * Annotations of ingress-nginx that redirect requests or set their Host, from the Ingress to what clients
 * and backends see, over HTTP/1.1 and HTTP/2.
 */
import assert from "node:assert/strict";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { headerOf } from "../support/wire_message.ts";

/** Responds with the request that it has received. */
function echo(): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      await peer.send(reply(asked.head));
    }
  });
}

function locationOf({ head }: { readonly head: string }): string | null {
  return headerOf(head, "Location");
}

function below(path: string, annotations: AnnotatedIngress["annotations"]): AnnotatedIngress {
  return { annotations, paths: [[path, "Prefix"]] };
}

const URL = "https://new.example.com/x?y=z";

/** By the request's path what it gets; null for the backend's response. */
const REDIRECTS: readonly (readonly [
  says: string,
  ingress: AnnotatedIngress,
  gets: Readonly<Record<string, readonly [status: number, location: string] | null>>,
])[] = [
  ["permanent-redirect", below("/a", { "permanent-redirect": URL }), {
    "/a": [301, URL],
    "/a/b?c=d": [301, URL],
  }],
  ["permanent-redirect with a code", {
    annotations: { "permanent-redirect": URL, "permanent-redirect-code": "308" },
    paths: [["/a", "Exact"]],
  }, { "/a": [308, URL] }],
  [
    "permanent-redirect with a code that has no Location in nginx",
    below("/", { "permanent-redirect": URL, "permanent-redirect-code": "304" }),
    { "/": [301, URL] },
  ],
  ["temporal-redirect", below("/", { "temporal-redirect": URL }), { "/a": [302, URL] }],
  [
    "temporal-redirect with a code, beside permanent-redirect",
    below("/", {
      "temporal-redirect": URL,
      "temporal-redirect-code": "307",
      "permanent-redirect": "https://other.example.com/",
      "permanent-redirect-code": "308",
    }),
    { "/a": [307, URL] },
  ],
  ["app-root", below("/", { "app-root": "/app?x=y" }), {
    "/": [302, "http://a.test:8080/app?x=y"],
    "/?query": [302, "http://a.test:8080/app?x=y"],
    "/app": null,
    "/other": null,
  }],
  [
    "app-root beside temporal-redirect",
    below("/", { "app-root": "/app", "temporal-redirect": URL }),
    { "/": [302, "http://a.test:8080/app"], "/app": [302, URL] },
  ],
  [
    "a redirect, before the client's address counts",
    below("/", { "temporal-redirect": URL, "denylist-source-range": "127.0.0.0/8" }),
    { "/a": [302, URL] },
  ],
  [
    "permanent-redirect with a path",
    below("/a", { "permanent-redirect": "/rel?x=y", "permanent-redirect-code": "308" }),
    { "/a/b?c=d": [308, "http://a.test:8080/rel?x=y"] },
  ],
  ["permanent-redirect with /", below("/a", { "permanent-redirect": "/" }), {
    "/a": [301, "http://a.test:8080/"],
  }],
  [
    "permanent-redirect with a path, beside relative-redirects",
    below("/a", { "permanent-redirect": "/rel", "relative-redirects": "true" }),
    { "/a": [301, "/rel"] },
  ],
];

for (const [says, ingress, gets] of REDIRECTS) {
  Deno.test(`${says}: clients get its status and Location`, async () => {
    await using backend = echo();
    using proxy = new TestProxy([]);
    proxy.server.apply(annotatedSnapshot({ web: ingress }, [backend.port]));
    using client = await Peer.connect(proxy.port);
    await using http2 = await H2Peer.connect(proxy.port);
    for (const [path, expected] of Object.entries(gets)) {
      const [status, location] = expected ?? [200, null];
      const answer = await client.ask(`GET ${path} HTTP/1.1\r\nHost: a.test:8080\r\n\r\n`);
      assert.equal(statusOf(answer), status, path);
      assert.equal(locationOf(answer), location, path);
      const { status: overHttp2, heads } = await http2.ask(path);
      assert.equal(overHttp2, status, path);
      const found = new Map(heads.at(-1)).get("location") ?? null;
      assert.equal(found, location?.replace("a.test:8080", "a.test") ?? null, path);
    }
  });
}

Deno.test("app-root without a host in the request leads to the path alone", async () => {
  using proxy = new TestProxy([]);
  proxy.server.apply(annotatedSnapshot({ web: below("/", { "app-root": "/app" }) }, []));
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask("GET / HTTP/1.0\r\n\r\n");
  assert.deepEqual([statusOf(answer), locationOf(answer)], [302, "/app"]);
});

Deno.test("a redirect does not need a backend, and a closed path stays closed", async () => {
  using proxy = new TestProxy([]);
  const snapshot = annotatedSnapshot({
    open: below("/open", { "permanent-redirect": URL }),
    closed: below("/closed", { "permanent-redirect": URL, "limit-rps": "5" }),
  }, []);
  proxy.server.apply(snapshot);
  using client = await Peer.connect(proxy.port);
  const status = async (path: string) =>
    statusOf(await client.ask(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`));
  assert.deepEqual([await status("/open"), await status("/closed")], [301, 503]);
});

Deno.test("a redirected request's body is not taken for the next request", async () => {
  using proxy = new TestProxy([]);
  proxy.server.apply(annotatedSnapshot({ web: below("/", { "permanent-redirect": URL }) }, []));
  using client = await Peer.connect(proxy.port);
  const body = "GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n";
  await client.send(
    `POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  assert.equal(statusOf(await client.answer()), 301);
  assert.equal((await client.answer()).head, "");
  assert.equal(client.ending, "closes");
});

const HOSTS: readonly (readonly [vhost: string, host: string])[] = [
  ["backend.example.com", "backend.example.com"],
  ["backend.example.com:8443", "backend.example.com:8443"],
  ["web.$namespace.svc", "web.default.svc"],
  ["$host", "a.test"],
  ["x.${host}", "x.a.test"],
  ["$http_host", "A.test:8080"],
];

for (const [vhost, host] of HOSTS) {
  Deno.test(`upstream-vhost ${vhost}: the backend gets Host ${host}`, async () => {
    await using backend = echo();
    using proxy = new TestProxy([]);
    proxy.server.apply(annotatedSnapshot({
      vhost: below("/a", { "upstream-vhost": vhost }),
      plain: below("/plain", {}),
    }, [backend.port]));
    using client = await Peer.connect(proxy.port);
    for (const [path, expected] of [["/a", host], ["/plain", "A.test:8080"], ["/a", host]]) {
      const answer = await client.ask(`GET ${path} HTTP/1.1\r\nHost: A.test:8080\r\n\r\n`);
      assert.match(answer.body, new RegExp(`\r\nHost: ${expected}\r\n`, "i"), path);
      assert.match(answer.body, /\r\nX-Forwarded-Host: A\.test:8080\r\n/i, path);
    }
  });
}

/** Values that nginx would respond to with another URL, with none, or never to an end. */
const UNREADABLE: Readonly<Record<string, readonly string[]>> = {
  "upstream-vhost": ["$service_name", "a b", "a\r\nX-A: b", "${", "a/b"],
  "permanent-redirect": [
    ...["foo", "//evil.test", "/$host", "off", "0", "https:///a", "javascript:a()"],
    ...["https://a$host/", "https://a/\r\nX-A: b"],
  ],
  "temporal-redirect": ["foo", "/relative", "//evil.test", "https://a$host/", "false"],
  "app-root": ["app", "/", "//evil.test/", "https://evil.test/", "/$host", "off"],
};

for (const [name, values] of Object.entries(UNREADABLE)) {
  Deno.test(`a value of ${name} that cannot be read closes its paths`, async () => {
    await using backend = echo();
    using proxy = new TestProxy([]);
    for (const value of values) {
      const ingress = below("/", { [name]: value });
      proxy.server.apply(annotatedSnapshot({ web: ingress }, [backend.port]));
      using client = await Peer.connect(proxy.port);
      for (const path of ["/", "/a"]) {
        const answer = await client.ask(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
        assert.equal(statusOf(answer), 503, `${value} ${path}`);
      }
    }
  });
}

Deno.test("an empty redirect leaves the paths open", async () => {
  await using backend = echo();
  using proxy = new TestProxy([]);
  const annotations = { "permanent-redirect": "", "temporal-redirect": " ", "app-root": "" };
  proxy.server.apply(annotatedSnapshot({ web: below("/", annotations) }, [backend.port]));
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")), 200);
});
