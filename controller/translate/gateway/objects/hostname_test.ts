import assert from "node:assert/strict";
import { compareSpecificity, type Hostname, intersection, readHostname } from "./hostname.ts";

Deno.test("a hostname is a name in lower case, with a star for its first label at most", () => {
  const cases: readonly [written: unknown, read: string | null][] = [
    ["app.example.com", "app.example.com"],
    ["APP.Example.com", "app.example.com"],
    ["*.example.com", "*.example.com"],
    ["localhost", "localhost"],
    ["*", null],
    ["*.", null],
    ["a.*.com", null],
    ["*a.com", null],
    ["app.example.com.", null],
    ["app example.com", null],
    ["10.0.0.1", null],
    ["*.0.0.1", null],
    ["::1", null],
    ["", null],
    [7, null],
    [`${"a".repeat(250)}.com`, null],
  ];
  for (const [written, read] of cases) assert.equal(readHostname(written), read, String(written));
});

Deno.test("hosts of a listener and a route are those that both patterns have", () => {
  const cases: readonly [listener: Hostname, route: Hostname, both: Hostname | undefined][] = [
    [null, null, null],
    [null, "a.com", "a.com"],
    ["a.com", null, "a.com"],
    ["a.com", "a.com", "a.com"],
    ["a.com", "b.com", undefined],
    ["*.a.com", "x.a.com", "x.a.com"],
    ["x.a.com", "*.a.com", "x.a.com"],
    // One label or more, never none.
    ["*.a.com", "x.y.a.com", "x.y.a.com"],
    ["*.a.com", "a.com", undefined],
    ["*.a.com", "xa.com", undefined],
    ["*.a.com", "*.a.com", "*.a.com"],
    ["*.a.com", "*.b.a.com", "*.b.a.com"],
    ["*.b.a.com", "*.a.com", "*.b.a.com"],
    ["*.a.com", "*.b.com", undefined],
    ["*.a.com", "*.xa.com", undefined],
  ];
  for (const [listener, route, both] of cases) {
    assert.equal(intersection(listener, route), both, `${listener} and ${route}`);
  }
});

Deno.test("a name is more specific than a pattern, and a pattern than any host", () => {
  const sorted: readonly Hostname[] = [
    ...["long.app.example.com", "a.com", "*.app.example.com", "*.example.com", "*.com"],
    null,
  ];
  assert.deepEqual(sorted.toReversed().sort(compareSpecificity), sorted);
});
