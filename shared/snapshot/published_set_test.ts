import assert from "node:assert/strict";
import { sha256Of } from "./published_set.ts";
import { parseSnapshot } from "./parse.ts";

const HASH = sha256Of("something");
const PART = { path: "proxy-1.json", sha256: HASH };

function withSet(set: unknown, more: Record<string, unknown> = { routes: [] }): string {
  return JSON.stringify({ format: 2, ...more, set });
}

Deno.test("a single snapshot has no set, a published one lists its keys", () => {
  assert.equal(parseSnapshot(JSON.stringify({ format: 2, routes: [] })).set, null);
  assert.equal(parseSnapshot(JSON.stringify({ rules: [], set: {} })).set, null);
  const { snapshot, set, problems } = parseSnapshot(withSet({ parts: [], keys: [HASH] }));
  assert.deepEqual(problems, []);
  assert.deepEqual(snapshot?.routes, []);
  assert.deepEqual(set, { sha256: null, parts: [], keys: [HASH] });
});

Deno.test("an index is not a snapshot, and says where that is", () => {
  const index = withSet({ sha256: HASH, parts: [PART], keys: [] }, {
    version: { epoch: "cluster", seen: {} },
  });
  const { snapshot, set, problems } = parseSnapshot(index);
  assert.equal(snapshot, null);
  assert.deepEqual(set, { sha256: HASH, parts: [PART], keys: [] });
  assert.deepEqual(problems, [{
    path: "$.set.parts",
    message: "the snapshot itself is in another file, proxy-1.json first",
    remedy: "read it in a folder with all of them",
    severity: "error",
  }]);
});

Deno.test("an invalid set rejects the file, and the problem names the place", () => {
  const cases: [set: unknown, path: string][] = [
    [[], "$.set"],
    [null, "$.set"],
    [{}, "$.set.parts"],
    [{ parts: [] }, "$.set.keys"],
    [{ parts: [], keys: ["x"] }, "$.set.keys[0]"],
    [{ parts: [], keys: [HASH.toUpperCase()] }, "$.set.keys[0]"],
    [{ parts: [PART], keys: [] }, "$.set.sha256"],
    [{ parts: [{ path: "proxy-1.json" }], keys: [], sha256: HASH }, "$.set.parts[0].sha256"],
    [{ parts: [{ sha256: HASH }], keys: [], sha256: HASH }, "$.set.parts[0].path"],
    ...["../secret", "/etc/passwd", "a/b", "..", ".hidden", "", "a\nb", "x".repeat(254)].map(
      (path): [unknown, string] => [
        { parts: [{ path, sha256: HASH }], keys: [], sha256: HASH },
        "$.set.parts[0].path",
      ],
    ),
  ];
  for (const [value, path] of cases) {
    const { snapshot, set, problems } = parseSnapshot(withSet(value));
    assert.equal(snapshot, null, path);
    assert.equal(set, null, path);
    assert.equal(problems[0].path, path);
    assert.notEqual(problems[0].remedy, "");
  }
});

Deno.test("an invalid version rejects an index as it does a snapshot", () => {
  const { set, problems } = parseSnapshot(
    withSet({ sha256: HASH, parts: [PART], keys: [] }, { version: 7 }),
  );
  assert.equal(set, null);
  assert.equal(problems[0].path, "$.version");
});

Deno.test("unknown fields of an index have no effect, and are reported", () => {
  const { set, problems } = parseSnapshot(
    withSet({ sha256: HASH, parts: [PART], keys: [], more: 1 }, { routes: [] }),
  );
  assert.notEqual(set, null);
  assert.deepEqual(
    problems.filter(({ severity }) => severity === "warning").map(({ path }) => path).sort(),
    ["$.routes", "$.set.more"],
  );
});
