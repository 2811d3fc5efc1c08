import assert from "node:assert/strict";
import { asciiBytes, fieldsOf } from "./fields.ts";
import { connectionOptions, dropNamed, readContentLength, splitList } from "./field_values.ts";

Deno.test("a length is digits below 2^53, and nothing else", () => {
  const read = (text: string) => {
    const bytes = asciiBytes(`1${text}1`);
    return readContentLength(bytes, 1, 1 + text.length);
  };
  const accepted = ["0", "7", "10", "0005", "9007199254740991", "0000000000000042"];
  for (const text of accepted) assert.equal(read(text), parseInt(text, 10), text);
  const refused = ["", " ", "+1", "-1", "1 ", "0x1", "1e3", "1.0", "1_0", "²", "9007199254740992"];
  for (const text of [...refused, "00000000000000001", "18446744073709551617"]) {
    assert.equal(read(text), -1, text);
  }
});

Deno.test("a list keeps its empty elements for its reader to check", () => {
  assert.deepEqual(splitList("a,\tb ,c d"), ["a", "b", "c d"]);
  assert.deepEqual(splitList(", a,,"), ["", "a", "", ""]);
  assert.deepEqual(splitList(""), [""]);
  assert.deepEqual(splitList("\u00a0a"), ["\u00a0a"]);
});

Deno.test("a name drops all its fields in any case, and no other", () => {
  const fields = fieldsOf([["X-A", "1"], ["X-AB", "2"], ["x-a", "3"], ["X-", "4"]]);
  dropNamed(fields, asciiBytes("x-a"));
  const kept = fields.copy();
  assert.deepEqual([kept.name(0), kept.name(1), kept.count], ["X-AB", "X-", 2]);
});

Deno.test("spaces inside an element stay, those around it are removed", () => {
  assert.deepEqual(splitList(" \t a \t b\t ,\t, "), ["a \t b", "", ""]);
});

Deno.test("connection options come from all lines, in lower case", () => {
  const read = (...values: string[]) =>
    connectionOptions(fieldsOf([["X", "y"], ...values.map((v) => ["Connection", v] as const)]));
  const cases:
    readonly (readonly [values: readonly string[], options: readonly string[] | null])[] = [
      [["keep-alive"], ["keep-alive"]],
      [["Keep-Alive", "X-A ,\tClose"], ["keep-alive", "x-a", "close"]],
      [["", ", close,,"], ["close"]],
      [["keep\t-alive"], null],
      [["x y"], null],
      [["close, x y"], null],
      [["x;y"], null],
      [["\u00e9"], null],
      [[Array(32).fill("a").join()], Array(32).fill("a")],
      [[Array(33).fill("a").join()], null],
      [Array(32).fill("keep-alive"), Array(32).fill("keep-alive")],
      [Array(33).fill("keep-alive"), null],
      [[Array(17).fill("a").join(), Array(16).fill("b").join()], null],
      [[",".repeat(32)], null],
    ];
  for (const [values, options] of cases) {
    assert.deepEqual(read(...values), options, JSON.stringify(values).slice(0, 80));
  }
});
