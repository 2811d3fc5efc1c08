/** Short of memory, HTTPS is refused as plain HTTP is: with an answer, as long as that is cheap. */
import assert from "node:assert/strict";
import { Backend, Peer, statusOf, until } from "../support/backend.ts";
import { certificateFor, TlsProxy } from "../support/tls_proxy.ts";

const CERTIFICATES = [await certificateFor("a", { names: ["a.test"] })];
const GET = "GET / HTTP/1.1\r\nHost: a.test";

async function noticed({ lines }: TlsProxy, pressure: string): Promise<void> {
  await until(`pressure is ${pressure}`, () => lines.at(-1)?.fields.pressure === pressure);
}

Deno.test("under memory pressure, HTTPS clients get 503, and plain ones too instead of 308", async () => {
  await using backend = new Backend();
  let used = 0;
  using proxy = await TlsProxy.start({
    certificates: CERTIFICATES,
    endpoints: [backend.port],
    limits: { memoryBytes: 1_000 },
    memoryInUse: () => used,
    sslRedirect: true,
  });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  const plainStatus = async () => {
    using client = await Peer.connect(port);
    return statusOf(await client.ask(`${GET}\r\n\r\n`));
  };
  assert.equal(await plainStatus(), 308);
  used = 960;
  await noticed(proxy, "critical");
  assert.equal(await plainStatus(), 503);
  for (let i = 0; i < 40; i++) {
    using client = await proxy.connect();
    const answer = await client.ask(GET);
    assert.match(answer, /^HTTP\/1\.1 503 /);
    assert.match(answer, /\r\nretry-after: \d+\r\n/i);
  }
  used = 500;
  await noticed(proxy, "none");
  assert.equal(await plainStatus(), 308);
  using client = await proxy.connect();
  assert.match(await client.ask(GET), /^HTTP\/1\.1 200 /);
});

Deno.test("under memory pressure, all but a few of many handshakes are dropped", async () => {
  let used = 960;
  using proxy = await TlsProxy.start({
    certificates: CERTIFICATES,
    limits: { memoryBytes: 1_000 },
    memoryInUse: () => used,
  });
  await noticed(proxy, "critical");
  let ended = 0;
  const crowd = await Promise.all(Array.from({ length: 50 }, async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
    connection.read(new Uint8Array(64)).catch(() => null).finally(() => ended++);
    return connection;
  }));
  await until("most are dropped", () => ended >= 34);
  assert.equal(ended, 34);
  used = 0;
  proxy.server.close();
  await until("all are gone", () => ended === 50);
  for (const connection of crowd) connection.close();
});
