import assert from "node:assert/strict";
import { MAX_ROUTE_PATH, readRoutePath } from "./route_path.ts";

Deno.test("a route's path is the path that a client sends for it", () => {
  const table: [written: string, value: string][] = [
    ["/a b", "/a%20b"],
    ["/\u00fc", "/%C3%BC"],
    ["/u\u0308", "/u%CC%88"],
    ["/\u{1f600} x/", "/%F0%9F%98%80%20x"],
    ["/a%20b/../\u00e9", "/%C3%A9"],
    ["/%c3%bc", "/%C3%BC"],
  ];
  for (const [written, value] of table) {
    const match = { type: "Prefix", value } as const;
    assert.deepEqual(readRoutePath("Prefix", written), { ok: true, match }, written);
  }
});

Deno.test("paths that no client can send are rejected", () => {
  for (const text of ["\u00fc", "/\ud800", "/\udc00\ud800", "/a\tb", "/a\\b", "/a%"]) {
    assert.equal(readRoutePath("Exact", text).ok, false, JSON.stringify(text));
  }
});

Deno.test("a path may be as long as a request's head, and no longer", () => {
  const longest = `/${"a".repeat(MAX_ROUTE_PATH - 1)}`;
  assert.equal(readRoutePath("Exact", longest).ok, true);
  assert.deepEqual(readRoutePath("Exact", `${longest}a`), {
    ok: false,
    reason: "has 32769 characters, more than 32768",
    tooLong: true,
  });
  assert.deepEqual(readRoutePath("Exact", `/${" ".repeat(11_000)}`), {
    ok: false,
    reason: "has 33001 characters, more than 32768",
    tooLong: true,
  });
});
