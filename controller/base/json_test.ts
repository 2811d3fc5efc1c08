import assert from "node:assert/strict";
import { asObject, asPort, fieldOf, quote, showSome, stableText } from "./json.ts";

Deno.test("only own properties are fields", () => {
  assert.equal(fieldOf({ a: 1 }, "a"), 1);
  assert.equal(fieldOf(JSON.parse('{"__proto__": 1}'), "__proto__"), 1);
  for (const name of ["constructor", "toString", "__proto__"]) {
    assert.equal(fieldOf({}, name), undefined);
  }
  for (const value of [null, undefined, 5, "text", [1]]) {
    assert.equal(fieldOf(value, "length"), undefined);
  }
});

Deno.test("an array is not an object", () => {
  assert.equal(asObject([]), null);
  assert.deepEqual(asObject({}), {});
});

Deno.test("ports are integers from 1 to 65535", () => {
  for (const port of [1, 80, 65535]) assert.equal(asPort(port), port);
  for (const port of [0, -1, 65536, 1.5, NaN, "80", null]) assert.equal(asPort(port), null);
});

Deno.test("a user's value is shown shortened, on one line, without control characters", () => {
  assert.equal(quote("/a%zz"), '"/a%zz"');
  assert.equal(quote('a"b\n\u001b[31m\u202e\u00e4'), '"a\\"b\\n\\u001b[31m\\u202e\\u00e4"');
  assert.equal(quote("a".repeat(1000)).length, 83);
  assert.equal(quote(5), "number 5");
  assert.equal(quote([]), "a list");
  assert.equal(quote(null), "nothing");
});

Deno.test("long lists are truncated", () => {
  assert.equal(showSome(["a", "b"]), "a, b");
  assert.equal(showSome([..."abcdefgh"]), "a, b, c, d, e and 3 more");
});

Deno.test("equal JSON values have the same text in any order of keys", () => {
  assert.equal(
    stableText({ b: [{ d: 1, c: 2 }], a: 0 }),
    stableText({ a: 0, b: [{ c: 2, d: 1 }] }),
  );
  assert.notEqual(stableText({ a: [1, 2] }), stableText({ a: [2, 1] }));
  assert.equal(stableText(undefined), "");
});

Deno.test("a private key in place of a name is not shown", () => {
  const key = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----\n";
  assert.equal(quote(key), '"-----BEGIN…"');
  assert.equal(quote(`name: ${key}`), '"name: -----BEGIN…"');
  assert.equal(quote("x".repeat(75) + key), `"${"x".repeat(75)}-----…"`);
});
