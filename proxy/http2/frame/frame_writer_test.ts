/** Heads larger than a frame, and frames gathered for one write. */
import assert from "node:assert/strict";
import { createBuffers } from "../../io/buffer_pool.ts";
import { Deadlines } from "../../io/deadlines.ts";
import { ProxyError } from "../../errors.ts";
import { fieldsOf } from "../../http/fields.ts";
import { Output } from "../../io/output.ts";
import type { Transport } from "../../io/transport.ts";
import { readUint24 } from "./frame.ts";
import { FrameOutput } from "./frame_output.ts";
import { FrameWriter } from "./frame_writer.ts";
import { HeadBlock } from "../hpack/head_block.ts";
import { HpackDecoder } from "../hpack/decoder.ts";

/** A transport whose writes settle when the test says so. */
class HeldTransport implements Transport {
  readonly writes: Uint8Array[] = [];
  #settle: (() => void)[] = [];

  read(): Promise<number | null> {
    return new Promise(() => {});
  }
  write(view: Uint8Array): Promise<number> {
    this.writes.push(view.slice());
    return new Promise((resolve) => this.#settle.push(() => resolve(view.length)));
  }
  async settle(): Promise<void> {
    for (const settle of this.#settle.splice(0)) settle();
    await turn();
  }
  closeWrite(): Promise<void> {
    return Promise.resolve();
  }
  close(): void {}
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

function scene(): { transport: HeldTransport; out: FrameOutput; writer: FrameWriter } {
  const transport = new HeldTransport();
  const output = new Output(
    transport,
    new Deadlines(),
    0,
    0,
    null,
    () => new ProxyError("client_gone"),
  );
  const out = new FrameOutput(output, createBuffers());
  return { transport, out, writer: new FrameWriter(out) };
}

for (const size of [10, 16_000, 20_000, 50_000]) {
  Deno.test(`a head with a field of ${size} bytes is decoded to the same head`, async () => {
    const { transport, writer } = scene();
    const value = "~".repeat(size);
    writer.trailers(7, fieldsOf([["x-large", value], ["x-last", "1"]]));
    await turn();
    const [bytes] = transport.writes;
    const block: number[] = [];
    const types: string[] = [];
    for (let at = 0; at < bytes.length;) {
      const length = readUint24(bytes, at);
      assert.ok(length <= 16_384);
      assert.equal(bytes[at + 8], 7);
      types.push(`${bytes[at + 3]}:${bytes[at + 4]}`);
      block.push(...bytes.subarray(at + 9, at + 9 + length));
      at += 9 + length;
    }
    const continuations = Math.ceil(block.length / 16_384) - 1;
    const expected = continuations === 0 ? ["1:5"] : [
      "1:1",
      ...Array.from({ length: continuations - 1 }, () => "9:0"),
      "9:4",
    ];
    assert.deepEqual(types, expected);
    const head = new HeadBlock();
    head.begin(1 << 20, 10, true);
    const encoded = Uint8Array.from(block);
    assert.equal(new HpackDecoder(4096).decode(encoded, 0, encoded.length, head), null);
    assert.equal(head.fields.value(0), value);
    assert.equal(head.fields.name(1), "x-last");
  });
}

Deno.test("frames queued during a write are sent with the next one, in order", async () => {
  const { transport, out, writer } = scene();
  writer.windowUpdate(1, 1);
  writer.windowUpdate(1, 2);
  await turn();
  assert.equal(transport.writes.length, 1);
  writer.windowUpdate(1, 3);
  writer.windowUpdate(1, 4);
  await turn();
  assert.equal(transport.writes.length, 1);
  assert.ok(!out.isEmpty);
  await transport.settle();
  assert.equal(transport.writes.length, 2);
  const increments = transport.writes.flatMap((bytes) => [bytes[12], bytes[25]]);
  assert.deepEqual(increments, [1, 2, 3, 4]);
  await transport.settle();
  assert.ok(out.isEmpty);
});

Deno.test("streams wait while the write buffer is full, and resume once it is written", async () => {
  const { transport, out, writer } = scene();
  let calls = 0;
  out.onRoom = () => calls++;
  writer.ping();
  await turn();
  const view = new Uint8Array(16_384);
  while (out.room > 0) writer.data(1, view, 0, Math.min(out.room - 9, view.length), false);
  assert.equal(calls, 1);
  assert.equal(out.whenFlowing(), null);
  await transport.settle();
  assert.ok(calls > 1);
  assert.ok(out.room > 0);
  assert.ok(transport.writes[1].length <= 64 * 1024);
});

Deno.test("a peer that does not read is not read from once its write buffer is far over the limit", async () => {
  const { transport, out, writer } = scene();
  writer.ping();
  await turn();
  for (let i = 0; i < 25_000; i++) writer.windowUpdate(1, 1);
  const flowing = out.whenFlowing();
  assert.ok(flowing !== null);
  await transport.settle();
  await flowing;
  out.close();
  assert.equal(out.whenFlowing(), null);
});

Deno.test("a waiter is notified once everything is written", async () => {
  const { transport, out, writer } = scene();
  let isEmpty = false;
  out.whenEmpty(() => isEmpty = true);
  assert.ok(isEmpty);
  isEmpty = false;
  writer.ping();
  out.whenEmpty(() => isEmpty = true);
  await turn();
  assert.ok(!isEmpty);
  await transport.settle();
  assert.ok(isEmpty);
});
