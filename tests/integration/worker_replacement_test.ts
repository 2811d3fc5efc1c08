/** Workers that die. In: a fault in each of them. Out: others serve in their place, or the proxy ends. */
import assert from "node:assert/strict";
import { Backend, Peer, statusOf, until } from "../support/backend.ts";
import { snapshotOf } from "../support/fleet.ts";
import { ProxyProcess } from "../support/proxy_process.ts";

const WORKERS = 2;

/** In ms. */
const PATIENCE = 60_000;

Deno.test("workers that die are replaced, and the process continues to serve and can drain", async () => {
  await using backend = new Backend();
  await using proxy = await ProxyProcess.start({
    program: "tests/support/faulty_process.ts",
    snapshot: snapshotOf(backend.port),
    args: [`--workers=${WORKERS}`, "--allow-loopback-upstreams"],
  });
  assert.equal(await ask(proxy.httpPort), 200);
  proxy.replace(snapshotOf(backend.port, "throw"));
  const replaced = () => proxy.lines.filter(({ message }) => message === "Worker replaced");
  await until("both are replaced", () => replaced().length >= WORKERS);
  for (const { reason } of replaced()) assert.match(String(reason), /a fault to order/);
  // Until the first of them listens, nobody does.
  await untilStatus(200, proxy.httpPort);
  // They take changes.
  proxy.replace({ ...snapshotOf(backend.port), defaultAction: null });
  await untilStatus(404, proxy.httpPort);
  proxy.signal("SIGTERM");
  assert.equal(await proxy.ended, 0);
});

async function untilStatus(status: number, port: number): Promise<void> {
  const end = performance.now() + PATIENCE;
  for (let last = 0; last !== status;) {
    assert.ok(performance.now() < end, `a request gets ${last} in place of ${status}`);
    await new Promise((resume) => setTimeout(resume, 50));
    last = await ask(port).catch(() => 0);
  }
}

Deno.test("a proxy whose first workers cannot start exits with 1 and says why", async () => {
  const started = ProxyProcess.start({
    program: "tests/support/unloadable_process.ts",
    snapshot: snapshotOf(1),
    args: [`--workers=${WORKERS}`],
  });
  await assert.rejects(started, /Cannot start.*a worker that cannot be loaded/);
});

/** The status of one request on a connection of its own. */
async function ask(port: number): Promise<number> {
  using peer = await Peer.connect(port);
  const request = "GET / HTTP/1.1\r\nHost: app.example.com\r\nConnection: close\r\n\r\n";
  return statusOf(await peer.ask(request));
}
