/** Bugs that the fuzzers and the peers have found. In: the stream that showed one. Out: its reading. */
import assert from "node:assert/strict";
import { serve } from "./connections.ts";
import { bytesOf } from "../support/latin1.ts";

/** `serve` lends its buffers as a busy proxy does: one given back too early holds rubbish at once. */

Deno.test("a request behind a long body in the same read keeps its head", async () => {
  const long = `POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n${"x".repeat(70_000)}`;
  const stream = `${long}GET /2 HTTP/1.1\r\nHost: a\r\nX-Mine: 1\r\n\r\n`;
  const [, second] = await serve(bytesOf(stream), [100]);
  assert.equal(second, '["GET","/2","","Host=a","X-Mine=1"] ""');
});

Deno.test("a head stays valid while its body arrives after it", async () => {
  const head = "POST / HTTP/1.1\r\nHost: a\r\nX-Mine: 1\r\n";
  const content = "x".repeat(100);
  const bodies = {
    "Content-Length: 100": content,
    "Transfer-Encoding: chunked": `64\r\n${content}\r\n0\r\n\r\n`,
  };
  for (const [framing, body] of Object.entries(bodies)) {
    const start = `${head}${framing}\r\n\r\n`;
    const events = await serve(bytesOf(start + body), [start.length, start.length + 1]);
    const field = framing.replace(": ", "=");
    assert.deepEqual(events, [`["POST","/","","Host=a","X-Mine=1","${field}"] "${content}"`]);
  }
});

Deno.test("data after a long body is read in order, whatever its length", async () => {
  for (const count of [1, 100, 2000]) {
    const long = `PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n${"x".repeat(9000)}`;
    const requests = Array.from(
      { length: count },
      (_, i) => `GET /${i} HTTP/1.1\r\nHost: a\r\n\r\n`,
    );
    const [, ...behind] = await serve(bytesOf(long + requests.join("")), []);
    assert.deepEqual(behind, requests.map((_, i) => `["GET","/${i}","","Host=a"] ""`));
  }
});
