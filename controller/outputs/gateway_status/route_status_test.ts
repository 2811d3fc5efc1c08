import { deepEqual, equal } from "node:assert/strict";
import { trueCondition } from "../../translate/gateway/objects/condition.ts";
import { hasOurParents, routeChange } from "./route_status.ts";

const NOW = Date.parse("2026-02-02T00:00:00Z");
const OURS = "pingress.io/gateway-controller";

const conditions = [trueCondition("Accepted"), trueCondition("ResolvedRefs")];
const wanted = (...names: string[]) =>
  names.map((name, index) => ({ parentRef: { name }, index, conditions }));

function stamped(generation: number) {
  return conditions.map((condition) => ({
    ...condition,
    observedGeneration: generation,
    lastTransitionTime: "2026-02-02T00:00:00Z",
  }));
}

const ours = (name: string, generation = 1) => ({
  parentRef: { name },
  controllerName: OURS,
  conditions: stamped(generation),
});
const foreign = (name: string) => ({
  parentRef: { name, namespace: "apps" },
  controllerName: "example.com/controller",
  conditions: [{ type: "Accepted", status: "False", unknown: { kept: true } }],
});

const change = (parents: unknown, names: readonly string[], generation = 1) =>
  routeChange({ parents }, { generation, parents: wanted(...names) }, "apps", NOW);
const changed = (...args: Parameters<typeof change>) => change(...args)?.fields.parents;

const CASES: readonly {
  readonly what: string;
  readonly standing: unknown;
  readonly wanted: readonly string[];
  /** Undefined where nothing is written. */
  readonly written: unknown;
}[] = [
  {
    what: "a route without a status gets its parents in the order of the spec",
    standing: undefined,
    wanted: ["b", "a"],
    written: [ours("b"), ours("a")],
  },
  {
    what: "entries of other controllers stay as they are, in their places",
    standing: [foreign("x"), ours("a"), foreign("y")],
    wanted: ["a", "b"],
    written: [foreign("x"), ours("a"), foreign("y"), ours("b")],
  },
  {
    what: "an entry whose parent is not one any more goes",
    standing: [ours("a"), foreign("x"), ours("b")],
    wanted: ["b"],
    written: [foreign("x"), ours("b")],
  },
  { what: "the last entry of ours goes too", standing: [ours("a")], wanted: [], written: [] },
  {
    what: "the last entry of ours goes, and those of others stay",
    standing: [foreign("x"), ours("a")],
    wanted: [],
    written: [foreign("x")],
  },
  {
    what: "two entries for one parent become one",
    standing: [ours("a"), ours("a")],
    wanted: ["a"],
    written: [ours("a")],
  },
  {
    what: "an equal status is not written",
    standing: [foreign("x"), ours("a")],
    wanted: ["a"],
    written: undefined,
  },
  {
    what: "a status of others alone is not written",
    standing: [foreign("a")],
    wanted: [],
    written: undefined,
  },
  {
    what: "no status and no parents are equal",
    standing: undefined,
    wanted: [],
    written: undefined,
  },
];

for (const { what, standing, wanted, written } of CASES) {
  Deno.test(what, () => deepEqual(changed(standing, wanted), written));
}

Deno.test("a new generation is written with the old times", () => {
  const parents = changed([{ ...ours("a"), conditions: stamped(1) }], ["a"], 2);
  deepEqual(parents, [{ ...ours("a"), conditions: stamped(2) }]);
});

Deno.test("a parentRef with written defaults is the same as one without", () => {
  const parentRef = {
    group: "gateway.networking.k8s.io",
    kind: "Gateway",
    namespace: "apps",
    name: "a",
  };
  const standing = [{ ...ours("a"), parentRef }];
  deepEqual(changed(standing, ["a"]), [ours("a")]);
  for (const field of [{ sectionName: "http" }, { port: 80 }, { namespace: "other" }]) {
    const other = { ...ours("a"), parentRef: { name: "a", ...field } };
    deepEqual(changed([other], ["a"]), [ours("a")], JSON.stringify(field));
  }
});

Deno.test("conditions of others in an entry of ours stay", () => {
  const checked = { type: "example.com/Checked", status: "True" };
  const entry = { ...ours("a"), conditions: [checked, ...stamped(1)] };
  equal(change([entry], ["a"]), null);
});

Deno.test("PartiallyInvalid goes when all rules are served", () => {
  const partly = { type: "PartiallyInvalid", status: "True" };
  const entry = { ...ours("a"), conditions: [...stamped(1), partly] };
  deepEqual(changed([entry], ["a"]), [ours("a")]);
});

Deno.test("no more entries are written than the API takes", () => {
  const others = Array.from({ length: 31 }, (_, i) => foreign(`x${i}`));
  deepEqual(changed(others, ["a", "b"]), [...others, ours("a")]);
});

Deno.test("a status of unknown shape counts as empty", () => {
  for (const parents of [null, "text", { a: 1 }]) deepEqual(changed(parents, ["a"]), [ours("a")]);
  deepEqual(changed([null, 7, "x"], ["a"]), [null, 7, "x", ours("a")]);
});

Deno.test("an entry is ours by its controllerName", () => {
  equal(hasOurParents({ parents: [foreign("x"), ours("a")] }), true);
  equal(hasOurParents({ parents: [foreign("x")] }), false);
  equal(hasOurParents(undefined), false);
});
