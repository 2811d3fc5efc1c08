/**
 * External authentication of a route. In: requests, and servers that authenticate, or fail to. Out: the
 * upstream's response for those who are admitted, and nothing forwarded for others.
 */
import assert from "node:assert/strict";
import { credentialsOf } from "../../shared/credentials/credentials.ts";
import type { FilterSpec, Snapshot } from "../../shared/snapshot/types.ts";
import type { PasswordVerdict, VerifyPassword } from "../../proxy/filters/passwords/messages.ts";
import { OTHER_SLOT } from "../../proxy/telemetry/series_slots.ts";
import { Telemetry } from "../../proxy/telemetry/telemetry.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import {
  Backend,
  Peer,
  refusingPort,
  reply,
  sendAndReset,
  signal,
  statusOf,
  until,
} from "../support/backend.ts";
import { echo as echoTrailers, H2Server } from "../support/h2_backend.ts";
import { data, type Field, get, headers, join, post } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { telemetryOf, TestProxy } from "../support/test_proxy.ts";

type Access = Extract<FilterSpec, { kind: "access" }>;
type External = NonNullable<Access["external"]>;

const AUTH = "test/auth:80+http";

function text(value: string): External["target"] {
  return value.split(/(\$\w+)/).filter((part) => part !== "").map((part) =>
    part.startsWith("$") ? { kind: "variable", name: part.slice(1) } : { kind: "text", text: part }
  );
}

const EXTERNAL: External = {
  scheme: "http",
  authority: text("auth.test"),
  target: text("/auth"),
  namespace: "test",
  upstream: AUTH,
};

interface SceneOptions {
  /** The addresses of trusted proxies. */
  readonly trusted?: string;
  readonly telemetry?: Telemetry;
  readonly verifyPassword?: VerifyPassword;
  /** In ms. */
  readonly responseHeadTimeout?: number;
}

/** The web of the tests, and who authenticates. */
class Scene implements AsyncDisposable {
  readonly seen: string[] = [];
  readonly trailers: string[] = [];
  readonly asked: string[] = [];
  readonly web: Backend;
  readonly auth: Backend;
  readonly proxy: TestProxy;

  constructor(
    external: Partial<External>,
    says: string | ((head: string, peer: Peer) => string | Promise<string>),
    more: Partial<Access> = {},
    change: (snapshot: Snapshot) => Snapshot = (snapshot) => snapshot,
    { trusted = "127.0.0.2", telemetry, verifyPassword, responseHeadTimeout = 300 }: SceneOptions =
      {},
  ) {
    this.web = new Backend(async (peer) => {
      for (let one = await peer.request(); one !== null; one = await peer.request()) {
        this.seen.push(one.head);
        this.trailers.push(one.trailers);
        const more = one.head.startsWith("GET /a/set ") ? "Set-Cookie: web=1\r\n" : "";
        await peer.send(reply(one.head, more));
      }
    });
    this.auth = new Backend(async (peer) => {
      for (let one = await peer.request(); one !== null; one = await peer.request()) {
        this.asked.push(one.head);
        await peer.send(typeof says === "string" ? says : await says(one.head, peer));
      }
    });
    const filters = [{ kind: "access" as const, external: { ...EXTERNAL, ...external }, ...more }];
    const snapshot = change(filteredSnapshot(
      { a: { filters }, open: {} },
      [upstreamTo(WEB, [this.web.port]), upstreamTo(AUTH, [this.auth.port])].sort((a, b) =>
        a.id < b.id ? -1 : 1
      ),
    ));
    this.proxy = new TestProxy([], { responseHeadTimeout, connectTimeout: 300, tries: 1 }, {
      trustedProxies: CidrList.parse(trusted) as CidrList,
      telemetry: telemetry ?? telemetryOf(snapshot),
      ...(verifyPassword === undefined ? {} : { verifyPassword }),
    });
    this.proxy.server.apply(snapshot);
  }

