import assert from "node:assert/strict";
import { randomNumbers } from "../../tests/support/rich_cluster.ts";
import { asciiBytes, latin1 } from "../http/fields.ts";
import { CHUNK_FRAME_BYTES, ChunkDecoder, wholeChunks, writeChunkSize } from "./chunked.ts";

/** Decodes pieces that arrive one after another; the data, and what follows the last chunk. */
function decode(pieces: readonly string[]): { data: string; rest: string; error: string | null } {
  const decoder = new ChunkDecoder();
  decoder.begin();
  let data = "";
  let rest = "";
  for (const piece of pieces) {
    if (decoder.inTrailers) {
      rest += piece;
      continue;
    }
    // Not at the buffer's start: what stands before must be left alone.
    const bytes = asciiBytes("....." + piece);
    const error = decoder.decode(bytes, 5, bytes.length);
    if (error !== null) return { data, rest, error };
    assert.equal(latin1(bytes, 0, 5), ".....");
    data += latin1(bytes, decoder.dataStart, decoder.dataEnd);
    rest += latin1(bytes, decoder.consumed, bytes.length);
  }
  return { data, rest, error: null };
}

const BODY = '5\r\nhello\r\n1;a="\\"b"\r\n \r\nA ;x\r\nto the end\r\n000\r\nX: y\r\n\r\n';

Deno.test("the data of many chunks is one view, however they are split", () => {
  const expected = { data: "hello to the end", rest: "X: y\r\n\r\n", error: null };
  assert.deepEqual(decode([BODY]), expected);
  assert.deepEqual(decode([...BODY]), expected);
  for (let first = 0; first <= BODY.length; first++) {
    for (let second = first; second <= BODY.length; second += 7) {
      const pieces = [BODY.slice(0, first), BODY.slice(first, second), BODY.slice(second)];
      assert.deepEqual(decode(pieces), expected, JSON.stringify(pieces));
    }
  }
});

Deno.test("an error is reported at the first byte that proves it", async (t) => {
  const malformed: [before: string, byte: string, reason: RegExp][] = [
    ["", "\r", /without digits/],
    ["", " ", /without digits/],
    ["", "x", /without digits/],
    ["5", "x", /bad chunk size line/],
    ["5", "\n", /bad chunk size line/],
    ["5 ", "\r", /bad chunk size line/],
    ["5\r", "h", /without CRLF/],
    ["5;", "\r", /without a name/],
    ["5;a=", "\r", /without a value/],
    ['5;a="b', "\r", /bad byte in a chunk extension/],
    ['5;a="b\\', "\n", /bad byte in a chunk extension/],
    ['5;a="b"', "c", /bad chunk size line/],
    ["1\r\nx", "y", /longer than its size/],
    ["1\r\nx\r", "y", /without CRLF/],
    ["1ffffffffffff", "0", /too large/],
    [`1;${"a".repeat(4096)}`, "a", /extension too long/],
  ];
  for (const [before, byte, reason] of malformed) {
    await t.step(JSON.stringify(before.slice(0, 20) + byte), () => {
      assert.equal(decode([before]).error, null);
      assert.match(decode([before, byte]).error ?? "", reason);
      assert.match(decode([before + byte]).error ?? "", reason);
    });
  }
});

Deno.test("a decoder handles one body after another", () => {
  const decoder = new ChunkDecoder();
  for (const broken of ["5;a=", "5\r\nhel", "5\r\nhello\r", "0\r\n"]) {
    decoder.begin();
    const bytes = asciiBytes(broken);
    assert.equal(decoder.decode(bytes, 0, bytes.length), null);
    decoder.begin();
    const next = asciiBytes("2\r\nok\r\n0\r\n");
    assert.equal(decoder.decode(next, 0, next.length), null);
    assert.equal(latin1(next, decoder.dataStart, decoder.dataEnd), "ok");
    assert.equal(decoder.inTrailers, true);
  }
});

Deno.test("more framing than a body needs is rejected as abuse, plain chunks of one byte are not", () => {
  assert.equal(decode(["1\r\nx\r\n".repeat(100_000)]).error, null);
  assert.equal(decode([`1;${"a".repeat(12)}\r\nx\r\n`.repeat(10_000)]).error, null);
  const padded = decode([`1;${"a".repeat(1000)}\r\nx\r\n`.repeat(100)]);
  assert.match(padded.error ?? "", /more chunk framing than data/);
});

Deno.test("a size is written as the shortest hexadecimal digits, and is read back", () => {
  for (const size of [1, 9, 10, 15, 16, 255, 256, 4096, 65_535, 0x7fffffff, 0xffffffff]) {
    const bytes = new Uint8Array(CHUNK_FRAME_BYTES);
    const end = writeChunkSize(bytes, 0, size);
    assert.equal(latin1(bytes, 0, end), `${size.toString(16)}\r\n`);
  }
});

/** Chunks, and what is almost chunks, from a seed. */
function almostChunks(random: () => number): string {
  const pick = (items: readonly string[]) => items[Math.floor(random() * items.length)];
  let text = "";
  for (let count = 1 + random() * 3; count > 0; count--) {
    const data = pick(["a", "bc", "0", "\r\n", "x".repeat(16), "y".repeat(300)]);
    const size = data.length.toString(16);
    const sizes = [size.toUpperCase(), `0${size}`, `${size};x`, "0", "", "fffff", "3"];
    text += random() < 0.8 ? size : pick(sizes);
    text += random() < 0.9 ? "\r\n" : pick(["\n", " \r\n", "\r", ""]);
    text += data + (random() < 0.9 ? "\r\n" : pick(["\n", "", "\rz"]));
  }
  return random() < 0.3 ? text.slice(0, Math.floor(random() * text.length)) : text;
}

Deno.test("chunks are relayed unchanged only if the decoder reads them as whole chunks with the same data", () => {
  const random = randomNumbers(1);
  let relayed = 0;
  for (let i = 0; i < 20_000; i++) {
    const text = almostChunks(random);
    // What comes behind them in the buffer is no part of them.
    const bytes = new TextEncoder().encode(`${text}1\r\na\r\n`);
    const data = wholeChunks(bytes, text.length);
    const decoder = new ChunkDecoder();
    decoder.begin();
    const error = decoder.decode(bytes.slice(), 0, text.length);
    const isWhole = error === null && decoder.isBetweenChunks && !decoder.inTrailers &&
      decoder.consumed === text.length;
    if (data !== -1) {
      relayed++;
      assert.equal(isWhole, true, JSON.stringify(text));
      assert.equal(data, decoder.dataEnd - decoder.dataStart, JSON.stringify(text));
    } else if (isWhole) {
      assert.match(text, /;|(^|\n)0/, `${JSON.stringify(text)} could be relayed`);
    }
  }
  assert.ok(relayed > 1_000, `${relayed} relayed`);
});
