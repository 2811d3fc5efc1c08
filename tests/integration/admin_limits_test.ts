/** The admin port takes little and gives up nothing, however many connect to it and stay silent. */
import assert from "node:assert/strict";
import { until } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const hasPrlimit = await works("prlimit", "--version");
if (!hasPrlimit) console.log("skipped: admin port limits; install util-linux, for prlimit");

async function works(program: string, ...args: string[]): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output())
      .success;
  } catch {
    return false;
  }
}

/** Connections that send `text` and nothing else. */
async function connectAll(count: number, port: number, text: string): Promise<Deno.TcpConn[]> {
  const connections = [];
  for (let i = 0; i < count; i++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    // Those that come too many may have been closed already.
    await connection.write(new TextEncoder().encode(text)).catch(() => {});
    connections.push(connection);
  }
  return connections;
}

/** The status of the answer, or null where there is none. */
async function statusAt(url: string): Promise<number | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.body?.cancel();
    return response.status;
  } catch {
    return null;
  }
}

/** Waits until `url` is answered with 200. */
async function untilServed(what: string, url: string): Promise<void> {
  let status: number | null = null;
  const asking = { over: false };
  const ask = async () => {
    while (!asking.over && status !== 200) status = await statusAt(url);
  };
  const asked = ask();
  try {
    await until(what, () => status === 200, 30_000);
  } finally {
    asking.over = true;
    await asked;
  }
}

/** A proxy with 256 descriptors and a backend that says ok. */
async function withProxy(test: (proxy: ProxyProcess) => Promise<void>): Promise<void> {
  const backend = Deno.serve({ port: 0, onListen() {} }, () => new Response("ok"));
  try {
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotOf([backend.addr.port]),
      args: ["--workers=1", "--allow-loopback-upstreams"],
      wrapper: ["prlimit", "--nofile=256"],
    });
    await test(proxy);
    assert.equal(proxy.code, null);
    proxy.signal("SIGTERM");
    assert.equal(await proxy.ended, 0);
  } finally {
    await backend.shutdown();
  }
}

const urls = (proxy: ProxyProcess) => ({
  health: `http://127.0.0.1:${proxy.adminPort}/healthz`,
  page: `http://127.0.0.1:${proxy.httpPort}/`,
});

for (const [kind, text] of [["silent", ""], ["half a head", "GET /healthz HTTP/1.1\r\nHo"]]) {
  Deno.test({
    name: `300 connections to the admin port (${kind}) at 256 descriptors delay nobody`,
    ignore: !hasPrlimit,
    fn: () =>
      withProxy(async (proxy) => {
        const { health, page } = urls(proxy);
        const connections = await connectAll(300, proxy.adminPort, text);
        await untilServed("the data plane serves meanwhile", page);
        await untilServed("the admin port answers meanwhile", health);
        for (const connection of connections) connection.close();
        await untilServed("the admin port answers afterwards", health);
      }),
  });
}

Deno.test({
  name: "the admin port accepts again after a lack of descriptors, and SIGTERM exits with 0",
  ignore: !hasPrlimit,
  fn: () =>
    withProxy(async (proxy) => {
      const { health, page } = urls(proxy);
      const clients = await connectAll(300, proxy.httpPort, "GET / HTTP/1.1\r\nHo");
      const probes = await connectAll(50, proxy.adminPort, "");
      for (const connection of [...clients, ...probes]) connection.close();
      await untilServed("the admin port answers afterwards", health);
      await untilServed("the data plane serves afterwards", page);
    }),
});
