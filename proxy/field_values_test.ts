import assert from "node:assert/strict";
import { asciiBytes, fieldsOf } from "./fields.ts";
import { dropNamed, isKeepAlive, readContentLength, splitList } from "./field_values.ts";

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

Deno.test("a list keeps its empty elements, for its reader to judge", () => {
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

Deno.test("keep-alive alone is told from every other value, in any case", () => {
  const read = (value: string) => isKeepAlive(fieldsOf([["X", "y"], ["Connection", value]]), 1);
  for (const value of ["keep-alive", "Keep-Alive", "KEEP-ALIVE"]) assert.ok(read(value), value);
  const others = [
    "",
    "close",
    "keep-aliv",
    "keep-alive,",
    "keep-alive, x",
    "keep\t-alive",
    "keep_alive",
  ];
  for (const value of others) assert.ok(!read(value), value);
});
