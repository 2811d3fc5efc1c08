import assert from "node:assert/strict";
import { answerOf, DONE, PARTIAL, REFUSED } from "./http_answer.ts";

const SIZED = "HTTP/1.1 200 OK\r\nServer: x\r\nContent-LENGTH:  6\r\nDate: y\r\n\r\nhello\n";
const CHUNKED =
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello\n\r\n3\r\n10\n\r\n0\r\n\r\n";

/** What was in the buffer before must not matter. */
function read(text: string): number {
  const bytes = new Uint8Array(512).fill(10);
  const { written } = new TextEncoder().encodeInto(text, bytes);
  return answerOf(bytes, written);
}

for (const [name, whole] of [["with a length", SIZED], ["in chunks", CHUNKED]]) {
  Deno.test(`a response ${name} is complete with its last byte, and not before`, () => {
    for (let length = 0; length < whole.length; length++) {
      assert.equal(read(whole.slice(0, length)), PARTIAL, `${length} bytes`);
    }
    assert.equal(read(whole), DONE);
  });
}

const REFUSALS: readonly (readonly [string, string])[] = [
  ["another status", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"],
  ["an older version", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"],
  ["no end but that of the connection", "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n"],
];
for (const [name, text] of REFUSALS) {
  Deno.test(`a response with ${name} is rejected`, () => assert.equal(read(text), REFUSED));
}