  /** Over HTTP/1.1. */
  async ask(path = "/a/x", lines = "", host = "a.test") {
    using client = await Peer.connect(this.proxy.port);
    const answer = await client.ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines}\r\n`);
    return { status: statusOf(answer), head: answer.head, body: answer.body };
  }

  /** Over HTTP/2. */
  async askByHttp2(path = "/a/x", fields: readonly Field[] = []) {
    await using client = await H2Peer.connect(this.proxy.port);
    return await client.ask(path, fields);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.proxy[Symbol.dispose]();
    await this.web[Symbol.asyncDispose]();
    await this.auth[Symbol.asyncDispose]();
  }
}

function withStatus(status: number, more = ""): string {
  return `HTTP/1.1 ${status} Some\r\nContent-Length: 0\r\n${more}\r\n`;
}

function fieldOf(head: string, name: string): string[] {
  return head.split("\r\n").slice(1).flatMap((line) => {
    const colon = line.indexOf(":");
    return line.slice(0, colon).toLowerCase() === name ? [line.slice(colon + 1).trim()] : [];
  });
}

/** What whoever authenticates responds with, and what the client gets. */
const OUTCOMES: readonly (readonly [says: string, answer: string, status: number])[] = [
  ["200", withStatus(200), 200],
  ["202", withStatus(202), 200],
  ["204", "HTTP/1.1 204 No Content\r\n\r\n", 200],
  ["a body", reply("welcome"), 200],
  ["401", withStatus(401), 401],
  ["403", withStatus(403), 403],
  ["302", withStatus(302, "Location: http://a.test/start\r\n"), 500],
  ["304", "HTTP/1.1 304 Not Modified\r\n\r\n", 500],
  ["400", withStatus(400), 500],
  ["404", withStatus(404), 500],
  ["500", withStatus(500), 500],
  ["503", withStatus(503), 500],
  ["101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 500],
  ["1 MiB of headers", withStatus(200, `X-Large: ${"x".repeat(1024 * 1024)}\r\n`), 500],
  ["10,000 headers", withStatus(200, "X-A: b\r\n".repeat(10_000)), 500],
  ["no HTTP", "200 OK\r\n\r\n", 500],
  ["status 2000", "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", 500],
  ["status 99", "HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n", 500],
  ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n", 500],
  ["a header with a bare CR", "HTTP/1.1 200 OK\r\nX-A: b\rc\r\nContent-Length: 0\r\n\r\n", 500],
];

for (const [says, answer, status] of OUTCOMES) {
  Deno.test(`a response of auth-url with ${says} gives ${status}`, async () => {
    await using scene = new Scene({}, answer);
    assert.equal((await scene.ask()).status, status);
    assert.equal((await scene.askByHttp2()).status, status);
    assert.equal(scene.asked.length, 2);
    assert.equal(scene.seen.length, status === 200 ? 2 : 0);
  });
}

Deno.test("a server of auth-url that is dead, gone or silent gives 500", async () => {
  const forever = signal<string>();
  await using silent = new Scene({}, () => forever.promise);
  await using closing = new Scene({}, (_, peer) => {
    peer.close();
    return "";
  });
  const withAuth = (ports: readonly number[] | null) => (snapshot: Snapshot): Snapshot => ({
    ...snapshot,
    upstreams: snapshot.upstreams.flatMap((upstream) =>
      upstream.id !== AUTH ? upstream : ports === null ? [] : upstreamTo(AUTH, ports)
    ),
  });
  await using refused = new Scene({}, withStatus(200), {}, withAuth([refusingPort()]));
  await using empty = new Scene({}, withStatus(200), {}, withAuth([]));
  await using missing = new Scene({}, withStatus(200), {}, withAuth(null));
  for (const scene of [silent, closing, refused, empty, missing]) {
    assert.equal((await scene.ask()).status, 500);
    assert.equal((await scene.askByHttp2()).status, 500);
    assert.deepEqual(scene.seen, []);
  }
  forever.resolve("");
});

Deno.test("auth-url gets the client's headers, and what ingress-nginx adds", async () => {
  await using scene = new Scene({}, withStatus(200));
  await scene.ask("/a/x?b=c%20d", "Cookie: s=1\r\nAuthorization: Bearer t\r\nX-Some: thing\r\n");
  const [head] = scene.asked;
  assert.match(head, /^GET \/auth HTTP\/1\.1\r\nHost: auth\.test\r\n/);
  const expected: Readonly<Record<string, string[]>> = {
    "cookie": ["s=1"],
    "authorization": ["Bearer t"],
    "x-some": ["thing"],
    "x-original-url": ["http://a.test/a/x?b=c%20d"],
    "x-original-method": ["GET"],
    "x-original-uri": [],
    "x-sent-from": ["nginx-ingress-controller"],
    "x-auth-request-redirect": ["/a/x?b=c%20d"],
    "x-real-ip": ["127.0.0.1"],
    "x-forwarded-for": ["127.0.0.1"],
    "x-forwarded-proto": [],
    "x-forwarded-host": ["a.test"],
    "content-length": [],
  };
  for (const [name, values] of Object.entries(expected)) {
    assert.deepEqual(fieldOf(head, name), values, name);
  }
  assert.deepEqual(fieldOf(head, "x-request-id"), fieldOf(scene.seen[0], "x-request-id"));
});

Deno.test("an auth-url with an IPv6 address gets it in brackets as its Host", async () => {
  await using scene = new Scene({ authority: text("[2001:db8::1]") }, withStatus(200));
  assert.equal((await scene.ask()).status, 200);
  assert.equal((await scene.askByHttp2()).status, 200);
  const hosts = scene.asked.map((head) => fieldOf(head, "host"));
  assert.deepEqual(hosts, [["[2001:db8::1]"], ["[2001:db8::1]"]]);
});

Deno.test("auth-url gets no body, whatever the request and the method", async () => {
  await using scene = new Scene({ method: "POST" }, withStatus(200));
  using client = await Peer.connect(scene.proxy.port);
  const answer = await client.ask(
    "PUT /a/x HTTP/1.1\r\nHost: a.test\r\nContent-Type: text/plain\r\nExpect: 100-continue\r\n" +
      "Content-Length: 5\r\n\r\nhello",
  );
  assert.equal(statusOf(answer), 200);
  const [head] = scene.asked;
  assert.match(head, /^POST \/auth HTTP\/1\.1\r\n/);
  for (const name of ["content-type", "expect", "transfer-encoding"]) {
    assert.deepEqual(fieldOf(head, name), [], name);
  }
  assert.deepEqual(fieldOf(head, "x-original-method"), ["PUT"]);
  assert.deepEqual(fieldOf(head, "x-original-uri"), ["/a/x"]);
  assert.deepEqual(fieldOf(head, "x-scheme"), ["http"]);
  assert.deepEqual(fieldOf(scene.seen[0], "content-length"), ["5"]);
});

/** Ways to write X-User, and what the proxy says to whoever authenticates. */
const SPOOFED = ["X-User", "x-user", "X_User", "X.User", "X~User", "x-USER"];
const OWN = [
  ...["X-Original-URL", "X-Original-Method", "X_Original_URL", "x.original.uri", "X-Original-Foo"],
  ...["X-Auth-Request-Redirect", "X.Auth.Request.Redirect", "X-Sent-From", "X.Sent-From"],
];

Deno.test("headers of auth-url reach the backend, and the client's own never do", async () => {
  for (const trusted of [false, true]) {
    await using scene = new Scene(
      { responseHeaders: ["x-user", "x-groups"] },
      withStatus(200, "X-User: alice\r\nX-Other: no\r\n"),
      {},
      undefined,
      // A trusted proxy may say what address the client has, and not who it is.
      { trusted: trusted ? "127.0.0.1" : "127.0.0.2" },
    );
    const lines = [...SPOOFED, ...OWN, "X-Groups", "X.Groups"]
      .map((name) => `${name}: spoofed\r\n`).join("");
    const byHttp1 = await scene.ask("/a/x", `${lines}Connection: X-User, keep-alive\r\n`);
    assert.equal(byHttp1.status, 200);
    const fields = [...SPOOFED, ...OWN, "X.Groups"]
      .map((name) => [name.toLowerCase(), "spoofed"] as const);
    assert.equal((await scene.askByHttp2("/a/x", fields)).status, 200);
    assert.equal(scene.seen.length, 2);
    for (const head of scene.seen) {
      assert.doesNotMatch(head, /spoofed/);
      assert.deepEqual(fieldOf(head, "x-user"), ["alice"]);
      assert.deepEqual(fieldOf(head, "x-other"), []);
    }
    for (const head of scene.asked) assert.doesNotMatch(head, /spoofed/);
  }
});

Deno.test("headers that auth-url does not set reach no backend, also of the X-Forwarded family", async () => {
  const names = ["x-forwarded-user", "x-forwarded-prefix", "x-auth-request-user"];
  const withForwarded = (snapshot: Snapshot): Snapshot => ({
    ...snapshot,
    filterSets: snapshot.filterSets?.map((set) => ({
      ...set,
      filters: [...set.filters, { kind: "nginx-forwarded-headers" as const }],
    })),
  });
  for (const trusted of ["127.0.0.1", "127.0.0.2"]) {
    await using scene = new Scene(
      { responseHeaders: names },
      withStatus(200),
      {},
      withForwarded,
      { trusted },
    );
    const spoofed = names.flatMap((name) => [name, name.replaceAll("-", "_")]);
    const lines = spoofed.map((name) => `${name}: spoofed\r\n`).join("");
    assert.equal((await scene.ask("/a/x", lines)).status, 200);
    const fields = spoofed.map((name) => [name, "spoofed"] as const);
    assert.equal((await scene.askByHttp2("/a/x", fields)).status, 200);
    assert.equal(scene.seen.length, 2);
    for (const head of scene.seen) {
      assert.doesNotMatch(head, /spoofed/);
      assert.equal(fieldOf(head, "x-request-id").length, 1);
      assert.deepEqual(fieldOf(head, "x-real-ip"), ["127.0.0.1"]);
    }
  }
});

Deno.test("a client cannot say who it is where another check has admitted it", async () => {
  await using scene = new Scene(
    { responseHeaders: ["x-user"] },
    withStatus(401),
    { allow: ["127.0.0.0/8"], satisfy: "any" },
  );
  assert.equal((await scene.ask("/a/x", "X-User: root\r\nX.User: root\r\n")).status, 200);
  assert.doesNotMatch(scene.seen[0], /root/);
  assert.deepEqual(scene.asked, []);
});

Deno.test("headers of auth-url for one request never reach the next on its connection", async () => {
  let count = 0;
  await using scene = new Scene(
    { responseHeaders: ["x-user"] },
    () => withStatus(200, count++ === 0 ? "X-User: alice\r\n" : ""),
  );
  using client = await Peer.connect(scene.proxy.port);
  for (const path of ["/a/1", "/a/2", "/open/3"]) {
    assert.equal(statusOf(await client.ask(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`)), 200);
  }
  assert.deepEqual(scene.seen.map((head) => fieldOf(head, "x-user")), [["alice"], [], []]);
});

