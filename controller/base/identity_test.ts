import assert from "node:assert/strict";
import { compareAge, creationTime, ObjectIndex, readIdentity } from "./identity.ts";
import { ProblemList } from "./problems.ts";
import { readService } from "../translate/backends/service.ts";

Deno.test("a creation time is read in the API server's format, and anything else counts as the newest", () => {
  const cases: readonly [unknown, number][] = [
    ["2020-01-01T00:00:00Z", Date.UTC(2020)],
    ["2020-01-01T01:00:00.5+01:00", Date.UTC(2020) + 500],
    ["2020-01-01", Infinity],
    ["2020-01-01T00:00:00", Infinity],
    ["2020-13-01T00:00:00Z", Infinity],
    ["yesterday", Infinity],
    [1577836800000, Infinity],
    [null, Infinity],
  ];
  for (const [creationTimestamp, time] of cases) {
    assert.equal(creationTime({ metadata: { creationTimestamp } }), time, `${creationTimestamp}`);
  }
});

Deno.test("the older object comes first, then namespace and name decide", () => {
  const identity = (namespace: string, name: string, createdAt = Infinity) => ({
    ref: { kind: "Ingress", namespace, name },
    createdAt,
  });
  const inOrder = [
    identity("z", "z", 1),
    identity("a", "a", 2),
    identity("a", "b", 2),
    identity("b", "a", 2),
    identity("a", "a"),
  ];
  for (const [i, a] of inOrder.entries()) {
    for (const [j, b] of inOrder.entries()) {
      assert.equal(Math.sign(compareAge(a, b)), Math.sign(i - j));
    }
  }
});

Deno.test("only names that the API allows make an identity", () => {
  const named = (name: unknown, namespace?: unknown) =>
    readIdentity("Service", { metadata: { name, namespace } })?.ref ?? null;
  assert.deepEqual(named("web"), { kind: "Service", namespace: "default", name: "web" });
  assert.deepEqual(named("web", "team"), { kind: "Service", namespace: "team", name: "web" });
  for (const name of ["", "Web", "a/b", "a b", 5, null, ["web"]]) assert.equal(named(name), null);
  for (const space of ["", "a.b", "a/b", 5]) assert.equal(named("web", space), null);
});

Deno.test("of objects with the same name the same one wins in any order, and the duplicate is reported once", () => {
  const one = { metadata: { name: "web" }, spec: { ports: [{ port: 1 }], type: "ClusterIP" } };
  const two = { metadata: { name: "web" }, spec: { type: "ClusterIP", ports: [{ port: 2 }] } };
  for (const objects of [[one, two], [two, one], [one, two, one], [two, two, one]]) {
    const problems = new ProblemList();
    const index = new ObjectIndex(readService).of(objects, problems);
    assert.equal(index.get("default/web")?.object, one);
    assert.deepEqual(problems.sorted().map(({ reason }) => reason), ["ObjectDuplicated"]);
  }
});
