import assert from "node:assert/strict";
import { type Lines, LineSplitter } from "./lines.ts";

const encoder = new TextEncoder();

function splitAll(splitter: LineSplitter, chunks: readonly Uint8Array[]) {
  const lines: string[] = [];
  let last: Lines = { ok: true, lines: [] };
  for (const chunk of chunks) {
    last = splitter.push(chunk);
    lines.push(...last.lines);
  }
  return { lines, reason: last.ok ? null : last.reason };
}

Deno.test("lines are the same wherever the chunks of a stream end", () => {
  const text = '{"a":"ä€😀"}\n\r\n\n{"b":1}\r\nmore\u2028same\n{"cut":';
  const expected = ['{"a":"ä€😀"}', '{"b":1}', "more\u2028same"];
  const bytes = encoder.encode(text);
  assert.deepEqual(splitAll(new LineSplitter(100), [bytes]).lines, expected);
  for (let i = 0; i <= bytes.length; i++) {
    for (let j = i; j <= bytes.length; j++) {
      const chunks = [bytes.subarray(0, i), bytes.subarray(i, j), bytes.subarray(j)];
      const { lines, reason } = splitAll(new LineSplitter(100), chunks);
      assert.deepEqual(lines, expected, `cut at ${i} and ${j}`);
      assert.equal(reason, null);
    }
  }
  const single = [...bytes].map((byte) => new Uint8Array([byte]));
  assert.deepEqual(splitAll(new LineSplitter(100), single).lines, expected);
});

Deno.test("a line truncated at the end of a stream is ignored", () => {
  const splitter = new LineSplitter(100);
  assert.deepEqual(splitAll(splitter, [encoder.encode('{"a":1}\n{"b"')]).lines, ['{"a":1}']);
  assert.equal(splitter.pendingBytes, 4);
});

Deno.test("a line may be as long as the limit in bytes, and no longer", () => {
  const table: [text: string, lines: string[], isBroken: boolean][] = [
    ["12345678\n", ["12345678"], false],
    ["12345678\r\n", ["12345678"], false],
    ["123456789\n", [], true],
    ["123456789\r\n", [], true],
    // Without an end: what may still be the CR of one is waited for.
    ["12345678", [], false],
    ["12345678\r", [], false],
    ["1234567890", [], true],
    ["ääää\n", ["ääää"], false],
    ["ääääa\n", [], true],
    ["1\n123456789\n2\n", ["1"], true],
  ];
  for (const [text, lines, isBroken] of table) {
    const bytes = encoder.encode(text);
    const single = [...bytes].map((byte) => new Uint8Array([byte]));
    for (const chunks of [[bytes], single]) {
      const split = splitAll(new LineSplitter(8), chunks);
      assert.deepEqual(split.lines, lines, JSON.stringify(text));
      const reason = isBroken ? "a line is longer than 8 bytes" : null;
      assert.equal(split.reason, reason, JSON.stringify(text));
    }
  }
});

Deno.test("a long line in small chunks is rejected at the limit, not at its end", () => {
  const splitter = new LineSplitter(1000);
  const chunk = encoder.encode("x".repeat(100));
  let pushed = 0;
  while (splitter.push(chunk).ok) {
    pushed++;
    assert.ok(pushed <= 10);
  }
  assert.equal(splitter.pendingBytes, 0);
});

Deno.test("a stream is not read any further after invalid UTF-8", () => {
  const invalid = [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc3]];
  for (const bytes of invalid) {
    const splitter = new LineSplitter(100);
    const { lines, reason } = splitAll(splitter, [
      encoder.encode("1\n"),
      new Uint8Array([...bytes, 0x0a]),
      encoder.encode("2\n"),
    ]);
    assert.deepEqual(lines, ["1"]);
    assert.equal(reason, "a line is not UTF-8");
  }
});

Deno.test("the bytes of a chunk may be reused", () => {
  const splitter = new LineSplitter(100);
  const buffer = encoder.encode("abc");
  splitter.push(buffer);
  buffer.set(encoder.encode("d\n!"));
  assert.deepEqual(splitter.push(buffer).lines, ["abcd"]);
});

Deno.test("NUL bytes and a byte order mark are passed on unchanged", () => {
  const { lines } = splitAll(new LineSplitter(100), [encoder.encode("\ufeffa\0b\n")]);
  assert.deepEqual(lines, ["\ufeffa\0b"]);
});
