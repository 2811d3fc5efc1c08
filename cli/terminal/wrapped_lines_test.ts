import assert from "node:assert/strict";
import { wrapLine } from "./wrapped_lines.ts";

const LINES: readonly (readonly [line: string, columns: number, wrapped: readonly string[]])[] = [
  ["short", 40, ["short"]],
  ["", 40, [""]],
  ["one two three", 8, ["one two", "  three"]],
  ["    one two three", 11, ["    one two", "      three"]],
  ["see https://app.example.com/a/long/path now", 16, [
    "see",
    "  https://app.example.com/a/long/path",
    "  now",
  ]],
  ["name    value", 40, ["name    value"]],
  ["\u001b[1mone\u001b[22m two", 7, ["\u001b[1mone\u001b[22m two"]],
  ["no end", Infinity, ["no end"]],
];

for (const [line, columns, wrapped] of LINES) {
  Deno.test(`${JSON.stringify(line)} takes ${wrapped.length} lines of ${columns} columns`, () => {
    assert.deepEqual(wrapLine(line, columns), wrapped);
  });
}