Deno.test("trailers of a request cannot say who the client is", async () => {
  await using backend = await H2Server.start(echoTrailers);
  await using scene = new Scene(
    { responseHeaders: ["x-user"] },
    withStatus(200, "X-User: alice\r\n"),
    {},
    (snapshot) => ({
      ...snapshot,
      upstreams: [snapshot.upstreams[0], upstreamTo(WEB, [backend.port], "h2c")],
    }),
  );
  await using client = await H2Peer.connect(scene.proxy.port);
  const stream = client.nextStream();
  await client.send(headers(stream, post("/a/x", [["te", "trailers"]])));
  await client.send(data(stream, "hello"));
  const trailers: Field[] = [["x-user", "spoofed"], ["x.user", "spoofed"], ["x-sum", "5"]];
  await client.send(headers(stream, trailers, { end: true }));
  const message = await client.answer(stream);
  assert.equal(message.status, 200);
  assert.equal(message.body, "hello");
  assert.equal(backend.heads[0]["x-user"], "alice");
  assert.deepEqual(message.trailers, [["x-sum", "5"]]);
});

Deno.test("trailers of a request over HTTP/1.1 cannot say who the client is", async () => {
  await using scene = new Scene({ responseHeaders: ["x-user"] }, withStatus(200));
  using client = await Peer.connect(scene.proxy.port);
  const names = [...SPOOFED, "X-Original-URL", "X_Sent_From", "X.Auth.Request.Redirect"];
  const trailers = names.map((name) => `${name}: spoofed\r\n`).join("");
  const answer = await client.ask(
    "POST /a/x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\n" +
      `Trailer: X-User, X-Sum\r\n\r\n5\r\nhello\r\n0\r\n${trailers}X-Sum: 5\r\n\r\n`,
  );
  assert.equal(statusOf(answer), 200);
  assert.equal(scene.seen.length, 1);
  assert.doesNotMatch(scene.seen[0] + scene.trailers[0] + scene.asked[0], /spoofed/);
  assert.deepEqual(fieldOf(scene.seen[0], "x-user"), []);
});

