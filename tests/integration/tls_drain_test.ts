/** Handshakes that are in progress when a proxy drains. */
import assert from "node:assert/strict";
import net from "node:net";
import { once } from "node:events";
import tls from "node:tls";
import { Backend, until } from "../support/backend.ts";
import { authority, certificateFor, TlsProxy } from "../support/tls_proxy.ts";

const A = await certificateFor("a", { names: ["a.test"] });
const NOW = { delay: 0, timeout: 10_000 };

Deno.test("a handshake in progress when a drain begins is completed, and its request gets a response", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({ certificates: [A], endpoints: [backend.port] });
  const raw = net.connect({ host: "127.0.0.1", port: proxy.port });
  await once(raw, "connect");
  await until("the handshake has begun", () => proxy.server.handshakeCount === 1);
  const draining = proxy.server.drain(NOW);
  while (!await isRefused(proxy.port));
  const client = tls.connect({ socket: raw, servername: "a.test", ca: authority.certificate });
  await once(client, "secureConnect");
  client.write("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  let received = "";
  for await (const part of client) received += part;
  assert.match(received, /^HTTP\/1\.1 200 /);
  assert.match(received, /^connection: close\r?$/im);
  await draining;
});

Deno.test("a handshake that stalls does not hold up a drain for longer than an idle connection", async () => {
  using proxy = await TlsProxy.start({ certificates: [A], limits: { handshakeTimeout: 120_000 } });
  using client = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
  await until("the handshake has begun", () => proxy.server.handshakeCount === 1);
  await proxy.server.drain({ delay: 0, timeout: 60_000 });
  assert.equal(await client.read(new Uint8Array(1)), null);
});

async function isRefused(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return false;
  } catch {
    return true;
  }
}
