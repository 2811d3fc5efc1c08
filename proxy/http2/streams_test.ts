/** What became of a stream's id (RFC 9113 §5.1, §5.1.1). */
import assert from "node:assert/strict";
import type { Stream } from "./stream.ts";
import { Streams } from "./streams.ts";

Deno.test("ids above the last one are idle, lower ones closed", () => {
  const streams = new Streams<Stream>(true);
  assert.equal(streams.fate(1), "idle");
  streams.openedByPeer(1);
  streams.openedByPeer(3);
  assert.equal(streams.fate(1), "closed");
  assert.equal(streams.fate(3), "closed");
  assert.equal(streams.fate(5), "idle");
});

Deno.test("skipped ids were never open", () => {
  const streams = new Streams<Stream>(true);
  streams.openedByPeer(5);
  streams.openedByPeer(9);
  assert.deepEqual([1, 3, 5, 7, 9].map((id) => streams.fate(id)), [
    "skipped",
    "skipped",
    "closed",
    "skipped",
    "closed",
  ]);
});

Deno.test("the memory for a client that keeps skipping ids is bounded", () => {
  const streams = new Streams<Stream>(true);
  for (let id = 1; id < 4_000; id += 4) streams.openedByPeer(id);
  assert.equal(streams.fate(3), "skipped");
  assert.equal(streams.fate(3_999 - 4), "closed");
});

Deno.test("a stream that we reset is known until the peer resets it too", () => {
  const streams = new Streams<Stream>(true);
  streams.openedByPeer(1);
  streams.wasReset(1);
  assert.equal(streams.fate(1), "reset");
  streams.resetByBoth(1);
  assert.equal(streams.fate(1), "closed");
});

Deno.test("of many reset streams the most recent are known", () => {
  const streams = new Streams<Stream>(true);
  for (let id = 1; id < 2_000; id += 2) {
    streams.openedByPeer(id);
    streams.wasReset(id);
  }
  assert.equal(streams.fate(1), "closed");
  assert.equal(streams.fate(1_999), "reset");
  assert.equal(streams.fate(1_999 - 2 * 255), "reset");
});

Deno.test("thousands of streams of ours that we reset are known", () => {
  const streams = new Streams<Stream>(false);
  for (let id = 1; id < 10_000; id += 2) streams.wasReset(id);
  streams.nextId = 10_001;
  assert.equal(streams.fate(1), "closed");
  assert.equal(streams.fate(9_999), "reset");
  assert.equal(streams.fate(9_999 - 2 * 4_095), "reset");
});

Deno.test("ids of the other side are idle until we have opened them", () => {
  const server = new Streams<Stream>(true);
  assert.equal(server.fate(2), "idle");
  const client = new Streams<Stream>(false);
  assert.equal(client.fate(1), "idle");
  client.nextId = 5;
  assert.equal(client.fate(3), "closed");
  assert.equal(client.fate(5), "idle");
  assert.equal(client.fate(2), "idle");
});
