import assert from "node:assert/strict";
import { FORWARDED_PREFIX, REWRITE_TARGET, type RewriteTarget } from "./rewrite_target.ts";

const text = (text: string) => ({ kind: "text", text }) as const;
const group = (group: number) => ({ kind: "group", group }) as const;

const NOTHING: RewriteTarget = {
  path: [],
  query: null,
  dropsQuery: false,
  redirects: false,
  groups: new Set(),
};

const ONE = { groups: new Set([1]) };

const TARGETS: Readonly<Record<string, Partial<RewriteTarget> | null>> = {
  "/": { path: [text("/")] },
  "/a/$2": { path: [text("/a/"), group(2)], groups: new Set([2]) },
  "$1": { path: [group(1)], ...ONE },
  "/$10": { path: [text("/"), group(1), text("0")], ...ONE },
  "/a?b=$1&c": { path: [text("/a")], query: [text("b="), group(1), text("&c")], ...ONE },
  "/a?": { path: [text("/a")], dropsQuery: true },
  "/a?b?": { path: [text("/a")], query: [text("b")], dropsQuery: true },
  "https://a.test/$1": { path: [text("https://a.test/"), group(1)], redirects: true, ...ONE },
  "a": null,
  "/$host": null,
  "/$": null,
  "/$0": null,
  "/a b": null,
  "/a/../b": null,
  "/a;b": null,
  "/%41": null,
  "/a\r\nX: y": null,
  "https://$1/": null,
  "https:///a": null,
  "javascript:a()": null,
  ["/".padEnd(1025, "a")]: null,
};

for (const [written, expected] of Object.entries(TARGETS)) {
  Deno.test(`the rewrite-target ${JSON.stringify(written.slice(0, 40))} is read as nginx reads it`, () => {
    assert.deepEqual(
      REWRITE_TARGET.read(written),
      expected === null ? null : { ...NOTHING, ...expected },
    );
  });
}

Deno.test("an x-forwarded-prefix is a path, which may have groups", () => {
  assert.deepEqual(FORWARDED_PREFIX.read("/a/$1$2"), [text("/a/"), group(1), group(2)]);
  for (const written of ["/$host", "$", "/a b", "/a\r\nX: y", "/a?b", "/".padEnd(1025, "a")]) {
    assert.equal(FORWARDED_PREFIX.read(written), null, written);
  }
});
