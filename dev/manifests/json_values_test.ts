import assert from "node:assert/strict";
import { splitJsonObjects } from "./json_values.ts";

Deno.test("concatenated objects are separated, wherever braces are in text", () => {
  const text = ' {"a": "}{\\"{"}{"b": {"c": {}}}\n\t{"d"';
  assert.deepEqual(splitJsonObjects(text), [
    { start: 1, text: '{"a": "}{\\"{"}' },
    { start: 15, text: '{"b": {"c": {}}}' },
    { start: 33, text: '{"d"' },
  ]);
});

Deno.test("one object, YAML and anything else stay unsplit", () => {
  for (const text of ["", '{"a": 1}', "{a: 1}\n---\n{b: 2}", "a: {}", "[{}, {}]", "{} # x\n{}"]) {
    assert.equal(splitJsonObjects(text), null, text);
  }
});
