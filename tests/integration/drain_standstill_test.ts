/** A proxy that stands still while it drains: what waits in its accept queues is served. */
import assert from "node:assert/strict";
import { Backend } from "../support/backend.ts";
import type { Dialling } from "../support/dialling_worker.ts";
import type { ProxyServer } from "../../proxy/server.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { authority, certificateFor, TlsProxy } from "../support/tls_proxy.ts";

/** More than Deno accepts in one turn of the event loop (128), and fewer than fit the queue (511). */
const CLIENTS = 400;

/** Milliseconds from the end of the delay at which the process stands still: before, in, after. */
const MOMENTS = [-20, 5, 12];

const DELAY = 60;

const REQUEST = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

type Clients = Pick<Dialling, "port" | "authority">;

/** The statuses of requests that come while a drain begins, and the process stands still. */
async function statusesOf(server: ProxyServer, clients: Clients, moment: number) {
  const url = new URL("../support/dialling_worker.ts", import.meta.url);
  const worker = new Worker(url, { type: "module" });
  try {
    const made = new Int32Array(new SharedArrayBuffer(4));
    const answered = new Promise<number[]>((resolve) =>
      worker.onmessage = ({ data }) => resolve(data)
    );
    const dialling: Dialling = { ...clients, count: CLIENTS, request: REQUEST, made };
    setTimeout(() => {
      worker.postMessage(dialling);
      for (let count = 0; count < CLIENTS; count = Atomics.load(made, 0)) {
        Atomics.wait(made, 0, count, 1_000);
      }
      // Longer than anything that is waited for.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    }, DELAY + moment);
    await server.drain({ delay: DELAY, timeout: 10_000 });
    return [...new Set(await answered)];
  } finally {
    worker.terminate();
  }
}

for (const moment of MOMENTS) {
  const when = moment < 0 ? `${-moment} ms before` : `${moment} ms after`;
  Deno.test(`connections that arrive while a process is suspended are served, ${when} its drain delay ends`, async () => {
    await using backend = new Backend();
    using proxy = new TestProxy([backend.port]);
    const clients = { port: proxy.port };
    assert.deepEqual(await statusesOf(proxy.server, clients, moment), [200]);
  });

  Deno.test(`TLS connections that arrive while a process is suspended are served, ${when} its drain delay ends`, async () => {
    await using backend = new Backend();
    const certificates = [await certificateFor("a", { names: ["a.test"] })];
    using proxy = await TlsProxy.start({ certificates, endpoints: [backend.port] });
    const clients = { port: proxy.port, authority: authority.certificate };
    assert.deepEqual(await statusesOf(proxy.server, clients, moment), [200]);
  });
}
