/**
 * Routes with conditions, in a proxy as it is started: from a file of a snapshot to what a client
 * gets over HTTP/1.1 in plain text and over HTTP/2 with TLS.
 */
import assert from "node:assert/strict";
import type {
  Listener,
  Route,
  RouteMatch,
  Snapshot,
  Upstream,
} from "../../shared/snapshot/types.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { Http2Client } from "../support/http2_client.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { authority, certificateFor } from "../support/tls_proxy.ts";

const { chain, key } = await certificateFor("a", { names: ["a.test"] });

type RouteText = Omit<Partial<Route>, "match"> & { readonly match?: Partial<RouteMatch> };

/** A proxy and, for each route, a backend that responds with the route's name. */
class Scene implements AsyncDisposable {
  readonly #backends: Backend[] = [];
  #proxy: ProxyProcess | null = null;
  #client: Http2Client | null = null;

  static async start(
    routes: Readonly<Record<string, RouteText>>,
    listeners?: readonly Listener[],
  ): Promise<Scene> {
    const scene = new Scene();
    const upstreams = Object.keys(routes).map((name) => scene.#upstream(name));
    const [plain] = snapshotOf([]).routes;
    const certificate = {
      id: "a",
      hosts: ["a.test"],
      chain: { kind: "pem" as const, pem: chain },
      key: { kind: "secret" as const, pem: key },
      origin: plain.origin,
    };
    const snapshot: Snapshot = {
      ...snapshotOf([]),
      ...(listeners === undefined ? {} : { listeners }),
      routes: Object.entries(routes).map(([name, { match, ...rest }]) => ({
        ...plain,
        id: name,
        match: { ...plain.match, ...match },
        action: { kind: "forward", backends: [{ upstream: `test/${name}:80` }] },
        ...rest,
      })),
      upstreams,
      certificates: [certificate],
      defaultCertificate: "a",
    };
    scene.#proxy = await ProxyProcess.start({
      snapshot,
      args: ["--allow-loopback-upstreams", "--ssl-redirect=false"],
    });
    const { httpsPort } = scene.proxy;
    scene.#client = await Http2Client.connect(httpsPort, { ca: authority.certificate });
    return scene;
  }

  get proxy(): ProxyProcess {
    return this.#proxy!;
  }

  #upstream(name: string): Upstream {
    const backend = new Backend(async (peer) => {
      while (await peer.request() !== null) await peer.send(reply(name));
    });
    this.#backends.push(backend);
    const endpoints = [{ address: "127.0.0.1", port: backend.port }];
    return { id: `test/${name}:80`, protocol: "http", addresses: { kind: "endpoints", endpoints } };
  }

  /** The name of the route that takes the request, or the status, over HTTP/1.1 in plain text. */
  async http1(target: string, lines: readonly string[] = [], host = "a.test"): Promise<string> {
    const [method, path] = target.split(" ");
    using client = await Peer.connect(this.proxy.httpPort);
    const head = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, ...lines, "", ""].join("\r\n");
    const response = await client.ask(head);
    return statusOf(response) === 200 ? response.body : String(statusOf(response));
  }

  /** The same over HTTP/2 with TLS. */
  async http2(target: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
    const [method, path] = target.split(" ");
    const { status, body } = await this.#client!.ask({ method, path, fields });
    return status === 200 ? body : String(status);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client?.close();
    await this.#proxy?.[Symbol.asyncDispose]();
    for (const backend of this.#backends) await backend[Symbol.asyncDispose]();
  }
}

Deno.test("a route matches by method, headers, query and path", async () => {
  await using scene = await Scene.start({
    method: { match: { method: "POST" } },
    header: { match: { headers: [{ name: "x-beta", type: "Exact", value: "yes,no" }] } },
    query: { match: { query: [{ name: "tag", type: "Exact", value: "a b" }] } },
    text: { match: { path: { type: "StringPrefix", value: "/pre" } } },
    rest: {},
  });
  for (const ask of [scene.http1.bind(scene), scene.http2.bind(scene)]) {
    assert.equal(await ask("GET /"), "rest");
    assert.equal(await ask("POST /"), "method");
    assert.equal(await ask("GET /?tag=a%20b"), "query");
    assert.equal(await ask("GET /?x=1&t%61g=a+b"), "query");
    assert.equal(await ask("GET /?tag=b&tag=a+b"), "rest");
    assert.equal(await ask("GET /prefixed"), "text");
    assert.equal(await ask("POST /prefixed?tag=a+b"), "method");
    assert.equal(await ask("GET /apre"), "rest");
  }
  assert.equal(await scene.http1("GET /", ["X-BETA: yes", "Other: 1", "x-beta: no"]), "header");
  assert.equal(await scene.http1("GET /", ["X-Beta: no", "X-Beta: yes"]), "rest");
  // The proxy drops it, as some backends take it for X-Beta.
  assert.equal(await scene.http1("GET /", ["X_Beta: yes,no"]), "rest");
  assert.equal(await scene.http2("GET /", { "x-beta": "yes,no" }), "header");
});

