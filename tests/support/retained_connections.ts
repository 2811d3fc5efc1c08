/**
 * What connections that have ended leave behind. In: nothing; to be run with `--v8-flags=--expose-gc`.
 * Out: a line of JSON with the bytes of each connection that collections of the young generation have not
 * freed, one figure for each round.
 */
import { TestProxy } from "./test_proxy.ts";

const ROUNDS = 5;
const CONNECTIONS = 300;
const REQUEST = new TextEncoder().encode(
  "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n",
);

const { gc } = globalThis as unknown as { gc(options?: { type: "minor" }): void };

// Without an endpoint, whose connections would be others' business: the reply is 503.
using proxy = new TestProxy([]);
const buffer = new Uint8Array(4096);
// Long enough for what is compiled and cached, and so stays.
await connect(3 * CONNECTIONS);
gc();
const retained: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  await collectYoung();
  const before = Deno.memoryUsage().heapUsed;
  await connect(CONNECTIONS);
  await collectYoung();
  retained.push((Deno.memoryUsage().heapUsed - before) / CONNECTIONS);
}
console.log(JSON.stringify(retained));
Deno.exit(0);

async function connect(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
    await connection.write(REQUEST);
    while (await connection.read(buffer) !== null);
  }
  // The last one, too, has gone.
  while (proxy.server.connectionCount > 0) await new Promise((resume) => setTimeout(resume, 1));
}

/** What survives two collections is old; a third finds what only the second has freed. */
async function collectYoung(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    gc({ type: "minor" });
    await new Promise((resume) => setTimeout(resume, 1));
  }
}
