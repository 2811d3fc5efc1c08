import assert from "node:assert/strict";
import { LineSplitter } from "./transport.ts";

function split(chunks: readonly Uint8Array[]): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.push(chunk);
  return lines;
}

const TEXT = '{"a":"ä€😀"}\n\n{"b":2}\r\n{"c":3}\nrest without an end';

Deno.test("lines are the same wherever chunks are split, also within a character", () => {
  const bytes = new TextEncoder().encode(TEXT);
  const expected = split([bytes]);
  assert.deepEqual(expected, ['{"a":"ä€😀"}', '{"b":2}\r', '{"c":3}']);
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const chunks = [
        bytes.subarray(0, first),
        bytes.subarray(first, second),
        bytes.subarray(second),
      ];
      assert.deepEqual(split(chunks), expected, `cut at ${first} and ${second}`);
    }
  }
});

Deno.test("a line longer than any object is rejected before it fills the memory", () => {
  const splitter = new LineSplitter(() => {});
  const chunk = new Uint8Array(1024 * 1024).fill(97);
  assert.throws(() => {
    for (let i = 0; i < 64; i++) splitter.push(chunk);
  }, /a line of more than/);
});

Deno.test("the length of a line does not count towards the next", () => {
  const chunk = new Uint8Array(1024 * 1024).fill(97);
  chunk[chunk.length - 1] = 10;
  assert.equal(split(Array.from({ length: 40 }, () => chunk)).length, 40);
});
