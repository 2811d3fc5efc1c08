/**
 * Paths that are regular expressions, and rewrites of ingress-nginx, from the Ingress to what backends,
 * clients and the access log see, in a proxy as it is started, over HTTP/1.1 and HTTP/2.
 */
import assert from "node:assert/strict";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { headerOf } from "../support/wire_message.ts";

/** Responds with the target of the request that it has received. */
function echo(): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      await peer.send(reply(asked.head.split(" ")[1]));
    }
  });
}

function specific(
  annotations: AnnotatedIngress["annotations"],
  ...paths: string[]
): AnnotatedIngress {
  return { annotations, paths: paths.map((path) => [path, "ImplementationSpecific"]) };
}

const OPEN: AnnotatedIngress = { annotations: {}, paths: [["/", "Prefix"]] };

/** By the request's target what the backend gets, or the status where it gets nothing. */
const CASES: readonly (readonly [
  says: string,
  ingresses: Readonly<Record<string, AnnotatedIngress>>,
  gets: Readonly<Record<string, string | number>>,
])[] = [
  ["rewrite-target with groups", {
    web: specific({ "rewrite-target": "/$2" }, "/api(/|$)(.*)"),
  }, {
    "/api": "/",
    "/API/users/1?x=y": "/users/1?x=y",
    "/api/a%2fb/": "/a%2Fb/",
    "/apix": 404,
    "/api/..;/x": "/..;/x",
  }],
  ["rewrite-target without groups", { web: specific({ "rewrite-target": "/new" }, "/old") }, {
    "/old/a/b?x": "/new?x",
    "/OLDER": "/new",
    "/": 404,
  }],
  ["rewrite-target with a query", {
    keeps: specific({ "rewrite-target": "/item?id=$1" }, "/items/([0-9]+)"),
    drops: specific({ "rewrite-target": "/bare?" }, "/bare"),
  }, {
    "/items/12?a=b": "/item?id=12&a=b",
    "/items/12": "/item?id=12",
    "/bare/x?a=b": "/bare",
  }],
  ["use-regex on one Ingress, for all of its host", {
    regex: specific({ "use-regex": "true" }, "/v[0-9]+/a"),
    plain: { annotations: {}, paths: [["/Exact", "Exact"], ["/files", "Prefix"]] },
  }, { "/V12/A/b": "/V12/A/b", "/exactly": "/exactly", "/FILES": "/FILES", "/x/files": 404 }],
  ["use-regex on the first Ingress of a host, which has no path", {
    first: { annotations: { "use-regex": "true" }, paths: [] },
    plain: { annotations: {}, paths: [["/files", "Prefix"]] },
  }, { "/FILES": "/FILES", "/filesystem": "/filesystem", "/file": 404 }],
  ["rewrite-target on the first Ingress of a host, whose only path it is", {
    first: { annotations: { "rewrite-target": "/one" }, paths: [["/one", "Exact"]] },
    plain: { annotations: {}, paths: [["/files", "Prefix"]] },
  }, { "/FILES/x": "/FILES/x", "/onetwo": "/onetwo" }],
  ["the same where a path / stands for the rest", {
    first: { annotations: { "rewrite-target": "/one" }, paths: [["/one", "Exact"]] },
    plain: { annotations: {}, paths: [["/", "Prefix"]] },
    files: { annotations: { "denylist-source-range": "0.0.0.0/0" }, paths: [["/x", "Prefix"]] },
  }, { "/X": "/X", "/x": 403, "/onetwo": "/onetwo" }],
  ["a default backend beside paths", {
    groups: {
      ...specific({ "rewrite-target": "/app/$2" }, "/api(/|$)(.*)"),
      hasDefaultBackend: true,
    },
  }, { "/api/users": "/app/users", "/": "/app/", "/other/x?y": "/app/?y" }],
  ["a default backend alone on its host", {
    all: { annotations: { "rewrite-target": "/app" }, paths: [], hasDefaultBackend: true },
  }, { "/": "/app", "/x/y?z": "/app?z" }],
  ["a default backend that is redirected", {
    all: {
      annotations: { "rewrite-target": "https://new.example.com/a" },
      paths: [],
      hasDefaultBackend: true,
    },
  }, { "/x": 302 }],
  ["a default backend whose path is the target", {
    all: { annotations: { "rewrite-target": "/" }, paths: [], hasDefaultBackend: true },
  }, { "/x/y": "/x/y" }],
  ["the longest path first", {
    short: specific({ "rewrite-target": "/short" }, "/a.*"),
    long: specific({ "rewrite-target": "/long" }, "/a/[a-z]+"),
  }, { "/a/b": "/long", "/a/1": "/short" }],
  ["a new path that leads elsewhere", {
    dots: specific({ "rewrite-target": "/files/$1/$2" }, "/dots/(.*)-(.*)"),
    none: specific({ "rewrite-target": "$1" }, "/none(/[a-z]+)?"),
    relative: specific({ "rewrite-target": "$1" }, "/relative/(.*)"),
    cut: specific({ "rewrite-target": "/$1e" }, "/cut/(%.).*"),
    grown: specific({ "rewrite-target": "/" + "$1".repeat(500) }, "/grown/(.*)"),
  }, {
    "/dots/a-b": "/files/a/b",
    "/dots/..-secret": 400,
    "/dots/%2e%2e-secret": 400,
    "/dots/%2e-secret": 400,
    "/none": 500,
    "/none/a": "/a",
    "/relative/a": 500,
    "/cut/%20": 400,
    [`/grown/${"a".repeat(100)}`]: 414,
  }],
  ["an expression that cannot be taken over, beside a path for all", {
    closed: specific({ "use-regex": "true" }, "/admin/(?!open)", "/x(a)\\1"),
    open: OPEN,
  }, { "/admin/a": 500, "/ADMIN/": 500, "/xaa": 500, "/a": "/a" }],
  ["a rewrite-target that cannot be read, beside a path for all", {
    closed: specific({ "rewrite-target": "/$host/$1" }, "/secret/(.*)"),
    open: OPEN,
  }, { "/secret/a": 503, "/SECRET/": 503, "/a": "/a" }],
  ["a rewrite beside a list of networks", {
    denied: specific(
      { "rewrite-target": "/$1", "denylist-source-range": "127.0.0.0/8" },
      "/denied/(.*)",
    ),
    admitted: specific(
      { "rewrite-target": "/$1", "allowlist-source-range": "127.0.0.0/8" },
      "/admitted/(.*)",
    ),
  }, { "/denied/a": 403, "/Denied/a": 403, "/admitted/a": "/a" }],
  ["a path that is long, and one that is too long for its expression", {
    web: specific({ "rewrite-target": "/$1" }, "/long/(.*)"),
    open: OPEN,
  }, {
    [`/long/${"a".repeat(8000)}`]: `/${"a".repeat(8000)}`,
    [`/long/${"a".repeat(14_000)}`]: 414,
  }],
  ["an expression that backtracks without end elsewhere", {
    web: specific({ "rewrite-target": "/$1" }, "/((?:a+)+)b$"),
  }, { [`/${"a".repeat(200)}`]: 404, "/aab": "/aa" }],
];

