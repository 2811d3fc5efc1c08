/** Workers that die in a running proxy. In: a fault in each of them. Out: others serve in their place. */
import assert from "node:assert/strict";
import { Backend, Peer, statusOf, until } from "../support/backend.ts";
import { snapshotOf } from "../support/fleet.ts";
import { ProxyProcess } from "../support/proxy_process.ts";

const WORKERS = 2;

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
  await until("both are replaced", () => replaced().length === WORKERS);
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
  let last = 0;
  const asking = setInterval(async () => last = await ask(port).catch(() => 0), 100);
  try {
    await until(`a request gets ${status}`, () => last === status);
  } finally {
    clearInterval(asking);
  }
}

/** The status of one request on a connection of its own. */
async function ask(port: number): Promise<number> {
  using peer = await Peer.connect(port);
  const request = "GET / HTTP/1.1\r\nHost: app.example.com\r\nConnection: close\r\n\r\n";
  return statusOf(await peer.ask(request));
}