Deno.test("a slow response of auth-url admits once its head is whole, and not without its end", async () => {
  const pieces = ["HTTP/1.1 2", "00 OK\r\nContent-Le", "ngth: 0\r", "\n\r", "\n"];
  await using slow = new Scene({}, async (_, peer) => {
    for (const piece of pieces) await peer.send(piece);
    return "";
  });
  const forever = signal<string>();
  await using endless = new Scene({}, async (_, peer) => {
    await peer.send("HTTP/1.1 200 OK\r\nX-A: b\r\n");
    return await forever.promise;
  });
  await using body = new Scene({}, async (_, peer) => {
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
    return await forever.promise;
  });
  for (const [scene, status] of [[slow, 200], [endless, 500], [body, 200]] as const) {
    assert.equal((await scene.ask()).status, status);
    assert.equal((await scene.askByHttp2()).status, status);
    assert.equal(scene.seen.length, status === 200 ? 2 : 0);
  }
  forever.resolve("");
});

Deno.test("a 401 carries the challenge of auth-url", async () => {
  const challenge = 'WWW-Authenticate: Basic realm="a"\r\nWWW-Authenticate: Bearer\r\n';
  await using scene = new Scene({}, withStatus(401, `${challenge}Set-Cookie: s=1\r\n`));
  const { head } = await scene.ask();
  assert.deepEqual(fieldOf(head, "www-authenticate"), ['Basic realm="a", Bearer']);
  assert.deepEqual(fieldOf(head, "set-cookie"), []);
});

Deno.test("a client without credentials is redirected to auth-signin, with the cookies of auth-url", async () => {
  await using scene = new Scene(
    {
      signin: text(
        "https://login.test/start?rd=$pass_access_scheme://$http_host$escaped_request_uri",
      ),
    },
    withStatus(401, "Set-Cookie: csrf=1\r\nSet-Cookie: b=2\r\n"),
  );
  const { status, head } = await scene.ask("/a/x?b=c&d=/e", "", "a.test:81");
  assert.equal(status, 302);
  assert.deepEqual(fieldOf(head, "location"), [
    "https://login.test/start?rd=http://a.test:81%2Fa%2Fx%3Fb%3Dc%26d%3D%2Fe",
  ]);
  assert.deepEqual(fieldOf(head, "set-cookie"), ["csrf=1", "b=2"]);
  assert.equal((await scene.askByHttp2()).status, 302);
  assert.deepEqual(scene.seen, []);
});

Deno.test("cookies of auth-url come along with responses, with errors only if always", async () => {
  for (const always of [false, true]) {
    await using scene = new Scene(
      always ? { alwaysSetCookie: true } : {},
      (head) => withStatus(head.includes("/no") ? 403 : 200, "Set-Cookie: s=1\r\n"),
    );
    assert.deepEqual(fieldOf((await scene.ask()).head, "set-cookie"), ["s=1"]);
    const refused = await scene.ask("/a/no");
    assert.equal(refused.status, 403);
    assert.deepEqual(fieldOf(refused.head, "set-cookie"), always ? ["s=1"] : []);
  }
});

Deno.test("a session in several cookies reaches the client whole, beside the backend's own cookies", async () => {
  const cookies = [
    "_oauth2_proxy_0=a; Path=/; Expires=Thu, 01 Jan 2099 00:00:00 GMT; HttpOnly",
    "_oauth2_proxy_1=b; Path=/; Expires=Thu, 01 Jan 2099 00:00:00 GMT; HttpOnly",
    "_oauth2_proxy_2=; Path=/; Max-Age=0",
  ];
  const lines = cookies.map((cookie) => `Set-Cookie: ${cookie}\r\n`).join("");
  const says = (head: string) => withStatus(head.includes("/no") ? 403 : 202, lines);
  await using byService = new Scene({ alwaysSetCookie: true }, says);
  await using byHost = ownHosts({ external: { alwaysSetCookie: true }, says });
  for (const scene of [byService, byHost]) {
    for (const [path, own] of [["/a/set", ["web=1"]], ["/a/no", []]] as const) {
      const expected = [...own, ...cookies];
      const { head } = await scene.ask(path);
      assert.deepEqual(fieldOf(head, "set-cookie"), expected);
      const fields = (await scene.askByHttp2(path)).heads.flat();
      const values = fields.filter(([name]) => name === "set-cookie").map(([, value]) => value);
      assert.deepEqual(values, expected);
    }
  }
});

Deno.test("a value with a blank or a broken path in a URL gives 500", async () => {
  await using scene = new Scene({ target: text("/auth/$arg_p?x=$http_x_x") }, withStatus(200));
  assert.equal((await scene.ask("/a?p=ok", "X-X: ok\r\n")).status, 200);
  assert.match(scene.asked[0], /^GET \/auth\/ok\?x=ok HTTP/);
  assert.equal((await scene.ask("/a?p=ok", "X-X: a b\r\n")).status, 500);
  assert.equal((await scene.ask("/a?p=ok", "X-X: a\xe9\r\n")).status, 500);
  assert.equal((await scene.ask("/a?p=ok", "X-X: a#b\r\n")).status, 500);
  assert.equal((await scene.ask("/a?p=%zz")).status, 500);
  assert.equal((await scene.ask("/a?p=../../..")).status, 500);
  assert.equal(scene.asked.length, 1);
});

