import assert from "node:assert/strict";
import { compareRevisions, isRevision, newestRevision, oldestRevision } from "./revision.ts";

Deno.test("resource versions are compared as numbers of any size", () => {
  const ascending = ["0", "9", "10", "99", "100", "18446744073709551615", "18446744073709551616"];
  for (const [i, a] of ascending.entries()) {
    for (const [j, b] of ascending.entries()) {
      assert.equal(Math.sign(compareRevisions(a, b)), Math.sign(i - j), `${a} and ${b}`);
    }
  }
});

Deno.test("only digits without leading zeros are a resource version", () => {
  for (const text of ["1", "0", "123456789012345678901"]) assert.ok(isRevision(text), text);
  for (const value of ["", "01", "-1", "1.5", "1e3", " 1", "abc", 5, null, "9".repeat(200)]) {
    assert.ok(!isRevision(value), String(value));
  }
});

Deno.test("the newest and the oldest of several versions are found; without versions they are 0", () => {
  assert.equal(newestRevision(["9", "10", "2"]), "10");
  assert.equal(oldestRevision(["9", "10", "2"]), "2");
  assert.equal(newestRevision([]), "0");
  assert.equal(oldestRevision([]), "0");
});
