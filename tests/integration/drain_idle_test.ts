import assert from "node:assert/strict";
import { Backend, playOk } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

/** In another thread, as this one is to stand still: a request, and at a sign a second one. */
const CLIENT = `
  self.onmessage = async ({ data: { port, sign } }) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const buffer = new Uint8Array(4096);
    const ask = async () => {
      await connection.write(new TextEncoder().encode("GET / HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n"));
    };
    const answer = async () => {
      const count = await connection.read(buffer).catch(() => null);
      return count === null ? "closed" : new TextDecoder().decode(buffer.subarray(0, count));
    };
    await ask();
    self.postMessage(await answer());
    Atomics.wait(sign, 0, 0);
    await ask();
    Atomics.store(sign, 1, 1);
    self.postMessage(await answer());
    connection.close();
  };
`;

/** Longer than a draining connection may be idle, in ms. */
const STANDSTILL = 1_000;

Deno.test("a request that arrived while the proxy was suspended gets its response during a drain", async () => {
  await using backend = new Backend(playOk);
  using proxy = new TestProxy([backend.port]);
  const url = URL.createObjectURL(new Blob([CLIENT], { type: "text/javascript" }));
  const client = new Worker(url, { type: "module" });
  try {
    let answers = Promise.withResolvers<string>();
    client.onmessage = ({ data }) => answers.resolve(data);
    const sign = new Int32Array(new SharedArrayBuffer(8));
    client.postMessage({ port: proxy.port, sign });
    assert.match(await answers.promise, /^HTTP\/1\.1 200 /);
    answers = Promise.withResolvers();
    const drained = proxy.server.drain({ delay: 0, timeout: 10_000 });
    // Time passes and bytes come, while no read and no timer gets its turn.
    const end = performance.now() + STANDSTILL;
    Atomics.store(sign, 0, 1);
    Atomics.notify(sign, 0);
    while (performance.now() < end || Atomics.load(sign, 1) === 0);
    const answer = await answers.promise;
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.match(answer, /\r\nConnection: close\r\n/);
    await drained;
  } finally {
    client.terminate();
    URL.revokeObjectURL(url);
  }
});
