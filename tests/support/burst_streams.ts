/**
 * What a burst of events leaves with the streams that it went through. In: nothing; to be run with
 * `--v8-flags=--expose-gc`. Out: a line of JSON with the bytes outside of V8's heap that each open stream
 * holds more than before the burst.
 */
import { TestProxy } from "./test_proxy.ts";

/** More than the buffers for writes that are kept. */
const STREAMS = 400;
const EVENTS = 3;
const HEAD =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const EVENT = new TextEncoder().encode("9\r\ndata: a\n\n\r\n");
const REQUEST = new TextEncoder().encode("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");

const { gc } = globalThis as unknown as { gc(): void };

const backends: Deno.Conn[] = [];
const buffers = Array.from({ length: 2 * STREAMS }, () => new Uint8Array(1024));
using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
accept();
using proxy = new TestProxy([listener.addr.port]);
const clients: Deno.Conn[] = [];
for (let i = 0; i < STREAMS; i++) {
  const client = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
  clients.push(client);
  await client.write(REQUEST);
  await client.read(buffers[i]);
}
const before = await external();
for (let event = 0; event < EVENTS; event++) {
  await Promise.all(backends.map((backend) => backend.write(EVENT)));
  await Promise.all(clients.map((client, i) => client.read(buffers[i])));
}
console.log(JSON.stringify((await external() - before) / STREAMS));
Deno.exit(0);

/** What a collection frees outside of the heap is counted at the next one. */
async function external(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    gc();
    await new Promise((resume) => setTimeout(resume, 1));
  }
  return Deno.memoryUsage().external;
}

async function accept(): Promise<void> {
  for await (const backend of listener) {
    backends.push(backend);
    await backend.read(buffers[STREAMS + backends.length - 1]);
    await backend.write(new TextEncoder().encode(HEAD));
  }
}
