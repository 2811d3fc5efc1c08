/** SETTINGS as a peer may send them (RFC 9113 §6.5.2, RFC 8441 §3). */
import assert from "node:assert/strict";
import { errorName } from "./error_codes.ts";
import { writeSettings } from "./frame.ts";
import { PeerSettings } from "./settings.ts";

function read(peer: PeerSettings, pairs: readonly number[], isServer = true): string {
  const bytes = new Uint8Array(9 + pairs.length * 3);
  writeSettings(bytes, 0, pairs);
  const error = peer.read(bytes, 9, bytes.length, isServer);
  return error === null ? "" : `${errorName(error.code)}: ${error.text}`;
}

Deno.test("a peer's settings apply, the last value of each", () => {
  const peer = new PeerSettings();
  assert.ok(!peer.isKnown);
  assert.equal(read(peer, [1, 0, 3, 7, 4, 5, 4, 6, 5, 65_536, 6, 100, 8, 1, 0xffff, 1]), "");
  assert.deepEqual({ ...peer }, {
    isKnown: true,
    tableSize: 0,
    smallestTableSize: 0,
    maxStreams: 7,
    initialWindow: 6,
    maxFrameSize: 65_536,
    maxHeaderListSize: 100,
    enableConnect: true,
  });
});

Deno.test("a table size that shrinks and grows in one SETTINGS frame applies the smaller one in between", () => {
  const peer = new PeerSettings();
  assert.equal(read(peer, [1, 64, 1, 4096]), "");
  assert.deepEqual([peer.smallestTableSize, peer.tableSize], [64, 4096]);
  assert.equal(read(peer, [4, 5]), "");
  assert.deepEqual([peer.smallestTableSize, peer.tableSize], [Infinity, 4096]);
});

const WRONG: readonly [pairs: readonly number[], isServer: boolean, error: RegExp][] = [
  [[2, 2], true, /^PROTOCOL_ERROR: .*ENABLE_PUSH/],
  [[2, 1], false, /^PROTOCOL_ERROR: .*ENABLE_PUSH/],
  [[4, 0x80000000], true, /^FLOW_CONTROL_ERROR: .*INITIAL_WINDOW_SIZE/],
  [[4, 0x80000000, 4, 1], true, /^FLOW_CONTROL_ERROR/],
  [[5, 16_383], true, /^PROTOCOL_ERROR: .*MAX_FRAME_SIZE/],
  [[5, 16_777_216], true, /^PROTOCOL_ERROR: .*MAX_FRAME_SIZE/],
  [[8, 2], true, /^PROTOCOL_ERROR: .*CONNECT/],
  [[8, 1, 8, 0], false, /^PROTOCOL_ERROR: .*CONNECT/],
];

for (const [pairs, isServer, error] of WRONG) {
  Deno.test(`SETTINGS ${pairs} from a ${isServer ? "client" : "server"} are rejected`, () => {
    assert.match(read(new PeerSettings(), pairs, isServer), error);
  });
}

Deno.test("a client may enable push, and gets none", () => {
  assert.equal(read(new PeerSettings(), [2, 1]), "");
});
