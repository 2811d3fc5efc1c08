import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { MAX_REPORT_BYTES } from "../../shared/stream/protocol.ts";
import { EarlyBody } from "./early_body.ts";

/** A request whose chunks the test chooses, and whether its connection was ended. */
function playedRequest() {
  const state = { isEnded: false };
  const request = Object.assign(new EventEmitter(), {
    socket: { destroy: () => state.isEnded = true },
  });
  return { request: request as unknown as IncomingMessage, state };
}

Deno.test("the body before a peer is known is handed over as one, the rest chunk by chunk", () => {
  const { request, state } = playedRequest();
  const early = new EarlyBody(request);
  const size = MAX_REPORT_BYTES / 256;
  for (let i = 0; i < 256; i++) request.emit("data", new Uint8Array(size).fill(i));
  assert.deepEqual([early.isBroken, state.isEnded], [false, false]);
  const got: Uint8Array[] = [];
  early.handOver((chunk) => void got.push(chunk));
  request.emit("data", new Uint8Array([7]));
  const whole = Uint8Array.from({ length: MAX_REPORT_BYTES }, (_, i) => Math.floor(i / size));
  assert.deepEqual(got, [whole, new Uint8Array([7])]);
});

for (const [title, size, count] of [["bytes", MAX_REPORT_BYTES, 1], ["chunks", 1, 256]] as const) {
  Deno.test(`a peer that says more ${title} than one report before it is known is cut off`, () => {
    const { request, state } = playedRequest();
    const early = new EarlyBody(request);
    for (let i = 0; i < count; i++) request.emit("data", new Uint8Array(size));
    assert.deepEqual([early.isBroken, state.isEnded], [false, false]);
    request.emit("data", new Uint8Array(1));
    request.emit("data", new Uint8Array(1));
    assert.deepEqual([early.isBroken, state.isEnded], [true, true]);
  });
}