/** The Ingresses of all cases, each case with a host of its own: one start takes a second of CPU. */
const INGRESSES = Object.fromEntries(
  CASES.flatMap(([, ingresses], i) =>
    Object.entries(ingresses).map(([name, one]) => [`${name}-${i}`, { ...one, host: hostOf(i) }])
  ),
);

function hostOf(index: number): string {
  return `case-${index}.test`;
}

Deno.test("the backend gets the path that nginx sends", async (t) => {
  await using backend = echo();
  await using proxy = await ProxyProcess.start({
    snapshot: annotatedSnapshot(INGRESSES, [backend.port]),
    args: ["--allow-loopback-upstreams"],
  });
  for (const [i, [says, , gets]] of CASES.entries()) {
    await t.step(says, async () => {
      using client = await Peer.connect(proxy.httpPort);
      await using http2 = await H2Peer.connect(proxy.httpPort);
      for (const [target, expected] of Object.entries(gets)) {
        const status = typeof expected === "number" ? expected : 200;
        const answer = await client.ask(`GET ${target} HTTP/1.1\r\nHost: ${hostOf(i)}\r\n\r\n`);
        const { status: overHttp2, body } = await http2.ask(target, [], hostOf(i));
        assert.deepEqual([statusOf(answer), overHttp2], [status, status], target);
        if (typeof expected === "string") {
          assert.deepEqual([answer.body, body], [expected, expected]);
        }
      }
    });
  }
});

