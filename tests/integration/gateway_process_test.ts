/** Sockets of Gateways in the proxy as a process: its permissions, its stream and its admin port. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import {
  accepts,
  certificatesOf,
  freeRange,
  gatewaySnapshot,
  HOSTNAME,
  listener,
  route,
  secureListener,
} from "../support/gateway_listeners.ts";
import { MisbehavingController } from "../support/misbehaving_controller.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { certificateFor, handshakeError, TlsClient } from "../support/tls_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

async function statusAt(port: number): Promise<number> {
  using client = await Peer.connect(port);
  return statusOf(await client.ask(GET));
}

/** With this version, in a cluster. */
function at(revision: number, snapshot: Snapshot): Snapshot {
  return { ...snapshot, version: { epoch: "cluster", seen: { Gateway: String(revision) } } };
}

for (const workers of [1, 2]) {
  Deno.test(`with ${workers} workers, a proxy reports an update once its sockets are open, and says which are not`, async () => {
    await using backend = new Backend();
    await using controller = await MisbehavingController.start();
    const range = freeRange(8);
    const [plain, secure, taken] = [range.from, range.from + 1, range.from + 2];
    const other = Deno.listen({ hostname: HOSTNAME, port: taken });
    const upstreams = { web: backend.port };
    await using proxy = await ProxyProcess.start({
      snapshot: at(1, gatewaySnapshot({ listeners: [], upstreams })),
      args: [
        ...controller.flags,
        `--workers=${workers}`,
        "--allow-loopback-upstreams",
        // It narrows the process to these, and to the addresses that it may listen on.
        "--upstream-networks=127.0.0.1/32",
        `--listen-range=${range.from}-${range.to}`,
        "--drain-delay=100ms",
      ],
    });
    const stream = await controller.stream(0);
    stream.hello();
    const before = stream.whole(at(2, gatewaySnapshot({ listeners: [], upstreams })));
    assert.equal((await stream.report("applied")).obstacles, undefined);
    const issued = { ...await certificateFor("a", { names: ["a.test"] }), hosts: [] };
    const listeners = [
      listener("plain", plain),
      secureListener("secure", secure, { certificates: ["a"] }),
      listener("taken", taken, { port: 81 }),
    ];
    const snapshot = {
      ...gatewaySnapshot({ listeners, routes: [route(listeners, "*", "web")], upstreams }),
      certificates: certificatesOf([issued]),
    };
    const content = stream.delta(before, at(3, snapshot));
    try {
      await stream.reportsOf("applied", 2);
      // From the moment of the report on, in each worker.
      for (let i = 0; i < 12; i++) assert.equal(await statusAt(plain), 200);
      using client = await TlsClient.connect(secure);
      assert.match(await client.ask("GET / HTTP/1.1\r\nHost: a.test"), /^HTTP\/1\.1 200 /);
      assert.match(
        await handshakeError(TlsClient.connect(proxy.httpsPort)),
        /UnrecognisedName/,
        "a certificate of listeners is for them alone",
      );
      const [, applied] = stream.reports.filter(({ kind }) => kind === "applied");
      assert.equal(applied.kind === "applied" && applied.hash, content.hash);
      const obstacles = [{
        socket: String(taken),
        reason: "another program has the port; stop it, or change --listen-range",
      }];
      assert.deepEqual(applied.kind === "applied" && applied.obstacles, obstacles);
      const { sockets } = JSON.parse((await proxy.admin("/configuration")).text);
      assert.deepEqual(sockets, { open: [plain, secure].map(String), obstacles });
      assert.equal((await proxy.admin("/readyz")).status, 200);
      const { obstacles: logged } = await proxy.line("Listeners without a socket");
      assert.deepEqual(logged, obstacles);
    } finally {
      other.close();
    }
    // What has been in the way goes: the same update is reported again.
    await stream.reportsOf("applied", 3);
    const last = stream.reports.findLast(({ kind }) => kind === "applied");
    assert.equal(last?.kind === "applied" && last.obstacles, undefined);
    assert.equal(await statusAt(taken), 200);
    stream.delta(content, at(4, gatewaySnapshot({ listeners: [], upstreams })));
    for (const port of [plain, secure, taken]) {
      while (await accepts(port)) await new Promise((resume) => setTimeout(resume, 20));
    }
    assert.equal(await statusAt(proxy.httpPort), 200);
    proxy.signal("SIGTERM");
    assert.equal(await proxy.ended, 0);
  });
}

