import assert from "node:assert/strict";
import type { Upstream } from "../../shared/snapshot.ts";
import { withinEndpoints } from "./endpoint_bound.ts";
import { ProblemList } from "./problems.ts";

function upstream(id: string, count: number): Upstream {
  const endpoints = Array.from(
    { length: count },
    (_, i) => ({ address: `10.0.${i >> 8}.${i & 255}`, port: 8080 }),
  );
  return { id, protocol: "http", addresses: { kind: "endpoints", endpoints } };
}

function countsOf(upstreams: readonly Upstream[]): number[] {
  return upstreams.map(({ addresses }) =>
    addresses.kind === "endpoints" ? addresses.endpoints.length : -1
  );
}

Deno.test("past the bound of a namespace its largest backends get fewer endpoints", () => {
  const table: [counts: number[], bound: number, left: number[]][] = [
    [[3, 3, 3], 9, [3, 3, 3]],
    [[1, 5, 3], 8, [1, 4, 3]],
    [[1, 9, 9], 8, [1, 3, 3]],
    [[100], 8, [8]],
    [[0, 100], 8, [0, 8]],
    [[5, 5, 5, 5], 3, [1, 1, 1, 1]],
  ];
  for (const [counts, bound, left] of table) {
    const all = counts.map((count, i) => upstream(`a/s${i}:80`, count));
    const other = upstream("b/web:80", 2);
    const problems = new ProblemList();
    const bounded = withinEndpoints([...all, other], bound, problems);
    assert.deepEqual(countsOf(bounded), [...left, 2], `${counts} within ${bound}`);
    assert.equal(bounded.at(-1), other);
    const shortened = counts.filter((count, i) => count > left[i]).length;
    assert.equal(problems.sorted().length, shortened);
  }
});

Deno.test("ports of one Service are one problem, and the same objects give the same upstreams", () => {
  const all = [upstream("a/web:80", 10), upstream("a/web:81", 10), upstream("a/small:80", 1)];
  const problems = new ProblemList();
  const bounded = withinEndpoints(all, 11, problems);
  assert.deepEqual(countsOf(bounded), [5, 5, 1]);
  const [problem, ...others] = problems.sorted();
  assert.deepEqual(problem.object, { kind: "Service", namespace: "a", name: "web" });
  assert.match(problem.message, /more than 11 endpoints together/);
  assert.equal(others.length, 0);
  const again = withinEndpoints(all, 11, new ProblemList());
  assert.ok(again.every((each, i) => each === bounded[i]));
  assert.equal(withinEndpoints(all, 21, problems), all);
});
