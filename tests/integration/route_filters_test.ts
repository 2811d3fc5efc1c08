/** Header filters of routes and backends, by HTTP/1.1 and HTTP/2 on both sides. */
import assert from "node:assert/strict";
import type { FilterSpec, Snapshot } from "../../shared/snapshot/types.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { type Field, headers, post } from "../support/h2_frames.ts";
import { H2Server } from "../support/h2_backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { filteredSnapshot, type RouteSpec, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { TestProxy } from "../support/test_proxy.ts";

type Pairs = readonly (readonly [name: string, value: string])[];

/** What a client gets, names in lower case. */
interface Answer {
  readonly status: number;
  readonly fields: Pairs;
  readonly body: string;
}

type Ask = (port: number, path: string, more?: Pairs) => Promise<Answer>;

const byHttp1: Ask = async (port, path, more = []) => {
  using client = await Peer.connect(port);
  const lines = more.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const answer = await client.ask(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`);
  return { status: statusOf(answer), fields: linesOf(answer.head), body: answer.body };
};

const byHttp2: Ask = async (port, path, more = []) => {
  await using client = await H2Peer.connect(port);
  const { status, heads, body } = await client.ask(path, more as readonly Field[]);
  return { status, fields: heads.at(-1)!, body };
};

const CLIENTS: readonly [string, Ask][] = [["HTTP/1.1", byHttp1], ["HTTP/2", byHttp2]];

function linesOf(head: string): Pairs {
  return head.split("\r\n").slice(1).filter((line) => line !== "").map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
}

function valuesOf(fields: Pairs, name: string): string[] {
  return fields.filter(([one]) => one === name).map(([, value]) => value);
}

/** Its response's body is the request's head. */
function echo(): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      await peer.send(reply(asked.head, "Server: backend\r\nX-Old: 1\r\nx-old: 2\r\n"));
    }
  });
}

function proxyTo(port: number, routes: Record<string, RouteSpec>): TestProxy {
  const proxy = new TestProxy([]);
  proxy.server.apply(filteredSnapshot(routes, [upstreamTo(WEB, [port])]));
  return proxy;
}

const REQUEST: FilterSpec = {
  kind: "request-headers",
  set: [{ name: "x-set", value: "ours" }],
  add: [{ name: "x-add", value: "one" }, { name: "x-add", value: "two" }],
  remove: ["cookie", "x-forwarded-host"],
};

const SENT: Pairs = [
  ["x-set", "theirs"],
  ["x-add", "zero"],
  ["cookie", "a=b"],
  ["x-other", "stays"],
];

for (const [version, ask] of CLIENTS) {
  Deno.test(`headers of a request are set, added and removed, from a client of ${version}`, async () => {
    await using backend = echo();
    using proxy = proxyTo(backend.port, { a: { filters: [REQUEST] }, plain: {} });
    const { status, body } = await ask(proxy.port, "/a", SENT);
    assert.equal(status, 200);
    const seen = linesOf(body);
    assert.deepEqual(valuesOf(seen, "x-set"), ["ours"]);
    assert.deepEqual(valuesOf(seen, "x-add"), ["zero", "one", "two"]);
    assert.deepEqual(valuesOf(seen, "x-other"), ["stays"]);
    for (const name of ["cookie", "x-forwarded-host"]) assert.deepEqual(valuesOf(seen, name), []);
    assert.equal(valuesOf(seen, "x-request-id").length, 1);
    assert.deepEqual(valuesOf(seen, "x-forwarded-for"), ["127.0.0.1"]);
    const plain = linesOf((await ask(proxy.port, "/plain", SENT)).body);
    assert.deepEqual(valuesOf(plain, "x-set"), ["theirs"]);
    assert.deepEqual(valuesOf(plain, "x-forwarded-host"), ["a.test"]);
  });

  Deno.test(`headers of a request reach a backend of HTTP/2, from a client of ${version}`, async () => {
    await using backend = await H2Server.start((stream) => {
      stream.respond({ ":status": 200, "x-old": "1" });
      stream.end("ok");
    });
    using proxy = new TestProxy([]);
    const filters: FilterSpec[] = [
      REQUEST,
      { kind: "response-headers", set: [{ name: "x-old", value: "new" }] },
    ];
    proxy.server.apply(filteredSnapshot({ a: { filters } }, [
      upstreamTo(WEB, [backend.port], "h2c"),
    ]));
    const { status, fields } = await ask(proxy.port, "/a", SENT);
    assert.equal(status, 200);
    assert.deepEqual(valuesOf(fields, "x-old"), ["new"]);
    const [head] = backend.heads;
    assert.equal(head["x-set"], "ours");
    assert.equal(head["x-add"], "zero, one, two");
    assert.deepEqual([head.cookie, head["x-forwarded-host"]], [undefined, undefined]);
    assert.equal(head["x-other"], "stays");
  });

  Deno.test(`headers of a response are set, added and removed, for a client of ${version}`, async () => {
    await using backend = echo();
    const filters: FilterSpec[] = [{
      kind: "response-headers",
      set: [{ name: "x-frame-options", value: "DENY" }, { name: "server", value: "ours" }],
      add: [{ name: "link", value: "</a>" }, { name: "link", value: "</b>" }],
      remove: ["x-old"],
    }];
    using proxy = proxyTo(backend.port, { a: { filters }, plain: {} });
    const { fields } = await ask(proxy.port, "/a");
    assert.deepEqual(valuesOf(fields, "x-frame-options"), ["DENY"]);
    assert.deepEqual(valuesOf(fields, "server"), ["ours"]);
    assert.deepEqual(valuesOf(fields, "link"), ["</a>", "</b>"]);
    assert.deepEqual(valuesOf(fields, "x-old"), []);
    const plain = await ask(proxy.port, "/plain");
    assert.deepEqual(valuesOf(plain.fields, "x-old"), ["1", "2"]);
    assert.deepEqual(valuesOf(plain.fields, "link"), []);
  });

  Deno.test(`a response has one Server and one Date, from the filter or from the proxy, for a client of ${version}`, async () => {
    await using backend = new Backend(async (peer) => {
      while (await peer.request() !== null) await peer.send(reply("ok"));
    });
    const DATE = "Thu, 01 Jan 2026 00:00:00 GMT";
    using proxy = proxyTo(backend.port, {
      both: {
        filters: [{
          kind: "response-headers",
          set: [{ name: "server", value: "ours" }, { name: "date", value: DATE }],
        }],
      },
      neither: { filters: [{ kind: "response-headers", add: [{ name: "x-a", value: "1" }] }] },
      hidden: { filters: [{ kind: "response-headers", remove: ["server"] }] },
    });
    const both = (await ask(proxy.port, "/both")).fields;
    assert.deepEqual(valuesOf(both, "server"), ["ours"]);
    assert.deepEqual(valuesOf(both, "date"), [DATE]);
    const neither = (await ask(proxy.port, "/neither")).fields;
    assert.deepEqual(valuesOf(neither, "server"), ["pingress"]);
    assert.equal(valuesOf(neither, "date").length, 1);
    assert.deepEqual(valuesOf(neither, "x-a"), ["1"]);
    assert.deepEqual(valuesOf((await ask(proxy.port, "/hidden")).fields, "server"), []);
  });
}

const MARK: FilterSpec = {
  kind: "response-headers",
  add: [{ name: "x-mark", value: "seen" }],
  remove: ["cache-control"],
};

/** Local replies of a route with a filter for responses. */
const REPLIES: readonly [what: string, status: number, RouteSpec][] = [
  ["no endpoint is ready", 503, { action: { kind: "forward", backends: [{ upstream: "none" }] } }],
  [
    "the route is a reply",
    503,
    { action: { kind: "reply", status: 503, reason: "missing", closed: true } },
  ],
  ["the route is broken", 500, { action: { kind: "reply", status: 500, reason: "broken" } }],
];

for (const [version, ask] of CLIENTS) {
  for (const [what, status, route] of REPLIES) {
    Deno.test(`the local reply where ${what} passes the filters, for a client of ${version}`, async () => {
      using proxy = new TestProxy([]);
      const snapshot = filteredSnapshot({ a: { ...route, filters: [MARK] } }, [
        upstreamTo("none", []),
      ]);
      proxy.server.apply(snapshot);
      const answer = await ask(proxy.port, "/a");
      assert.equal(answer.status, status);
      assert.deepEqual(valuesOf(answer.fields, "x-mark"), ["seen"]);
      assert.deepEqual(valuesOf(answer.fields, "cache-control"), []);
      assert.equal(valuesOf(answer.fields, "x-request-id").length, 1);
    });
  }
}

Deno.test("the 408 for a body that stops passes the filters, over HTTP/1.1 and HTTP/2", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.ended();
  });
  using proxy = new TestProxy([], { bodyTimeout: 100, bodyRate: 0 });
  proxy.server.apply(filteredSnapshot({ a: { filters: [MARK] } }, [
    upstreamTo(WEB, [backend.port]),
  ]));
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(
    "POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nab",
  );
  assert.equal(statusOf(answer), 408);
  assert.deepEqual(valuesOf(linesOf(answer.head), "x-mark"), ["seen"]);
  await using other = await H2Peer.connect(proxy.port);
  await other.send(headers(1, post("/a", [["content-length", "9"]])));
  const message = await other.answer(1);
  assert.equal(message.status, 408);
  assert.equal(message.field("x-mark"), "seen");
});

Deno.test("a route's filters run before those of the chosen backend", async () => {
  await using backend = echo();
  using proxy = new TestProxy([]);
  const set = (value: string): FilterSpec => {
    return { kind: "request-headers", set: [{ name: "x-set", value }] };
  };
  const snapshot = filteredSnapshot(
    {
      both: {
        filters: [set("route")],
        action: { kind: "forward", backends: [{ upstream: WEB, filterSet: "of the backend" }] },
      },
    },
    [upstreamTo(WEB, [backend.port])],
    [{ id: "of the backend", filters: [set("backend")] }],
  );
  proxy.server.apply(snapshot);
  const { body } = await byHttp1(proxy.port, "/both");
  assert.deepEqual(valuesOf(linesOf(body), "x-set"), ["backend"]);
});

Deno.test("a client cannot send a header that its route sets or removes, in any spelling", async () => {
  await using backend = echo();
  using proxy = new TestProxy([]);
  const filters: FilterSpec[] = [{
    kind: "request-headers",
    set: [{ name: "x-role", value: "guest" }],
    remove: ["x-admin", "x-o*"],
  }];
  proxy.server.apply(filteredSnapshot({ a: { filters } }, [upstreamTo(WEB, [backend.port])]));
  for (
    const [role, admin] of [["X.Role", "X.Admin"], ["x~role", "x~admin"], ["X_Role", "X_Admin"]]
  ) {
    const sent: Pairs = [[role, "root"], [admin, "root"], ["x-other", "stays"]];
    const { body } = await byHttp1(proxy.port, "/a", sent);
    const lines = linesOf(body);
    assert.deepEqual(lines.filter(([, value]) => value === "root"), [], role);
    assert.deepEqual(valuesOf(lines, "x-role"), ["guest"]);
    assert.deepEqual(valuesOf(lines, "x-other"), ["stays"]);
  }
});

Deno.test("a filter set that changes under the same id applies to the next request", async () => {
  await using backend = echo();
  using proxy = new TestProxy([]);
  const withMark = (value: string): Snapshot => {
    const filters: FilterSpec[] = [{ kind: "response-headers", set: [{ name: "x-mark", value }] }];
    return filteredSnapshot({ a: { filters } }, [upstreamTo(WEB, [backend.port])]);
  };
  for (const value of ["one", "two"]) {
    proxy.server.apply(withMark(value));
    const { fields } = await byHttp1(proxy.port, "/a");
    assert.deepEqual(valuesOf(fields, "x-mark"), [value]);
  }
});

Deno.test("the 101 of a WebSocket passes the filters", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" +
        "X-Old: 1\r\n\r\n",
    );
    await peer.ended();
  });
  using proxy = proxyTo(backend.port, { a: { filters: [MARK, REQUEST] } });
  using client = await Peer.connect(proxy.port);
  await client.send(
    "GET /a HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  let head = "";
  while (!head.includes("\r\n\r\n")) {
    const view = await client.read();
    assert.notEqual(view, null);
    head += new TextDecoder("latin1").decode(view!);
  }
  assert.match(head, /^HTTP\/1\.1 101 /);
  assert.match(head, /^x-mark: seen\r$/m);
});
