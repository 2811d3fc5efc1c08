/** The client of HTTP/2 that other tests judge by: what it takes for a failure, and what not. */
import assert from "node:assert/strict";
import { until } from "../support/backend.ts";
import { Http2Backend } from "../support/http2_backend.ts";
import { Http2Client } from "../support/http2_client.ts";

Deno.test("a stream lasts as long as messages arrive", async () => {
  const patience = 200;
  await using backend = await Http2Backend.start();
  for (;;) {
    using client = await Http2Client.connect(backend.port, { patience });
    const call = client.call();
    const start = performance.now();
    let last = start;
    let longestPause = 0;
    const look = () => {
      const now = performance.now();
      longestPause = Math.max(longestPause, now - last);
      last = now;
    };
    try {
      while (last - start < 3 * patience) {
        assert.equal(await call.echo("a message"), "a message");
        await new Promise((resume) => setTimeout(resume, 5));
        look();
      }
      call.end();
      assert.equal((await call.answer).trailers["grpc-status"], "0");
      return;
    } catch (error) {
      look();
      // Where this process has stood still for so long, it is right to fail.
      if (longestPause < patience / 2) throw error;
    }
  }
});

Deno.test("a stream without messages fails with the reason", async () => {
  await using backend = await Http2Backend.start();
  using client = await Http2Client.connect(backend.port, { patience: 50 });
  const call = client.call();
  const why = /the stream was silent for 50 ms/;
  await assert.rejects(call.until(() => false), why);
  await assert.rejects(call.answer, why);
});

Deno.test("a connection that closes before a response has none", async () => {
  await using backend = await Http2Backend.start();
  using client = await Http2Client.connect(backend.port);
  const call = client.open({ method: "POST", path: "/upload" });
  await until("the request is there", () => backend.requests === 1);
  client.close();
  await assert.rejects(call.answer, /over without an answer/);
});
