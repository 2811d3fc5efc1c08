import assert from "node:assert/strict";
import { wrapLine } from "./wrapped_lines.ts";

const LINES: readonly (readonly [line: string, columns: number, wrapped: readonly string[]])[] = [
  ["short", 40, ["short"]],
  ["", 40, [""]],
  ["one two three", 9, ["one two", "  three"]],
  ["    one two three", 13, ["    one two", "      three"]],
  ["see https://app.example.com/a/long/path now", 16, [
    "see",
    "  https://app.example.com/a/long/path",
    "  now",
  ]],
  ["name    value", 40, ["name    value"]],
  ["no end", Infinity, ["no end"]],
];

for (const [line, columns, wrapped] of LINES) {
  Deno.test(`${JSON.stringify(line)} takes ${wrapped.length} lines of ${columns} columns`, () => {
    assert.deepEqual(wrapLine(line, columns), wrapped);
  });
}
