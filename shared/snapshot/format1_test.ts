import assert from "node:assert/strict";
import { parseSnapshot } from "./parse.ts";
import { serialiseSnapshot } from "./serialise.ts";

const FOLDER = new URL("../../tests/golden/stream/", import.meta.url);

function snapshotsIn(name: string): object[] {
  return JSON.parse(Deno.readTextFileSync(new URL(name, FOLDER)));
}

function read(value: unknown) {
  const { snapshot, problems } = parseSnapshot(JSON.stringify(value));
  return {
    text: snapshot && serialiseSnapshot(snapshot, { revealKeys: true }),
    problems: problems.map(({ path, message }) => `${path}: ${message}`),
  };
}

Deno.test("a snapshot of format 1 gives the same as in format 2", () => {
  const before = snapshotsIn("v1-controller.expected.json");
  const now = snapshotsIn("v2-controller.expected.json");
  assert.ok(before.length > 1);
  for (const [i, one] of before.entries()) {
    assert.equal(Object.hasOwn(one, "format") && read(one).text, read(now[i]).text);
    assert.deepEqual(read(one).problems, []);
  }
});

Deno.test("the order of routes in a file of format 1 does not matter", () => {
  const route = (host: string, type: string, value: string) => ({
    host,
    path: { type, value },
    action: { kind: "answer", status: 404, reason: "" },
  });
  const routes = [
    route("b.test", "Prefix", "/"),
    route("a.test", "Prefix", "/"),
    route("b.test", "Prefix", "/api"),
    route("b.test", "Exact", "/api"),
    route("a.test", "Exact", "/"),
    route("b.test", "Prefix", "/api/v1"),
  ];
  const { snapshot } = parseSnapshot(JSON.stringify({ format: 1, routes }));
  assert.deepEqual(snapshot?.routes.map(({ id }) => id), [
    "b.test Prefix /api/v1",
    "b.test Exact /api",
    "b.test Prefix /api",
    "b.test Prefix /",
    "a.test Exact /",
    "a.test Prefix /",
  ]);
});

Deno.test("features that format 1 lacks are rejected with their place", () => {
  const route = {
    host: "a.test",
    path: { type: "Prefix", value: "/" },
    action: { kind: "answer", status: 404, reason: "" },
  };
  const table: [change: object, problem: string][] = [
    [{ path: "/" }, "$.routes[0].match.path: an object is needed, not a text"],
    [{ path: { type: "Prefix" } }, "$.routes[0].match.path.value: a text is needed, not nothing"],
    [{ action: null }, "$.routes[0].action: an object is needed, not null"],
    [
      { action: { kind: "redirect" } },
      '$.routes[0].action.kind: "redirect" is none of "forward", "reply"',
    ],
    [
      { action: { kind: "forward" } },
      "$.routes[0].action.backends[0].upstream: a text is needed, not nothing",
    ],
    [{ host: 5 }, "$.routes[0].host: a text is needed, not a number"],
  ];
  for (const [change, problem] of table) {
    const { text, problems } = read({ format: 1, routes: [{ ...route, ...change }] });
    assert.equal(text, null);
    assert.deepEqual(problems, [problem]);
  }
  assert.deepEqual(read({ format: 1, routes: 5 }).problems, [
    "$.routes: an array is needed, not a number",
  ]);
});

Deno.test("a route field unknown in format 1 has no effect", () => {
  const [one] = snapshotsIn("v1-controller.expected.json") as { routes: object[] }[];
  const routes = one.routes.map((route) => ({ ...route, later: true }));
  assert.equal(read({ ...one, routes }).text, read(one).text);
});