Deno.test("a WebSocket and a gRPC call are authenticated, too", async () => {
  await using scene = new Scene({}, withStatus(403));
  const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  assert.equal((await scene.ask("/a/ws", upgrade)).status, 403);
  assert.deepEqual(fieldOf(scene.asked[0], "upgrade"), []);
  await using client = await H2Peer.connect(scene.proxy.port);
  const stream = client.nextStream();
  const fields = [["content-type", "application/grpc"], ["te", "trailers"]] as const;
  await client.send(headers(stream, post("/a/Call", fields), { end: true }));
  const { status, heads } = await client.answer(stream);
  assert.equal(status, 200);
  assert.equal(new Map(heads.at(-1)).get("grpc-status"), "7");
  assert.deepEqual(fieldOf(scene.asked[1], "content-type"), []);
  assert.deepEqual(scene.seen, []);
});

// ── Hosts of our own ────────────────────────────────────────────────────────────────────────────

const OTHER = "other/auth:80";

interface OwnHosts {
  readonly external?: Partial<External>;
  /** Of the route of auth.test. */
  readonly filters?: readonly FilterSpec[];
  readonly says?: string | ((head: string) => string);
  readonly upstream?: string;
}

/** `/a` of a.test needs what `/auth` of a.test or auth.test says; both forward to one upstream. */
function ownHosts(
  { external = {}, filters = [], says = withStatus(200), upstream = AUTH }: OwnHosts,
) {
  const own = { ...EXTERNAL, ...external };
  const { upstream: _, ...inside } = own;
  return new Scene({}, says, {}, (snapshot) => {
    const [a] = snapshot.routes;
    const auth = (host: string) => ({
      ...a,
      id: `${host} Prefix /auth`,
      host,
      match: { path: { type: "Prefix" as const, value: "/auth" } },
      action: { kind: "forward" as const, backends: [{ upstream }] },
      filterSet: "of auth",
    });
    const [port] = snapshot.upstreams.flatMap(({ id, addresses }) =>
      id === AUTH && addresses.kind === "endpoints" ? addresses.endpoints[0].port : []
    );
    return {
      ...snapshot,
      routes: [
        auth("a.test"),
        { ...a, id: "a.test Prefix /a", host: "a.test", filterSet: "of a" },
        auth("auth.test"),
      ],
      filterSets: [
        { id: "of a", filters: [{ kind: "access", external: inside }] },
        { id: "of auth", filters },
      ],
      upstreams: [upstreamTo(OTHER, [port]), ...snapshot.upstreams],
    };
  });
}

Deno.test("auth-url on a host of our own is served by its route, with its filters and the client's address", async () => {
  for (const authority of ["auth.test", "AUTH.test:443", "$host", "$http_host"]) {
    for (const [allow, status] of [["127.0.0.0/8", 200], ["10.0.0.0/8", 403]] as const) {
      await using scene = ownHosts({
        external: { authority: text(authority) },
        filters: [{ kind: "access", allow: [allow] }],
      });
      assert.equal((await scene.ask()).status, status, `${authority} ${allow}`);
      assert.equal((await scene.askByHttp2()).status, status, `${authority} ${allow}`);
      assert.equal(scene.asked.length, status === 200 ? 2 : 0);
      assert.equal(scene.seen.length, status === 200 ? 2 : 0);
    }
  }
});

Deno.test("a Max-Forwards of a client does not respond in place of the server of auth-url", async () => {
  await using scene = ownHosts({ external: { method: "OPTIONS" }, says: withStatus(401) });
  for (const forwards of ["0", "1"]) {
    const { status } = await scene.ask("/a/x", `Max-Forwards: ${forwards}\r\n`);
    assert.equal(status, 401, forwards);
    assert.equal(
      (await scene.askByHttp2("/a/x", [["max-forwards", forwards]])).status,
      401,
      forwards,
    );
  }
  assert.equal(scene.asked.length, 4);
  assert.deepEqual(scene.asked.flatMap((head) => fieldOf(head, "max-forwards")), []);
  assert.deepEqual(scene.seen, []);
});

Deno.test("auth-url on a host of our own without a route, or of another namespace, gives 500", async () => {
  const cases: readonly [says: string, hosts: OwnHosts, status: number][] = [
    ["no such host", { external: { authority: text("none.test") } }, 500],
    ["no such path", { external: { target: text("/none") } }, 500],
    ["a host that the client chooses", { external: { authority: text("$http_x") } }, 200],
    ["one of another namespace", {
      external: { authority: text("$http_x") },
      upstream: OTHER,
    }, 500],
    ["a name of another namespace", { upstream: OTHER }, 500],
    ["the very host, shared", { external: { authority: text("$host") }, upstream: OTHER }, 200],
    ["no host", { external: { authority: text("$http_none") } }, 500],
  ];
  for (const [says, hosts, status] of cases) {
    await using scene = ownHosts(hosts);
    assert.equal((await scene.ask("/a/x", "X: auth.test\r\n")).status, status, says);
    assert.equal(scene.seen.length, status === 200 ? 1 : 0, says);
  }
});

Deno.test("a route that authenticates by itself, or by another that does, gives 500", async () => {
  await using scene = ownHosts({
    filters: [{ kind: "access", external: EXTERNAL }],
  });
  assert.equal((await scene.ask()).status, 500);
  assert.deepEqual(scene.asked, []);
  await using self = ownHosts({
    external: { authority: text("$host"), target: text("/a/self") },
  });
  assert.equal((await self.ask()).status, 500);
  assert.deepEqual([self.asked, self.seen], [[], []]);
});

