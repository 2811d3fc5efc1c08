/**
 * HTTP/2 over TLS as frames: which version ALPN selects (RFC 7301), for which hosts a connection
 * may be reused (RFC 9113 §9.1.1), and that the same limits hold as in plain text.
 */
import assert from "node:assert/strict";
import { ABUSE_TEXTS } from "../../proxy/http2/abuse.ts";
import { Backend, until } from "../support/backend.ts";
import { flood, FLOODS } from "../support/h2_floods.ts";
import { FRAME, get, headers, join, repeat, SETTING, windowUpdate } from "../support/h2_frames.ts";
import { Origin } from "../support/h2_origin.ts";
import { H2Peer, type H2PeerOptions } from "../support/h2_peer.ts";
import { authority, certificateFor, TlsClient, TlsProxy } from "../support/tls_proxy.ts";

const ONE = await certificateFor("one", { names: ["a.test"] });
const BOTH = await certificateFor("both", { names: ["b.test", "c.test"] });
const WILD = await certificateFor("wild", { names: ["*.w.test"] });
const ALL = [ONE, BOTH, WILD];

function connect(proxy: TlsProxy, name: string, options: H2PeerOptions = {}): Promise<H2Peer> {
  return H2Peer.connect(proxy.port, { ...options, tls: { name, ca: authority.certificate } });
}

function to(host: string) {
  return get("/ok").map(([name, value]) => {
    if (name === ":authority") return [name, host] as const;
    return name === ":scheme" ? [name, "https"] as const : [name, value] as const;
  });
}

const HOSTS: readonly (readonly [name: string, host: string, status: number])[] = [
  ["a.test", "a.test", 200],
  ["a.test", "A.Test", 200],
  ["a.test", "a.test:443", 200],
  ["a.test", "b.test", 421],
  // No certificate is for these: there is no other connection to send them to.
  ["a.test", "unknown.test", 200],
  ["a.test", "sub.a.test", 200],
  ["b.test", "c.test", 200],
  ["c.test", "b.test", 200],
  ["b.test", "a.test", 421],
  ["x.w.test", "y.w.test", 200],
  ["x.w.test", "a.test", 421],
  ["x.w.test", "w.test", 200],
  ["x.w.test", "z.y.w.test", 200],
];

for (const [name, host, status] of HOSTS) {
  Deno.test(`a connection to ${name} that is used for ${host} gets ${status}, and continues`, async () => {
    await using backend = new Backend();
    using proxy = await TlsProxy.start({ certificates: ALL, endpoints: [backend.port] });
    await using peer = await connect(proxy, name);
    await peer.send(headers(1, to(host), { end: true }), headers(3, to(name), { end: true }));
    assert.equal((await peer.answer(1)).status, status);
    assert.equal((await peer.answer(3)).status, 200);
    assert.equal(backend.accepted > 0, true);
  });
}

const PROTOCOLS: readonly (readonly [offered: readonly string[] | undefined, spoken: string])[] = [
  [undefined, "HTTP/1.1"],
  [["http/1.1"], "HTTP/1.1"],
  [["h2"], "h2"],
  [["http/1.1", "h2"], "h2"],
];

for (const [offered, spoken] of PROTOCOLS) {
  Deno.test(`a client that offers ${offered ?? "no protocol"} gets ${spoken}`, async () => {
    await using backend = new Backend();
    using proxy = await TlsProxy.start({ certificates: ALL, endpoints: [backend.port] });
    using client = await TlsClient.connect(proxy.port, {
      ...(offered === undefined ? {} : { protocols: offered }),
    });
    if (spoken === "h2") {
      assert.equal(client.socket.alpnProtocol, "h2");
      await client.until(() => client.received.length >= 9);
      assert.equal(client.received.charCodeAt(3), FRAME.SETTINGS);
    } else {
      assert.match(await client.ask("GET / HTTP/1.1\r\nHost: a.test"), /^HTTP\/1\.1 200 /);
    }
  });
}

Deno.test("with --http2=false a client that offers both versions gets HTTP/1.1", async () => {
  await using backend = new Backend();
  const endpoints = [backend.port];
  using proxy = await TlsProxy.start({ certificates: ALL, endpoints, http2: false });
  using client = await TlsClient.connect(proxy.port, { protocols: ["h2", "http/1.1"] });
  assert.equal(client.socket.alpnProtocol, "http/1.1");
  assert.match(await client.ask("GET / HTTP/1.1\r\nHost: a.test"), /^HTTP\/1\.1 200 /);
});

Deno.test("HTTP/1.1 after h2 was negotiated is not a valid start of a connection", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({ certificates: ALL, endpoints: [backend.port] });
  using client = await TlsClient.connect(proxy.port, { protocols: ["h2"] });
  client.socket.write("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n".repeat(3));
  await client.until(() => client.ended);
  assert.ok(client.received.includes("bad connection preface"));
  assert.equal(backend.accepted, 0);
});

for (const attack of FLOODS.filter(({ says }) => /^(rapid reset|PING|SETTINGS|empty)/.test(says))) {
  Deno.test(`${attack.says} closes the connection on TLS too`, async () => {
    await using origin = new Origin();
    using proxy = await TlsProxy.start({ certificates: ALL, endpoints: [origin.port] });
    await using peer = await connect(proxy, "a.test");
    await attack.before?.(peer);
    await flood(peer, attack, attack.sent);
    await peer.ended();
    assert.equal(peer.goAway?.debug, ABUSE_TEXTS[attack.reason]);
    await until("the backend's requests have ended", () => origin.held === 0);
  });
}

Deno.test("a client that does not read its TLS socket is closed after the write timeout", async () => {
  await using origin = new Origin();
  using proxy = await TlsProxy.start({
    certificates: ALL,
    endpoints: [origin.port],
    limits: { writeTimeout: 500 },
  });
  await using peer = await connect(proxy, "a.test", {
    deaf: true,
    settings: [[SETTING.INITIAL_WINDOW_SIZE, 0x7fffffff]],
  });
  const big = to("a.test").map(([name, value]) =>
    [name, name === ":path" ? "/big" : value] as const
  );
  await peer.send(
    windowUpdate(0, 0x7fff0000),
    join(repeat(100, () => headers(peer.nextStream(), big, { end: true }))),
  );
  await until("all are asked for", () => origin.mostHeld === 100);
  await until("and given up", () => origin.held === 0);
  await until("it is forgotten", () => proxy.server.connectionCount === 0);
});
