import assert from "node:assert/strict";
import { Redacted } from "../redacted.ts";
import { isSamePart } from "./equality.ts";

Deno.test("parts are equal if every field is, including keys", () => {
  const table: [a: unknown, b: unknown, same: boolean][] = [
    [{ x: 1 }, { x: 1 }, true],
    [{ x: 1, y: undefined }, { x: 1 }, true],
    [{ x: 1 }, { x: 1, y: undefined }, true],
    [{ x: 1 }, { x: 1, y: 2 }, false],
    [{ x: 1, y: 2 }, { x: 1 }, false],
    [{ x: 1 }, { y: 1 }, false],
    [{ x: 1, y: 2 }, { y: 2, x: 1 }, true],
    [[1, { x: [] }], [1, { x: [] }], true],
    [[1, 2], [2, 1], false],
    [[1], [1, 2], false],
    [[], {}, false],
    [null, {}, false],
    [null, null, true],
    [JSON.parse('{"__proto__":1}'), {}, false],
    [{}, JSON.parse('{"__proto__":1}'), false],
    [new Redacted("key 1"), new Redacted("key 1"), true],
    [new Redacted("key 1"), new Redacted("key 2"), false],
    [{ pem: new Redacted("key 1") }, { pem: new Redacted("key 2") }, false],
    [new Redacted("key 1"), {}, false],
  ];
  for (const [a, b, same] of table) {
    assert.equal(isSamePart(a, b), same, JSON.stringify([a, b]));
    assert.equal(isSamePart(b, a), same, JSON.stringify([b, a]));
  }
});
