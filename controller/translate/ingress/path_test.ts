import assert from "node:assert/strict";
import { looksLikePattern, readPath, readPathType } from "./path.ts";

Deno.test("paths become the corresponding match", () => {
  const cases: readonly ["Exact" | "Prefix", string, string, boolean][] = [
    ["Prefix", "/", "/", false],
    ["Prefix", "/foo", "/foo", false],
    ["Prefix", "/foo/", "/foo", false],
    ["Prefix", "/foo//", "/foo", true],
    ["Prefix", "//", "/", true],
    ["Prefix", "/a/./b/", "/a/b", true],
    ["Exact", "/foo/", "/foo/", false],
    ["Exact", "/", "/", false],
    ["Exact", "//", "//", false],
    ["Exact", "/%41", "/A", true],
    ["Exact", "/a%2fb", "/a%2Fb", true],
    ["Prefix", "/a b/", "/a%20b", true],
    ["Exact", "/\u00e4", "/%C3%A4", true],
    ["Exact", `/${"a".repeat(10_000)}`, `/${"a".repeat(10_000)}`, false],
  ];
  for (const [type, written, value, normalised] of cases) {
    assert.deepEqual(
      readPath(written, type, "pingress"),
      { ok: true, match: { type, value }, normalised },
      `${type} ${written}`,
    );
  }
});

Deno.test("invalid paths are rejected", () => {
  for (const written of ["", "foo", "/a%zz", "/..", "/a?b", "/a\tb", "/\ud800", 5, null, ["/a"]]) {
    assert.equal(readPath(written, "Prefix", "pingress").ok, false, `${written}`);
  }
  assert.equal(readPath(`/${"a".repeat(40_000)}`, "Prefix", "pingress").ok, false);
});

Deno.test("path types are those of the API, case-sensitive, and ImplementationSpecific is Prefix", () => {
  assert.equal(readPathType("Exact"), "Exact");
  assert.equal(readPathType("Prefix"), "Prefix");
  assert.equal(readPathType("ImplementationSpecific"), "Prefix");
  for (const value of ["prefix", "Regex", "StringPrefix", "", null, undefined, 5]) {
    assert.equal(readPathType(value), null);
  }
});

Deno.test("patterns of other controllers are distinguished from plain paths", () => {
  for (const path of ["/*", "/api/*", "/api(/|$)(.*)", "/[a-z]", "/a{2}", "/api$"]) {
    assert.ok(looksLikePattern(path), path);
  }
  for (const path of ["/", "/api", "/a.b", "/a+b", "/~me", "/a%20b", "/a;b=c,d"]) {
    assert.ok(!looksLikePattern(path), path);
  }
});