Deno.test("a server of auth-url that calls back into the proxy gives 500, and no loop", async () => {
  const state: { port: number } = { port: 0 };
  let calls = 0;
  await using scene = new Scene({}, async (head) => {
    calls++;
    using client = await Peer.connect(state.port);
    const [loop] = fieldOf(head, "cdn-loop").reverse();
    const all = fieldOf(head, "cdn-loop").map((mark) => `CDN-Loop: ${mark}\r\n`).join("");
    assert.ok(loop !== undefined);
    const answer = await client.ask(`GET /a/x HTTP/1.1\r\nHost: a.test\r\n${all}\r\n`);
    return withStatus(statusOf(answer));
  });
  state.port = scene.proxy.port;
  assert.equal((await scene.ask()).status, 500);
  assert.ok(calls <= 2, String(calls));
  assert.deepEqual(scene.seen, []);
});

// ── Cache ───────────────────────────────────────────────────────────────────────────────────────

const CACHE = {
  key: text("$cookie_s$http_authorization"),
  durations: [{ statuses: [200, 202, 401], time: 300_000 }],
};

Deno.test("without a cache key each request is authenticated by itself, concurrent ones too", async () => {
  await using scene = new Scene({}, withStatus(200));
  const statuses = await Promise.all(
    Array.from({ length: 8 }, async () => (await scene.ask("/a/x", "Cookie: s=1\r\n")).status),
  );
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.equal(scene.asked.length, 8);
  const byHttp2 = await Promise.all(
    Array.from({ length: 8 }, () => scene.askByHttp2("/a/x", [["cookie", "s=1"]])),
  );
  assert.ok(byHttp2.every(({ status }) => status === 200));
  assert.equal(scene.asked.length, 16);
});

Deno.test("a cached response is of one host, route and filter, and of no other", async () => {
  const state: { snapshot: Snapshot | null } = { snapshot: null };
  const [A, B, C] = ["* Prefix /a", "* Prefix /b", "* Prefix /c"];
  const telemetry = Telemetry.unheard();
  telemetry.metrics.change({ added: [[A, 8], [B, 9]], removed: [] });
  const addB = (snapshot: Snapshot) => {
    const [a, ...others] = snapshot.routes;
    const path = { type: "Prefix" as const, value: "/b" };
    const b = { ...a, id: "* Prefix /b", match: { path } };
    return state.snapshot = { ...snapshot, routes: [a, b, ...others] };
  };
  await using scene = new Scene({ cache: CACHE }, withStatus(200), {}, addB, { telemetry });
  const asked = async (path: string, host: string) => {
    const before = scene.asked.length;
    assert.equal((await scene.ask(path, "Cookie: s=1\r\n", host)).status, 200);
    return scene.asked.length - before;
  };
  assert.equal(await asked("/a/x", "a.test"), 1);
  assert.equal(await asked("/a/y", "a.test"), 0);
  assert.equal(await asked("/a/x", "b.test"), 1);
  assert.equal(await asked("/b/x", "a.test"), 1);
  assert.equal(await asked("/b/x", "a.test"), 0);
  const { filterSets = [], ...rest } = state.snapshot!;
  const changed = filterSets.map(({ id, filters }) => ({
    id: `${id}, changed`,
    filters: filters.map((filter) =>
      filter.kind === "access" && filter.external !== undefined
        ? { ...filter, external: { ...filter.external, target: text("/other") } }
        : filter
    ),
  }));
  scene.proxy.server.apply({
    ...rest,
    filterSets: changed,
    routes: rest.routes.map((route) =>
      route.filterSet === undefined ? route : { ...route, filterSet: `${route.filterSet}, changed` }
    ),
  });
  assert.equal(await asked("/a/x", "a.test"), 1);
  assert.match(scene.asked.at(-1)!, /^GET \/other /);
  // Another route takes over the number by which that of /a was counted.
  telemetry.metrics.change({ added: [[C, 8]], removed: [A] });
  scene.proxy.server.apply({
    ...state.snapshot!,
    routes: [
      ...state.snapshot!.routes.slice(1),
      { ...state.snapshot!.routes[0], id: C, match: { path: { type: "Prefix", value: "/c" } } },
    ],
  });
  assert.equal(await asked("/c/x", "a.test"), 1);
  assert.equal(await asked("/b/x", "a.test"), 0);
});

Deno.test("routes that the proxy cannot tell apart share no cached response", async () => {
  const withB = (snapshot: Snapshot) => {
    const [a, ...others] = snapshot.routes;
    const path = { type: "Prefix", value: "/b" } as const;
    return { ...snapshot, routes: [a, { ...a, id: "* Prefix /b", match: { path } }, ...others] };
  };
  const unknown = Telemetry.unheard();
  await using scene = new Scene({ cache: CACHE }, withStatus(200), {}, withB, {
    telemetry: unknown,
  });
  for (const path of ["/a/x", "/b/x", "/a/x"]) {
    assert.equal((await scene.ask(path, "Cookie: s=1\r\n")).status, 200);
  }
  assert.equal(scene.asked.length, 3);
});

Deno.test("a response that a removed route has waited for is not kept for the route after it", async () => {
  const [A, C] = ["* Prefix /a", "* Prefix /c"];
  const id = "test/users auth-file";
  const basic = { credentials: id, realm: "" };
  const [begun, verified] = [signal<void>(), signal<PasswordVerdict>()];
  const telemetry = Telemetry.unheard();
  const changes = (added: readonly string[], removed: readonly string[]) =>
    telemetry.metrics.change({ added: added.map((route) => [route, OTHER_SLOT]), removed });
  changes([A], []);
  let first: Snapshot | null = null;
  await using scene = new Scene(
    { cache: CACHE },
    withStatus(200),
    { basic },
    (all) => first = { ...all, credentials: [credentialsOf(id, "1", "bob:{PLAIN}secret\n")] },
    {
      telemetry,
      verifyPassword: () => {
        begun.resolve();
        return verified.promise;
      },
    },
  );
  const lines = `Authorization: Basic ${btoa("bob:secret")}\r\n`;
  const late = scene.ask("/a/x", lines);
  await begun.promise;
  // Another route gets the number by which that of /a was counted.
  const { routes: [a, ...others], ...rest } = first!;
  changes([], [A]);
  scene.proxy.server.apply({ ...rest, routes: others });
  changes([C], []);
  const c = { ...a, id: C, match: { path: { type: "Prefix" as const, value: "/c" } } };
  scene.proxy.server.apply({ ...rest, routes: [c, ...others] });
  verified.resolve("right");
  assert.equal((await late).status, 200);
  assert.equal(scene.asked.length, 1);
  for (const path of ["/c/x", "/c/y"]) {
    assert.equal((await scene.ask(path, lines)).status, 200);
    assert.equal(scene.asked.length, 2, path);
  }
});

