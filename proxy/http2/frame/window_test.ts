/** Flow-control windows (RFC 9113 §6.9). */
import assert from "node:assert/strict";
import { ReceiveWindow, SendWindow } from "./window.ts";

Deno.test("a send window grows to 2^31-1, and no further", () => {
  const window = new SendWindow();
  window.available = 65_535;
  assert.ok(window.grow(0x7fffffff - 65_535));
  assert.equal(window.available, 0x7fffffff);
  assert.ok(!window.grow(1));
});

Deno.test("a send window may become negative, and must become positive before data is sent", () => {
  const window = new SendWindow();
  window.available = 10;
  assert.ok(window.grow(-100));
  assert.equal(window.available, -90);
  assert.ok(window.grow(91));
  assert.equal(window.available, 1);
});

Deno.test("no more bytes are accepted than the window allows", () => {
  const window = new ReceiveWindow(100);
  assert.ok(window.take(100));
  assert.ok(!window.take(1));
});

Deno.test("consumed bytes are returned to the window by halves", () => {
  const window = new ReceiveWindow(100);
  window.take(100);
  assert.equal(window.give(49), 0);
  assert.equal(window.give(1), 50);
  assert.ok(window.take(50));
  assert.ok(!window.take(1));
});

Deno.test("consumed bytes are returned to a shared window by halves of what is not held", () => {
  const window = new ReceiveWindow(100, true);
  window.take(100);
  assert.equal(window.give(0), 0);
  // The peer may send nothing: each consumed byte is returned, also while 99 bytes are held.
  assert.equal(window.give(1), 1);
  assert.equal(window.give(20), 20);
  assert.equal(window.give(20), 0);
  assert.equal(window.give(1), 21);
  assert.ok(window.take(42));
  assert.ok(!window.take(1));
});

Deno.test("bytes are returned to a shared window no more often than to another where none are held", () => {
  const shared = new ReceiveWindow(100, true);
  const other = new ReceiveWindow(100);
  for (let i = 0; i < 500; i++) {
    shared.take(1);
    other.take(1);
    assert.equal(shared.give(1), other.give(1));
  }
});

Deno.test("a peer that has not acknowledged a smaller window yet may still use the larger one", () => {
  const window = new ReceiveWindow(100);
  window.reset(50);
  assert.ok(window.take(150));
  assert.ok(!window.take(1));
  window.reset(0);
  assert.ok(!window.take(101));
});
