/** Flow-control windows (RFC 9113 §6.9). */
import assert from "node:assert/strict";
import { ReceiveWindow, SendWindow } from "./window.ts";

Deno.test("a window to send by grows to 2^31-1, and not beyond", () => {
  const window = new SendWindow();
  window.available = 65_535;
  assert.ok(window.grow(0x7fffffff - 65_535));
  assert.equal(window.available, 0x7fffffff);
  assert.ok(!window.grow(1));
});

Deno.test("a window to send by may become negative, and has to grow out of that", () => {
  const window = new SendWindow();
  window.available = 10;
  assert.ok(window.grow(-100));
  assert.equal(window.available, -90);
  assert.ok(window.grow(91));
  assert.equal(window.available, 1);
});

Deno.test("no byte more may come than was granted", () => {
  const window = new ReceiveWindow(100);
  assert.ok(window.take(100));
  assert.ok(!window.take(1));
});

Deno.test("what is consumed is given back by halves", () => {
  const window = new ReceiveWindow(100);
  window.take(100);
  assert.equal(window.give(49), 0);
  assert.equal(window.give(1), 50);
  assert.ok(window.take(50));
  assert.ok(!window.take(1));
});

Deno.test("a peer that does not know a smaller window yet may send beyond it", () => {
  const window = new ReceiveWindow(100);
  window.reset(50);
  assert.ok(window.take(150));
  assert.ok(!window.take(1));
  window.reset(0);
  assert.ok(!window.take(101));
});