Deno.test("no endpoint is on a port of --listen-range of the proxy's own address, open or not", async () => {
  const range = freeRange(4);
  const [open, closed] = [range.from, range.from + 1];
  const a = listener("a", open);
  const snapshot = gatewaySnapshot({
    listeners: [a],
    routes: [route([a], "open.test", "open"), route([a], "closed.test", "closed")],
    upstreams: { open, closed },
  });
  await using proxy = await ProxyProcess.start({
    snapshot,
    args: [
      "--allow-loopback-upstreams",
      "--workers=1",
      `--listen-range=${range.from}-${range.to}`,
    ],
  });
  for (const host of ["open.test", "closed.test"]) {
    using client = await Peer.connect(open);
    assert.equal(statusOf(await client.ask(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)), 502, host);
  }
  const { text } = await proxy.admin("/metrics");
  assert.ok(text.includes('pingress_request_errors_total{code="upstream_refused"} 2\n'));
});

for (const workers of [1, 2]) {
  Deno.test(`with ${workers} workers and networks elsewhere, a proxy may listen on every port of --listen-range`, async () => {
    await using backend = Deno.serve(
      { hostname: "127.0.0.2", port: 0, onListen() {} },
      () => new Response("ok"),
    );
    const range = freeRange(256);
    const ports = [range.from, range.from + 128, range.to];
    const issued = { ...await certificateFor("a", { names: ["a.test"] }), hosts: [] };
    const listeners = ports.map((port) => listener(`p${port}`, port));
    const tls = secureListener("tls", range.from + 1, { certificates: ["a"] });
    const snapshot = gatewaySnapshot({
      listeners: [...listeners, tls],
      routes: [route([...listeners, tls], "*", "web")],
      upstreams: { web: backend.addr.port },
    });
    await using proxy = await ProxyProcess.start({
      snapshot: {
        ...snapshot,
        upstreams: [{
          ...snapshot.upstreams[0],
          addresses: {
            kind: "endpoints",
            endpoints: [{ address: "127.0.0.2", port: backend.addr.port }],
          },
        }],
        certificates: certificatesOf([issued]),
      },
      args: [
        `--workers=${workers}`,
        "--allow-loopback-upstreams",
        "--upstream-networks=127.0.0.2/32",
        `--listen-range=${range.from}-${range.to}`,
      ],
    });
    for (const port of ports) assert.equal(await statusAt(port), 200);
    using client = await TlsClient.connect(range.from + 1);
    assert.match(await client.ask("GET / HTTP/1.1\r\nHost: a.test"), /^HTTP\/1\.1 200 /);
    const { sockets } = JSON.parse((await proxy.admin("/configuration")).text);
    assert.deepEqual(sockets.obstacles, []);
  });
}

Deno.test("without --listen-range every listener of a Gateway is an obstacle, and all else is served", async () => {
  await using backend = new Backend();
  const { from } = freeRange(1);
  const a = listener("a", from);
  await using proxy = await ProxyProcess.start({
    snapshot: gatewaySnapshot({
      listeners: [a],
      routes: [route([a], "*", "web")],
      upstreams: { web: backend.port },
    }),
    args: ["--allow-loopback-upstreams", "--workers=2"],
  });
  assert.equal(await statusAt(proxy.httpPort), 200);
  assert.equal(await accepts(from), false);
  const { sockets } = JSON.parse((await proxy.admin("/configuration")).text);
  const reason = "the proxy was started without --listen-range";
  assert.deepEqual(sockets, { open: [], obstacles: [{ socket: String(from), reason }] });
});
