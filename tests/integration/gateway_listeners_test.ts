/** Which listener of a Gateway takes a request, over real sockets of one proxy. */
import assert from "node:assert/strict";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import { SnapshotDiffer } from "../../proxy/config/diff.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import {
  accepts,
  freeRange,
  type GatewayParts,
  gatewaySnapshot,
  HOSTNAME,
  listener,
  route,
  secureListener,
} from "../support/gateway_listeners.ts";
import { Http2Client } from "../support/http2_client.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { authority, certificateFor, handshakeError, TlsClient } from "../support/tls_proxy.ts";

/** A proxy with a range of ports, and backends by name that respond with it and the request's head. */
class Scene implements AsyncDisposable {
  readonly from: number;
  readonly #proxy: TestProxy;
  readonly #backends = new Map<string, Backend>();
  readonly #differ = new SnapshotDiffer();

  private constructor(names: readonly string[]) {
    const listenRange = freeRange(8);
    this.from = listenRange.from;
    for (const name of names) {
      const play = async (peer: Peer) => {
        for (let request; (request = await peer.request()) !== null;) {
          await peer.send(reply(`${name}\n${request.head}`));
        }
      };
      this.#backends.set(name, new Backend(play));
    }
    this.#proxy = new TestProxy([], {}, {
      listenRange,
      drainTimeout: 1_000,
      sslRedirect: true,
      trustedProxies: CidrList.empty,
    });
  }

  static async start(...names: string[]): Promise<Scene> {
    const scene = new Scene(names);
    await scene.#proxy.server.openSockets();
    return scene;
  }

  get proxy(): TestProxy {
    return this.#proxy;
  }

  async apply(
    parts: Omit<GatewayParts, "upstreams">,
    certificates: readonly ServerCertificate[] = [],
  ): Promise<void> {
    const upstreams = Object.fromEntries([...this.#backends].map(([name, { port }]) => {
      return [name, port];
    }));
    const snapshot = gatewaySnapshot({ ...parts, upstreams });
    this.#proxy.server.applyDelta(this.#differ.diff(snapshot, certificates));
    await this.#proxy.server.socketsSettled;
  }

  /** The name of the backend that responds, or the status; over HTTP/1.1 in plain text. */
  async http(port: number, host: string, path = "/"): Promise<string> {
    return nameIn(await this.#ask(port, host, path));
  }

  async #ask(port: number, host: string, path: string) {
    using client = await Peer.connect(port);
    return await client.ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  }

  /** The head of the request as the backend has it. */
  async received(port: number, host: string): Promise<string> {
    return (await this.#ask(port, host, "/")).body;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#proxy[Symbol.dispose]();
    for (const backend of this.#backends.values()) await backend[Symbol.asyncDispose]();
  }
}

function nameIn(response: { readonly head: string; readonly body: string }): string {
  const status = statusOf(response as Parameters<typeof statusOf>[0]);
  return status === 200 ? response.body.split("\n")[0] : String(status);
}

Deno.test("the listener with the most specific hostname serves a host alone", async () => {
  await using scene = await Scene.start("any", "star", "foo", "exact");
  const { from } = scene;
  const any = listener("any", from);
  const star = listener("star", from, { hostname: "*.example.com" });
  const foo = listener("foo", from, { hostname: "*.foo.example.com" });
  const exact = listener("exact", from, { hostname: "abc.foo.example.com" });
  const paths = { any: "/any", star: "/star", foo: "/foo", exact: "/exact" };
  const routes = Object.entries({ any, star, foo, exact }).map(([name, one]) => ({
    ...route([one], one.hostname ?? "*", name),
    match: { path: { type: "Prefix" as const, value: paths[name as keyof typeof paths] } },
  }));
  await scene.apply({ listeners: [any, star, foo, exact], routes });
  const hosts = {
    any: ["bar.com", "example.com", "foo.test"],
    star: ["bar.example.com", "foo.example.com", "a.b.example.com"],
    foo: ["bar.foo.example.com", "a.b.foo.example.com"],
    exact: ["abc.foo.example.com"],
  };
  for (const [name, list] of Object.entries(hosts)) {
    for (const host of list) {
      for (const [other, path] of Object.entries(paths)) {
        const expected = other === name ? name : "404";
        assert.equal(await scene.http(from, host, path), expected, `${host}${path}`);
      }
      // The port of Host is ignored.
      assert.equal(await scene.http(from, `${host}:8080`, `/${name}`), name);
    }
  }
});

Deno.test("a host that no listener takes gets 404, and so does every host of a Gateway on other sockets", async () => {
  await using scene = await Scene.start("web");
  const [one, two] = [scene.from, scene.from + 1];
  const a = listener("a", one, { hostname: "a.test" });
  const b = listener("b", two, { hostname: "b.test", port: 8080 });
  await scene.apply({ listeners: [a, b], routes: [route([a, b], "*", "web")] });
  assert.equal(await scene.http(one, "a.test"), "web");
  assert.equal(await scene.http(two, "b.test"), "web");
  assert.equal(await scene.http(one, "b.test"), "404");
  assert.equal(await scene.http(two, "a.test"), "404");
  assert.equal(await scene.http(one, "other.test"), "404");
  // Those of the proxy itself serve what they did, and no Gateway.
  assert.equal(await scene.http(scene.proxy.port, "other.test"), "web");
});

Deno.test("backends learn the port that clients know, and never that of the container", async () => {
  await using scene = await Scene.start("web");
  const a = listener("a", scene.from, { port: 8000 });
  await scene.apply({ listeners: [a], routes: [route([a], "*", "web")] });
  const received = await scene.received(scene.from, "a.test:8000");
  assert.match(received, /^x-forwarded-port: 8000\r$/im);
  assert.match(received, /^x-forwarded-proto: http\r$/im);
  assert.ok(!received.includes(String(scene.from)), received);
});

Deno.test("plain HTTP of a Gateway is never redirected to HTTPS, also for hosts with a certificate", async () => {
  await using scene = await Scene.start("web");
  await scene.proxy.server.listenTls({ hostname: HOSTNAME, port: 0 });
  const a = listener("a", scene.from);
  const certificate = await certificateFor("a", { names: ["a.test"] });
  await scene.apply({ listeners: [a], routes: [route([a], "*", "web")] }, [certificate]);
  assert.equal(await scene.http(scene.from, "a.test"), "web");
  assert.equal(await scene.http(scene.proxy.port, "a.test"), "308");
});

Deno.test("the server name chooses the listener and its certificate, and unknown names get an alert", async () => {
  await using scene = await Scene.start("one", "two");
  const { from } = scene;
  // Both cover both names: the listener decides, not the names in certificates.
  const names = ["a.test", "*.b.test"];
  const first = { ...await certificateFor("first", { names: [...names, "first"] }), hosts: [] };
  const second = { ...await certificateFor("second", { names: [...names, "second"] }), hosts: [] };
  const one = secureListener("one", from, { hostname: "a.test", certificates: ["first"] });
  const two = secureListener("two", from, { hostname: "*.b.test", certificates: ["second"] });
  const bare = secureListener("bare", from, { hostname: "c.test", certificates: ["gone"] });
  const none = secureListener("none", from, { hostname: "d.test" });
  await scene.apply({
    listeners: [one, two, bare, none],
    routes: [route([one], "*", "one"), route([two], "*", "two")],
  }, [first, second]);
  const shown = async (name: string, port = from) => {
    using client = await TlsClient.connect(port, { name });
    const response = await client.ask(`GET / HTTP/1.1\r\nHost: ${name}`);
    const [, body] = response.split("\r\n\r\n");
    return `${client.names.split(" ").at(-1)} ${body.split("\n")[0]}`;
  };
  assert.equal(await shown("a.test"), "first one");
  assert.equal(await shown("x.b.test"), "second two");
  assert.equal(await shown("y.x.b.test"), "second two");
  for (const name of ["b.test", "c.test", "d.test", "other.test", ""]) {
    assert.match(await handshakeError(TlsClient.connect(from, { name })), /UnrecognisedName/, name);
  }
  // A listener for any host takes the others, and clients that name none.
  const any = secureListener("any", from, { certificates: ["first"] });
  await scene.apply({ listeners: [any, two], routes: [route([two], "*", "two")] }, [first, second]);
  for (const name of ["other.test", ""]) {
    using client = await TlsClient.connect(from, { name });
    assert.match(client.names, /first$/, name);
  }
  using client = await TlsClient.connect(from, { name: "b.test" });
  const response = await client.ask("GET / HTTP/1.1\r\nHost: b.test");
  assert.match(response, /^HTTP\/1\.1 404 /);
});

Deno.test("a request for the host of another listener gets 421, over HTTP/1.1 and HTTP/2", async () => {
  await using scene = await Scene.start("one", "two", "any");
  const { from } = scene;
  const certificate = {
    ...await certificateFor("c", { names: ["a.test", "b.test", "*.w.test"] }),
    hosts: [],
  };
  const certificates = ["c"];
  const one = secureListener("one", from, { hostname: "a.test", certificates });
  const two = secureListener("two", from, { hostname: "b.test", certificates });
  const wild = secureListener("wild", from, { hostname: "*.w.test", certificates });
  await scene.apply({
    listeners: [one, two, wild],
    routes: [
      { ...route([one], "a.test", "one"), match: { path: { type: "Prefix", value: "/one" } } },
      route([two], "b.test", "two"),
      route([wild], "*.w.test", "any"),
    ],
  }, [certificate]);
  const cases: readonly [name: string, host: string, path: string, status: number][] = [
    ["a.test", "a.test", "/one", 200],
    // Its own listener has no route for it.
    ["a.test", "a.test", "/two", 404],
    ["a.test", "b.test", "/", 421],
    ["a.test", "x.w.test", "/one", 421],
    ["b.test", "a.test", "/one", 421],
    ["x.w.test", "y.w.test", "/", 200],
    // No other connection would lead anywhere either.
    ["a.test", "unknown.test", "/one", 404],
  ];
  for (const [name, host, path, status] of cases) {
    const what = `${host}${path} over ${name}`;
    using client = await TlsClient.connect(from, { name });
    const response = await client.ask(`GET ${path} HTTP/1.1\r\nHost: ${host}`);
    assert.match(response, new RegExp(`^HTTP/1\\.1 ${status} `), what);
    const http2 = await Http2Client.connect(from, { ca: authority.certificate, host: name });
    const { status: over2 } = await http2.ask({ path, fields: { ":authority": host } });
    http2.close();
    assert.equal(over2, status, what);
  }
});

Deno.test("of several certificates of a listener a client gets one that it can verify", async () => {
  await using scene = await Scene.start("web");
  const rsa = {
    ...await certificateFor("rsa", { names: ["a.test", "rsa"], key: "rsa" }),
    hosts: [],
  };
  const ec = { ...await certificateFor("ec", { names: ["a.test", "ec"] }), hosts: [] };
  const shown = async () => {
    using client = await TlsClient.connect(scene.from);
    return client.names.split(" ").at(-1);
  };
  for (const certificates of [["rsa", "ec"], ["ec", "rsa"], ["gone", "ec"]]) {
    const a = secureListener("a", scene.from, { certificates });
    await scene.apply({ listeners: [a] }, [rsa, ec]);
    assert.equal(await shown(), certificates.find((id) => id !== "gone"));
  }
});

Deno.test("a change of a listener's certificates alone affects new handshakes, and no connection", async () => {
  await using scene = await Scene.start("web");
  const { from } = scene;
  const [before, after] = await Promise.all(["before", "after"].map(async (id) => {
    return { ...await certificateFor(id, { names: ["a.test", id] }), hosts: [] };
  }));
  const named = (id: string) => secureListener("a", from, { certificates: [id] });
  const routes = [route([named("before")], "*", "web")];
  await scene.apply({ listeners: [named("before")], routes }, [before]);
  using old = await TlsClient.connect(from);
  const get = "GET / HTTP/1.1\r\nHost: a.test";
  assert.match(await old.ask(get), /^HTTP\/1\.1 200 /);
  await scene.apply({ listeners: [named("after")], routes }, [after]);
  using young = await TlsClient.connect(from);
  assert.deepEqual([old.names, young.names], ["a.test before", "a.test after"]);
  for (const client of [old, young]) assert.match(await client.ask(get), /^HTTP\/1\.1 200 /);
  // Without any, its names are refused, and the connections go on.
  await scene.apply({ listeners: [secureListener("a", from)], routes });
  assert.match(await handshakeError(TlsClient.connect(from)), /UnrecognisedName/);
  for (const client of [old, young]) assert.match(await client.ask(get), /^HTTP\/1\.1 200 /);
});

Deno.test("a socket whose listeners change from HTTP to HTTPS speaks TLS from then on", async () => {
  await using scene = await Scene.start("web");
  const { from } = scene;
  const plain = listener("a", from);
  const routes = [route([plain], "*", "web")];
  await scene.apply({ listeners: [plain], routes });
  assert.equal(await scene.http(from, "a.test"), "web");
  const certificate = { ...await certificateFor("a", { names: ["a.test"] }), hosts: [] };
  const secure = secureListener("a", from, { certificates: ["a"] });
  await scene.apply({ listeners: [secure], routes }, [certificate]);
  using client = await TlsClient.connect(from);
  assert.match(await client.ask("GET / HTTP/1.1\r\nHost: a.test"), /^HTTP\/1\.1 200 /);
  assert.ok(await accepts(from));
});
