/** Deadlines of a proxy that has stood still, for want of CPU or frozen: what came meanwhile counts. */
import assert from "node:assert/strict";
import { Backend, playOk, until } from "../support/backend.ts";
import { data, headers, join, post, PREFACE, settings } from "../support/h2_frames.ts";
import { bytesOf } from "../support/latin1.ts";
import { TestProxy } from "../support/test_proxy.ts";

/** In another thread, as this one is to stand still: a part of a request, and at a sign the rest. */
const CLIENT = `
  self.onmessage = async ({ data: { port, sign, begins, ends } }) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(begins);
    Atomics.wait(sign, 0, 0);
    await connection.write(ends);
    Atomics.store(sign, 1, 1);
    const buffer = new Uint8Array(4096);
    let text = "";
    while (!/ok|stopped arriving/.test(text)) {
      const count = await connection.read(buffer).catch(() => null);
      if (count === null) break;
      text += new TextDecoder("latin1").decode(buffer.subarray(0, count));
    }
    connection.close();
    self.postMessage(text);
  };
`;

const BODY_TIMEOUT = 500;
/** Longer than that, in ms. */
const STANDSTILL = 1_500;

const HEAD = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n";

for (
  const [name, begins, ends] of [
    ["HTTP/1.1", bytesOf(`${HEAD}hello`), bytesOf("world")],
    [
      "HTTP/2",
      join(PREFACE, settings(), headers(1, post("/")), data(1, "hello")),
      data(1, "world", { end: true }),
    ],
  ] as const
) {
  Deno.test(`a body that arrived while the proxy was suspended is in time: ${name}`, async () => {
    await using backend = new Backend(playOk);
    using proxy = new TestProxy([backend.port], { bodyTimeout: BODY_TIMEOUT }, { h2c: true });
    const url = URL.createObjectURL(new Blob([CLIENT], { type: "text/javascript" }));
    const client = new Worker(url, { type: "module" });
    try {
      const answer = new Promise<string>((resolve) => {
        client.onmessage = ({ data }) => resolve(data);
      });
      const sign = new Int32Array(new SharedArrayBuffer(8));
      client.postMessage({ port: proxy.port, sign, begins, ends });
      await until("the request's beginning", () => [...backend.open].some((it) => it.received > 0));
      // Time passes and bytes come, while no read and no timer gets its turn.
      const end = performance.now() + STANDSTILL;
      Atomics.store(sign, 0, 1);
      Atomics.notify(sign, 0);
      while (performance.now() < end || Atomics.load(sign, 1) === 0);
      assert.match(await answer, /ok/);
    } finally {
      client.terminate();
      URL.revokeObjectURL(url);
    }
  });
}

Deno.test("an endpoint that accepted a connection while the proxy stood still is used", async () => {
  await using backend = new Backend(playOk);
  using proxy = new TestProxy([backend.port], { connectTimeout: 200 });
  const connect = Deno.connect;
  // The kernel completes the handshake while neither a timer nor a read gets its turn.
  const standStill = (options: Deno.ConnectOptions) => {
    const connection = connect(options);
    if (options.port === backend.port) {
      for (const end = performance.now() + STANDSTILL; performance.now() < end;);
    }
    return connection;
  };
  try {
    Deno.connect = standStill as typeof Deno.connect;
    const client = await connect({ hostname: "127.0.0.1", port: proxy.port });
    await client.write(bytesOf("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"));
    const answer = await new Response(client.readable).text();
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  } finally {
    Deno.connect = connect;
  }
});