Deno.test("regular expressions match whole paths and values, in linear time for any request", async () => {
  const header = (value: string) => [{ name: "x-beta", type: "Regex", value }] as const;
  await using scene = await Scene.start({
    path: { match: { path: { type: "Regex", value: "/v[12]/(a+)+b" } } },
    header: { match: { headers: header("(y+)+es|no") } },
    query: { match: { query: [{ name: "tag", type: "Regex", value: "([a-z]+)*[0-9]" }] } },
    rest: {},
  });
  assert.equal(await scene.http1("GET /v1/aab"), "path");
  assert.equal(await scene.http2("GET /v2/ab"), "path");
  assert.equal(await scene.http1("GET /v1/ab/c"), "rest");
  assert.equal(await scene.http1("GET /x/v1/ab"), "rest");
  assert.equal(await scene.http1("GET /", ["X-Beta: yyes"]), "header");
  assert.equal(await scene.http1("GET /", ["X-Beta: yess"]), "rest");
  assert.equal(await scene.http1("GET /?tag=abc1"), "query");
  // Each takes years with an engine that backtracks.
  assert.equal(await scene.http1(`GET /v1/${"a".repeat(5000)}`), "rest");
  assert.equal(await scene.http1("GET /", [`X-Beta: ${"y".repeat(5000)}`]), "rest");
  assert.equal(await scene.http1(`GET /?tag=${"a".repeat(5000)}!`), "rest");
});

Deno.test("a request that is too long for the regular expressions of its host gets 414, and no other route", async () => {
  await using scene = await Scene.start({
    dear: { match: { path: { type: "Regex", value: `/${"[ab]*".repeat(120)}a[ab]{16}z` } } },
    rest: {},
  });
  const path = `/${"ab".repeat(4000)}`;
  assert.equal(await scene.http1("GET /abz"), "rest");
  assert.equal(await scene.http1(`GET ${path}`), "414");
  assert.equal(await scene.http2(`GET ${path}`), "414");
  const { text } = await scene.proxy.admin("/metrics");
  assert.match(text, /too_much_matching/);
  const explained = await scene.proxy.admin(
    `/explain?url=${encodeURIComponent(`http://a.test${path}`)}`,
  );
  assert.match(explained.text, /too_much_matching/);
});

Deno.test("a route whose pattern does not compile responds with 500, and no other route does", async () => {
  await using scene = await Scene.start({
    lookahead: { match: { path: { type: "Regex", value: "/admin/(?=x).*" } } },
    open: {
      match: {
        path: { type: "Prefix", value: "/open" },
        headers: [{ name: "x-beta", type: "Regex", value: "(" }],
      },
    },
    rest: {},
  });
  assert.equal(await scene.http1("GET /admin/x"), "500");
  assert.equal(await scene.http1("GET /admin/y"), "500");
  assert.equal(await scene.http1("GET /adm"), "rest");
  assert.equal(await scene.http1("GET /open"), "rest");
  assert.equal(await scene.http1("GET /open", ["X-Beta: 1"]), "500");
  const problems = scene.proxy.lines
    .filter(({ message }) => message === "Route does not compile, responding with 500")
    .map(({ route, problem }) => `${route}: ${problem}`);
  assert.deepEqual([...new Set(problems)], [
    'lookahead: the regular expression "/admin/(?=x).*" cannot be matched in linear time: remove ' +
    "lookaround, back references and repetitions of more than 16 times",
    'open: the regular expression "(" cannot be compiled (Unterminated group): correct it',
  ]);
});

Deno.test("a route is served on its listeners only, and each listener matches hosts by its own rules", async () => {
  const { origin } = snapshotOf([]).routes[0];
  const listener = { port: 80, socket: "http", protocol: "HTTP", origin } as const;
  await using scene = await Scene.start({
    secure: { host: "a.test", listeners: ["https"] },
    plain: { host: "a.test", listeners: ["http"], match: { method: "POST" } },
    suffix: { host: "*.test", match: { path: { type: "Prefix", value: "/s" } } },
    rest: {},
  }, [{ ...listener, id: "http", wildcards: "suffix", fallThrough: true }]);
  assert.equal(await scene.http2("GET /"), "secure");
  assert.equal(await scene.http2("GET /s"), "secure");
  assert.equal(await scene.http1("POST /"), "plain");
  assert.equal(await scene.http1("GET /s"), "suffix");
  assert.equal(await scene.http1("GET /"), "rest");
  assert.equal(await scene.http1("GET /s", [], "b.a.test"), "suffix");
  assert.equal(await scene.http1("GET /s", [], "test"), "rest");
});

Deno.test("a proxy's /explain takes a method and headers, and says which condition of a route is not met", async () => {
  await using scene = await Scene.start({
    beta: {
      match: { method: "POST", headers: [{ name: "x-beta", type: "Exact", value: "yes" }] },
    },
    broken: { match: { query: [{ name: "tag", type: "Regex", value: "(?=a)b" }] } },
    rest: {},
  });
  const explained = async (query: string) => {
    const { status, text } = await scene.proxy.admin(`/explain?${query}`);
    return { status, lines: text.split("\n") };
  };
  const url = "url=http%3A%2F%2Fa.test%2F";
  const beta = await explained(`${url}&method=POST&header=X-Beta%3A%20yes`);
  assert.ok(beta.lines.includes("Route: beta"), beta.lines.join("\n"));
  const { lines } = await explained(`${url}&method=POST&header=X-Beta%3A%20no&header=Other:1`);
  assert.ok(lines.includes("Route: rest"), lines.join("\n"));
  assert.ok(lines.includes('  lost because the header x-beta is "no", not "yes"'));
  assert.ok(lines.includes("  lost because the query parameter tag is missing"));
  const broken = (await explained(`${url}%3Ftag%3Dx`)).lines;
  assert.ok(broken.includes("http://a.test/?tag=x"), broken.join("\n"));
  assert.ok(broken.includes("  lost because its method is POST, and the request's is GET"));
  assert.match(broken.join("\n"), /^Route: broken\n.*\n {2}returns 500: .*in linear time/m);
  for (const wrong of ["&method=a%20b", "&method=", "&header=X-Beta", "&header=a%20b:c"]) {
    assert.equal((await explained(url + wrong)).status, 400, wrong);
  }
});
