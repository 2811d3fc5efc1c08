import assert from "node:assert/strict";
import type { RouteMatch } from "../../../../shared/snapshot/types.ts";
import { readIdentity } from "../../../base/identity.ts";
import { comparePrecedence, type PlacedMatch } from "./precedence.ts";

function placed(
  match: RouteMatch,
  { name = "web", created = "2020-01-01T00:00:00Z", ruleIndex = 0, matchIndex = 0 } = {},
): PlacedMatch {
  const metadata = { name, namespace: "shop", creationTimestamp: created };
  return { match, identity: readIdentity("HTTPRoute", { metadata })!, ruleIndex, matchIndex };
}

const [EXACT, PREFIX] = ["Exact", "Prefix"].map((type) => (value: string): RouteMatch => ({
  path: { type: type as "Exact" | "Prefix", value },
}));

function headers(count: number): RouteMatch["headers"] {
  return Array.from({ length: count }, (_, i) => ({ name: `x-${i}`, type: "Exact", value: "a" }));
}

Deno.test("of several matches the most specific one takes a request, whosever it is", () => {
  const query = [{ name: "q", type: "Exact", value: "a" } as const];
  const sorted: readonly PlacedMatch[] = [
    placed(EXACT("/a/b")),
    placed({ ...EXACT("/a"), method: "GET" }),
    placed(EXACT("/a")),
    placed({ path: { type: "Regex", value: "/api/v[0-9]+" } }),
    placed({ path: { type: "Regex", value: "/a.*" } }),
    placed(PREFIX("/a/b/c")),
    // A method counts more than any number of headers, and one header more than parameters.
    placed({ ...PREFIX("/a"), method: "GET" }),
    placed({ ...PREFIX("/a"), headers: headers(3) }),
    placed({ ...PREFIX("/a"), headers: headers(2), query }),
    placed({ ...PREFIX("/a"), headers: headers(2) }),
    placed({ ...PREFIX("/a"), query }),
    placed(PREFIX("/a"), { created: "2019-01-01T00:00:00Z", ruleIndex: 7 }),
    placed(PREFIX("/a"), { name: "first" }),
    placed(PREFIX("/a")),
    placed(PREFIX("/a"), { matchIndex: 1 }),
    placed(PREFIX("/a"), { ruleIndex: 1 }),
    placed(PREFIX("/")),
  ];
  assert.deepEqual(sorted.toReversed().sort(comparePrecedence), sorted);
  for (let i = 0; i < sorted.length; i++) {
    for (let j = 0; j < sorted.length; j++) {
      const order = Math.sign(comparePrecedence(sorted[i], sorted[j]));
      assert.equal(order, Math.sign(i - j), `${i} and ${j}`);
    }
  }
});