Deno.test("with a cache key a credential is asked about once, and never stands for another", async () => {
  await using scene = new Scene(
    { cache: CACHE, responseHeaders: ["x-user"] },
    (head) => {
      const [user = "none"] = /s=(\w+)/.exec(fieldOf(head, "cookie").join())?.slice(1) ?? [];
      return withStatus(user === "bad" ? 401 : 200, `X-User: ${user}\r\n`);
    },
  );
  const ask = async (lines: string) => (await scene.ask("/a/x", lines)).status;
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(
      await Promise.all([
        ...[ask("Cookie: s=one\r\n"), ask("Cookie: s=one\r\n"), ask("Cookie: s=two\r\n")],
        ask("Cookie: s=bad\r\n"),
      ]),
      [200, 200, 200, 401],
    );
  }
  assert.equal(scene.asked.length, 3);
  const users = scene.seen.map((head) =>
    [fieldOf(head, "cookie")[0].slice(2), fieldOf(head, "x-user")[0]] as const
  );
  for (const [cookie, user] of users) assert.equal(user, cookie);
  // Parts of the key do not flow into one another.
  await ask("Cookie: s=on\r\nAuthorization: e\r\n");
  assert.equal(scene.asked.length, 4);
  // Without a credential, and with two for one, nothing is known.
  for (const lines of ["", "", "Cookie: s=one; s=two\r\n", "Cookie: s=one; s=two\r\n"]) {
    await ask(lines);
  }
  assert.equal(scene.asked.length, 8);
});

for (const cookies of ["s =revoked; s=1", "S=revoked; s=1", "s\t=revoked; s=1", "s=1\xa0"]) {
  Deno.test(`a request is sent to auth-url if a backend may read its cookies differently: ${JSON.stringify(cookies)}`, async () => {
    await using scene = new Scene(
      { cache: CACHE },
      (head) => withStatus(/revoked|\xa0/.test(head) ? 401 : 200),
    );
    assert.equal((await scene.ask("/a/x", "Cookie: s=1\r\n")).status, 200);
    assert.equal((await scene.ask("/a/x", `Cookie: ${cookies}\r\n`)).status, 401);
    assert.equal((await scene.ask("/a/x", "Cookie: s=1\r\n")).status, 200);
    assert.equal(scene.asked.length, 2);
  });
}

Deno.test("no request is sent to auth-url for clients that disconnected while they waited", async () => {
  const [begun, failed, gone] = [signal(), signal(), signal()];
  const says = async () => {
    if (scene.asked.length > 1) return withStatus(200);
    begun.resolve();
    await failed.promise;
    return withStatus(500);
  };
  const patient = { responseHeadTimeout: 60_000 };
  await using scene = new Scene({ cache: CACHE }, says, {}, undefined, patient);
  const lines = "Cookie: s=1\r\n";
  const first = scene.ask("/a/x", lines);
  await begun.promise;
  const request = `GET /a/x HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`;
  const waiting = Array.from(
    { length: 5 },
    () => sendAndReset(scene.proxy.port, request, gone.promise),
  );
  await until("all wait", () => scene.proxy.server.connectionCount === 6);
  gone.resolve();
  await Promise.all(waiting);
  const isGone = (code: string) => code === "client_gone";
  await until("they have gone", () => scene.proxy.codes.filter(isGone).length === 5);
  failed.resolve();
  assert.equal((await first).status, 500);
  assert.equal((await scene.ask("/a/y", lines)).status, 200);
  assert.equal(scene.asked.length, 2);
});

Deno.test("empty lines of a header in a response of auth-url are left out", async () => {
  await using scene = new Scene(
    { responseHeaders: ["x-user"] },
    (head) =>
      /s=1/.test(head)
        ? withStatus(200, "X-User: a\r\nX-User:\r\n")
        : withStatus(401, "WWW-Authenticate: Basic realm=x\r\nWWW-Authenticate:\r\n"),
  );
  assert.equal((await scene.ask("/a/x", "Cookie: s=1\r\n")).status, 200);
  assert.deepEqual(fieldOf(scene.seen[0], "x-user"), ["a"]);
  assert.equal((await scene.ask("/a/x")).status, 401);
});

