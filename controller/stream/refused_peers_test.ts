import assert from "node:assert/strict";
import { createLogger } from "../../shared/log.ts";
import { RefusedPeers } from "./refused_peers.ts";

const EXPIRED = { status: 401, reason: "a token is needed" } as const;
const NEWER = { status: 426, reason: "only protocol 1 of the stream is supported" } as const;

function scene() {
  const lines: Record<string, unknown>[] = [];
  const clock = { now: 0 };
  const log = createLogger({
    level: "info",
    format: "json",
    write: (line) => void lines.push(JSON.parse(line)),
  });
  return { lines, clock, peers: new RefusedPeers(log, () => clock.now) };
}

Deno.test("a proxy that is rejected repeatedly is logged once, with its address and version", () => {
  const { lines, peers } = scene();
  for (let i = 0; i < 100; i++) peers.refused("10.0.0.1", "pingress-proxy/2.0.0", NEWER);
  peers.refused("10.0.0.1", "pingress-proxy/2.0.0", EXPIRED);
  peers.refused("10.0.0.2", "forged\nlines/1", EXPIRED);
  assert.deepEqual(
    lines.map(({ level, peer, build, status }) => [level, peer, build, status]),
    [
      ["warn", "10.0.0.1", "2.0.0", 426],
      ["warn", "10.0.0.1", "2.0.0", 401],
      ["warn", "10.0.0.2", null, 401],
    ],
  );
});

Deno.test("a rejection is logged again after ten minutes, and after a stream", () => {
  const { lines, clock, peers } = scene();
  const refuse = () => peers.refused("10.0.0.1", undefined, EXPIRED);
  refuse();
  clock.now = 599_999;
  refuse();
  assert.equal(lines.length, 1);
  clock.now = 600_000;
  refuse();
  assert.equal(lines.length, 2);
  peers.welcomed("10.0.0.2");
  refuse();
  assert.equal(lines.length, 2);
  peers.welcomed("10.0.0.1");
  refuse();
  assert.equal(lines.length, 3);
});

Deno.test("a peer with many addresses, or alternating with a proxy, does not flood the log", () => {
  const { lines, clock, peers } = scene();
  for (let i = 0; i < 10_000; i++) {
    peers.refused(`10.0.${i >> 8}.${i & 255}`, undefined, EXPIRED);
    peers.welcomed(`10.0.${i >> 8}.${i & 255}`);
  }
  assert.equal(lines.length, 64);
  clock.now = 600_000;
  peers.refused("10.1.0.1", undefined, EXPIRED);
  assert.equal(lines.length, 65);
});