Deno.test("a rewrite-target that is a URL redirects", async () => {
  const ingress = specific({ "rewrite-target": "https://new.test/$1?x=y" }, "/old/(.*)");
  await using proxy = await ProxyProcess.start({
    snapshot: annotatedSnapshot({ web: ingress }, []),
  });
  using client = await Peer.connect(proxy.httpPort);
  const answer = await client.ask("GET /old/a?b=c HTTP/1.1\r\nHost: a.test\r\n\r\n");
  assert.equal(statusOf(answer), 302);
  assert.match(answer.head, /\r\nLocation: https:\/\/new\.test\/a\?x=y&b=c\r\n/);
});

Deno.test("the access log has the target of the client, and the next request its own", async () => {
  await using backend = echo();
  using observed = new ObservedProxy([]);
  observed.proxy.server.apply(filteredSnapshot({
    old: {
      filters: [{
        kind: "rewrite",
        path: [{ kind: "text", text: "/new" }],
        query: [{ kind: "text", text: "own=1" }],
      }],
    },
    plain: {},
  }, [upstreamTo(WEB, [backend.port])]));
  using client = await Peer.connect(observed.port);
  for (const [target, received] of [["/old/a?x=y", "/new?own=1&x=y"], ["/plain?z", "/plain?z"]]) {
    const answer = await client.ask(`GET ${target} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
    assert.equal(answer.body, received);
  }
  const lines = await observed.lines();
  assert.deepEqual(lines.map(({ path, query }) => [path, query]), [["/old/a", "?x=y"], [
    "/plain",
    "?z",
  ]]);
});

Deno.test("x-forwarded-prefix is sent where the path is rewritten, in place of the client's", async () => {
  await using backend = new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      await peer.send(reply(headerOf(asked.head, "X-Forwarded-Prefix") ?? "none"));
    }
  });
  await using proxy = await ProxyProcess.start({
    snapshot: annotatedSnapshot({
      rewritten: specific(
        { "rewrite-target": "/$2", "x-forwarded-prefix": "/$1" },
        "/(api)/(.*)",
      ),
      empty: specific({ "rewrite-target": "/", "x-forwarded-prefix": "$1" }, "/empty(x)?"),
      plain: specific({ "x-forwarded-prefix": "/plain" }, "/plain"),
    }, [backend.port]),
    args: ["--allow-loopback-upstreams", "--trusted-proxies=127.0.0.0/8"],
  });
  using client = await Peer.connect(proxy.httpPort);
  await using http2 = await H2Peer.connect(proxy.httpPort);
  const gets = [
    ["/api/a", "/evil", "/api"],
    ["/plain", "", "none"],
    ["/API/a", "", "/API"],
    ["/empty", "/evil", "none"],
    ["/emptyx", "", "x"],
  ];
  for (const [target, sent, received] of gets) {
    const line = sent === "" ? "" : `X-Forwarded-Prefix: ${sent}\r\n`;
    const answer = await client.ask(`GET ${target} HTTP/1.1\r\nHost: a.test\r\n${line}\r\n`);
    const { body } = await http2.ask(target, sent === "" ? [] : [["x-forwarded-prefix", sent]]);
    assert.deepEqual([answer.body, body], [received, received], target);
  }
});
