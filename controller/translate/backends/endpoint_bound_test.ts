import assert from "node:assert/strict";
import { endpointLimits } from "./endpoint_bound.ts";
import { ProblemList } from "../../base/problems.ts";

Deno.test("past the bound of a namespace its largest backends get fewer endpoints", () => {
  const table: [counts: number[], bound: number, left: number[]][] = [
    [[3, 3, 3], 9, [3, 3, 3]],
    [[1, 5, 3], 8, [1, 4, 3]],
    [[1, 9, 9], 8, [1, 3, 3]],
    [[100], 8, [8]],
    [[0, 100], 8, [0, 8]],
    [[5, 5, 5, 5], 3, [1, 1, 1, 1]],
  ];
  for (const [counts, endpoints, left] of table) {
    const problems = new ProblemList();
    const upstreams = new Map([
      ["a", new Set(counts.map((_, i) => `a/s${i}:80`))],
      ["b", new Set(["b/web:80"])],
    ]);
    const countOf = (service: string) => service === "b/web" ? 2 : counts[Number(service.slice(3))];
    const limits = endpointLimits({ upstreams, endpoints }, countOf, problems);
    const limit = limits.get("a") ?? Infinity;
    assert.deepEqual(counts.map((count) => Math.min(count, limit)), left, `${counts}`);
    assert.equal(limits.has("b"), false);
    const shortened = counts.filter((count, i) => count > left[i]).length;
    assert.equal(problems.sorted().length, shortened);
  }
});

Deno.test("each port of a Service counts, and is one problem with the others", () => {
  const problems = new ProblemList();
  const upstreams = new Map([["a", new Set(["a/web:80", "a/web:http", "a/small:80"])]]);
  const countOf = (service: string) => service === "a/web" ? 10 : 1;
  const limits = endpointLimits({ upstreams, endpoints: 11 }, countOf, problems);
  assert.equal(limits.get("a"), 5);
  const [problem, ...others] = problems.sorted();
  assert.deepEqual(problem.object, { kind: "Service", namespace: "a", name: "web" });
  assert.match(problem.message, /more than 11 endpoints together/);
  assert.equal(others.length, 0);
});
