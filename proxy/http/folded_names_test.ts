import assert from "node:assert/strict";
import { DROPPED, fieldsOf } from "./fields.ts";
import { FoldedNames } from "./folded_names.ts";

Deno.test("a name is found in every form that a backend may take for it", () => {
  const names = FoldedNames.withStars(["X-User", "x-auth-*"]);
  const cases: readonly [name: string, has: boolean][] = [
    ["X-User", true],
    ["x-user", true],
    ["X_USER", true],
    ["x.user", true],
    ["x~user", true],
    ["xuser", false],
    ["x-users", false],
    ["x-use", false],
    ["X.Auth_Request", true],
    ["x-auth", false],
    ["x-author", false],
  ];
  for (const [name, has] of cases) assert.equal(names.has(name), has, name);
  const fields = fieldsOf(cases.map(([name]) => [name, "1"]));
  names.dropFrom(fields);
  assert.deepEqual(
    cases.map((_, i) => fields.ids[i] === DROPPED),
    cases.map(([, has]) => has),
  );
});

Deno.test("names that begin with punctuation, and a star alone, are found as well", () => {
  const found = (list: readonly string[], names: readonly string[]) => {
    const fields = fieldsOf(names.map((name) => [name, "1"]));
    FoldedNames.withStars(list).dropFrom(fields);
    return names.filter((_, i) => fields.ids[i] === DROPPED);
  };
  const names = ["_id", ".ID", "id", "-id", "~Id", "xid"];
  assert.deepEqual(found(["_id"], names), ["_id", ".ID", "-id", "~Id"]);
  assert.deepEqual(found(["*"], names), names);
  assert.deepEqual(found([], names), []);
});

Deno.test("a star is a byte of a name where it does not stand for others", () => {
  const names = new FoldedNames(["x-auth*"]);
  assert.deepEqual(["x-auth*", "X.Auth~", "x-auth", "x-auth-user"].map((name) => names.has(name)), [
    ...[true, true],
    ...[false, false],
  ]);
});
