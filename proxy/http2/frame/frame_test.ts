/** Frames as bytes, as RFC 9113 §4.1 and §6 draw them. */
import assert from "node:assert/strict";
import {
  GOAWAY,
  PREFACE,
  readUint24,
  readUint31,
  readUint32,
  writeFrameHeader,
  writeGoaway,
  writePing,
  writeRstStream,
  writeSettings,
  writeSettingsAck,
  writeWindowUpdate,
} from "./frame.ts";

function written(write: (out: Uint8Array, at: number) => number): string {
  const out = new Uint8Array(64).fill(0xee);
  const end = write(out, 2);
  assert.equal(out[1], 0xee);
  assert.equal(out[end], 0xee);
  return out.subarray(2, end).toHex();
}

const WRITTEN: readonly [
  what: string,
  bytes: string,
  write: (o: Uint8Array, at: number) => number,
][] = [
  [
    "a frame's header",
    "012345" + "07" + "09" + "7fffffff",
    (out, at) => writeFrameHeader(out, at, 0x012345, GOAWAY, 9, 0x7fffffff),
  ],
  ["RST_STREAM", "000004030000000003" + "00000008", (o, at) => writeRstStream(o, at, 3, 8)],
  [
    "WINDOW_UPDATE",
    "000004080000000000" + "7fffffff",
    (out, at) => writeWindowUpdate(out, at, 0, 0x7fffffff),
  ],
  [
    "SETTINGS",
    "00000c040000000000" + "000300000080" + "000400010000",
    (out, at) => writeSettings(out, at, [3, 128, 4, 65_536]),
  ],
  ["SETTINGS ACK", "000000040100000000", writeSettingsAck],
  [
    "PING ACK",
    "000008060100000000" + "0102030405060708",
    (out, at) => writePing(out, at, 1, Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7, 8), 1),
  ],
  [
    "GOAWAY with a debug text",
    "00000b070000000000" + "00000005" + "0000000b" + "686579",
    (out, at) => writeGoaway(out, at, 5, 0xb, "hey"),
  ],
];

for (const [what, bytes, write] of WRITTEN) {
  Deno.test(`${what} is encoded correctly`, () => {
    assert.equal(written(write), bytes);
  });
}

Deno.test("numbers are read unsigned, ids without the reserved bit", () => {
  const bytes = Uint8Array.of(0xff, 0xff, 0xff, 0xff);
  assert.equal(readUint24(bytes, 0), 0xffffff);
  assert.equal(readUint31(bytes, 0), 0x7fffffff);
  assert.equal(readUint32(bytes, 0), 0xffffffff);
});

Deno.test("the preface is that of §3.4", () => {
  assert.equal(
    PREFACE.toHex(),
    "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a",
  );
});
