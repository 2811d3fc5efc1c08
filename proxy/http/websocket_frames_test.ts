import assert from "node:assert/strict";
import { FrameBoundary, goingAwayFrame, wholeFrame } from "./websocket_frames.ts";

/** A frame with a payload of so many bytes. */
function frame(opcode: number, length: number, masked: boolean): Uint8Array {
  const head = [0x80 | opcode];
  const mask = masked ? 0x80 : 0;
  if (length < 126) head.push(mask | length);
  else if (length < 65536) head.push(mask | 126, length >> 8, length & 255);
  else head.push(mask | 127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 255, length & 255);
  if (masked) head.push(1, 2, 3, 4);
  const bytes = new Uint8Array(head.length + length).fill(0x88);
  bytes.set(head);
  return bytes;
}

Deno.test("the end of frames of every length is found, however they are split", () => {
  for (const masked of [false, true]) {
    for (const length of [0, 1, 125, 126, 127, 128, 65535, 65536, 70000]) {
      const bytes = frame(2, length, masked);
      const two = new Uint8Array([...bytes, ...frame(1, 3, masked)]);
      const cuts = [1, 2, 3, 4, 9, 13, bytes.length - 1, bytes.length, bytes.length + 1];
      for (const cut of cuts.filter((cut) => cut > 0 && cut < two.length)) {
        const boundary = new FrameBoundary();
        assert.equal(boundary.isReached, true);
        boundary.pass(two.subarray(0, cut));
        const where = `${length} bytes, masked: ${masked}, cut at ${cut}`;
        assert.equal(boundary.isReached, cut === bytes.length, where);
        boundary.pass(two.subarray(cut));
        assert.equal(boundary.isReached, true, where);
        assert.equal(boundary.hasClosed, false, where);
      }
      const boundary = new FrameBoundary();
      for (const [index, byte] of bytes.entries()) {
        boundary.pass(new Uint8Array([byte]));
        assert.equal(boundary.isReached, index === bytes.length - 1);
      }
    }
  }
});

Deno.test("a Close frame is detected, including our own with status 1001 (going away)", () => {
  for (const masked of [false, true]) {
    const boundary = new FrameBoundary();
    boundary.pass(frame(1, 5, masked));
    assert.equal(boundary.hasClosed, false);
    const bytes = goingAwayFrame(masked);
    boundary.pass(bytes);
    assert.equal(boundary.hasClosed, true);
    assert.equal(boundary.isReached, true);
    const payload = [...bytes.subarray(-2)].map((byte, i) => byte ^ (masked ? bytes[2 + i] : 0));
    assert.deepEqual(payload, [0x03, 0xe9], "1001");
    assert.equal(bytes.length, masked ? 8 : 4);
  }
});

Deno.test("a whole frame is told from a part of one, from several, and from a Close frame", () => {
  for (const masked of [false, true]) {
    for (const length of [0, 1, 124, 125, 126, 127, 128, 300, 65535]) {
      const bytes = frame(2, length, masked);
      const where = `${length} bytes, masked: ${masked}`;
      const more = new Uint8Array([...bytes, 0x82, 0]);
      assert.equal(wholeFrame(more, bytes.length), bytes.length, where);
      for (const other of [0, 1, 2, 3, 4, 5, bytes.length - 1, bytes.length + 1]) {
        if (other !== bytes.length) assert.equal(wholeFrame(more, other), -1, `${where}: ${other}`);
      }
      const close = frame(8, length, masked);
      assert.equal(wholeFrame(close, close.length), -1, where);
    }
    const long = frame(2, 65536, masked);
    assert.equal(wholeFrame(long, long.length), -1, "its length needs eight bytes");
  }
});