Deno.test("a cached response is never another request's on the same connection", async () => {
  const telemetry = Telemetry.unheard();
  telemetry.metrics.change({ added: [["* Prefix /a", 8], ["* Prefix /b", 9]], removed: [] });
  await using scene = new Scene(
    { cache: CACHE, responseHeaders: ["x-user"] },
    (head) => withStatus(200, `X-User: ${fieldOf(head, "cookie").join()}\r\n`),
    {},
    (snapshot) => {
      const [a, ...others] = snapshot.routes;
      const b = {
        ...a,
        id: "* Prefix /b",
        match: { path: { type: "Prefix", value: "/b" } as const },
      };
      return { ...snapshot, routes: [a, b, ...others] };
    },
    { telemetry },
  );
  using client = await Peer.connect(scene.proxy.port);
  const ask = async (path: string, host: string, cookies: string) => {
    const before = scene.asked.length;
    const lines = cookies === "" ? "" : `Cookie: ${cookies}\r\n`;
    const answer = await client.ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines}\r\n`);
    assert.equal(statusOf(answer), 200);
    assert.deepEqual(fieldOf(scene.seen.at(-1)!, "x-user"), cookies === "" ? [] : [cookies]);
    return scene.asked.length - before;
  };
  const requests: readonly [path: string, host: string, cookies: string, asked: number][] = [
    ["/a/1", "a.test", "s=1", 1],
    ["/a/2", "a.test", "s=1", 0],
    ["/a/3", "a.test", "s=1", 0],
    ["/a/1", "b.test", "s=1", 1],
    ["/b/1", "a.test", "s=1", 1],
    ["/a/1", "a.test", "s=2", 1],
    ["/a/1", "a.test", "s=1", 0],
    ["/a/1", "a.test", "", 1],
    ["/a/1", "a.test", "s=1; s=2", 1],
    ["/a/1", "a.test", "s=1", 0],
    ["/b/1", "a.test", "s=1", 0],
  ];
  for (const [path, host, cookies, asked] of requests) {
    assert.equal(await ask(path, host, cookies), asked, `${path} of ${host} with ${cookies}`);
  }
});

Deno.test("responses are kept that say for how long, or nothing of it", async () => {
  for (
    const answer of [
      withStatus(200),
      withStatus(200, "Cache-Control: max-age=60\r\nExpires: 0\r\n"),
      withStatus(200, 'Cache-Control: must-revalidate, s-maxage="60", max-age=0\r\n'),
      withStatus(200, "Expires: Thu, 01 Jan 2099 00:00:00 GMT\r\n"),
      withStatus(200, "X-Accel-Expires: 60\r\n"),
      withStatus(200, "Vary: Accept-Encoding\r\n"),
    ]
  ) {
    await using scene = new Scene({ cache: CACHE }, answer);
    for (let i = 0; i < 3; i++) await scene.ask("/a/x", "Cookie: s=1\r\n");
    assert.equal(scene.asked.length, 1, answer);
  }
});

Deno.test("a cached response is used no longer than its time on the same connection", async () => {
  const cache = { ...CACHE, durations: [{ statuses: [200], time: 50 }] };
  await using scene = new Scene({ cache }, withStatus(200));
  using client = await Peer.connect(scene.proxy.port);
  // Whenever its time is over, auth-url gets a request: three in all, however long that takes.
  while (scene.asked.length < 3) {
    assert.equal(
      statusOf(await client.ask("GET /a/x HTTP/1.1\r\nHost: a.test\r\nCookie: s=1\r\n\r\n")),
      200,
    );
  }
});

Deno.test("responses with cookies, errors, and those that say so are not kept", async () => {
  for (
    const answer of [
      withStatus(200, "Set-Cookie: s=2\r\n"),
      withStatus(200, "Cache-Control: private\r\n"),
      withStatus(200, "Cache-Control: max-age=0\r\n"),
      // An age for shared caches counts before one for all, and one that is none has passed.
      withStatus(200, "Cache-Control: max-age=60, s-maxage=0\r\n"),
      withStatus(200, "Cache-Control: max-age=60, max-age=0\r\n"),
      withStatus(200, "Cache-Control: proxy-max-age=60, max-age=0\r\n"),
      withStatus(200, "Cache-Control: max-age=-1\r\n"),
      withStatus(200, "Cache-Control: max-age=x\r\n"),
      withStatus(200, "Cache-Control: max-age\r\n"),
      withStatus(200, "Expires: Thu, 01 Jan 1970 00:00:00 GMT\r\n"),
      withStatus(200, "Expires: 0\r\n"),
      withStatus(200, "X-Accel-Expires: 0\r\n"),
      withStatus(200, "Cache-Control: max-age=9\r\nX-Accel-Expires: 0\r\n"),
      withStatus(200, "Vary: Origin\r\n"),
      withStatus(201),
      withStatus(403),
      withStatus(500),
    ]
  ) {
    await using scene = new Scene({ cache: CACHE }, answer);
    await Promise.all([1, 2, 3].map(() => scene.ask("/a/x", "Cookie: s=1\r\n")));
    assert.equal(scene.asked.length, 3, answer);
  }
});

Deno.test("parallel requests that wait for their login each get the headers of a cached response", async () => {
  const id = "test/users auth-file";
  const says = withStatus(200, "X-User: alice\r\n");
  const external = { responseHeaders: ["x-user"], cache: CACHE };
  let applied: Snapshot | null = null;
  await using scene = new Scene(
    external,
    says,
    { basic: { credentials: id, realm: "" } },
    (all) => applied = { ...all, credentials: [credentialsOf(id, "1", "bob:{PLAIN}secret\n")] },
  );
  const login = ["authorization", `Basic ${btoa("bob:secret")}`] as const;
  assert.equal((await scene.askByHttp2("/a/x", [login])).status, 200);
  // The logins are verified again then, while the response of auth-url is at hand.
  const credentials = [credentialsOf(id, "2", "bob:{PLAIN}secret\n")];
  scene.proxy.server.apply({ ...applied!, credentials });
  await using client = await H2Peer.connect(scene.proxy.port);
  const streams = Array.from({ length: 6 }, () => client.nextStream());
  await client.send(
    join(...streams.map((id) => headers(id, get("/a/x", [login]), { end: true }))),
  );
  for (const stream of streams) assert.equal((await client.answer(stream)).status, 200);
  assert.equal(scene.asked.length, 1);
  assert.deepEqual(scene.seen.map((head) => fieldOf(head, "x-user")), Array(7).fill(["alice"]));
});
