import assert from "node:assert/strict";
import { acceptOf, BINARY, encodeFrame, frameLength, unmask } from "./websocket_frame.ts";

Deno.test("a key gets the accept value of the RFC's example", () => {
  assert.equal(acceptOf("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
});

Deno.test("a client's frame is returned as the server's frame with the same message", () => {
  for (const length of [0, 1, 5, 125]) {
    const message = new Uint8Array(length).map((_, index) => index);
    const sent = encodeFrame(BINARY, message, true);
    assert.equal(frameLength(sent, 0, sent.length), sent.length);
    assert.deepEqual(unmask(sent), encodeFrame(BINARY, message, false));
  }
});

Deno.test("an incomplete frame is waited for, and an oversized one is an error", () => {
  const frame = encodeFrame(BINARY, new Uint8Array(32), true);
  assert.equal(frameLength(frame, 0, frame.length - 1), 0);
  assert.equal(frameLength(frame, 0, 1), 0);
  assert.equal(frameLength(Uint8Array.of(0x82, 126, 1, 0), 0, 4), -1);
});
