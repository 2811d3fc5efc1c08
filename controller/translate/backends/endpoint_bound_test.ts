import assert from "node:assert/strict";
import { EndpointTally } from "../model/endpoint_sizes.ts";
import { type EndpointBound, EndpointLimiter } from "./endpoint_bound.ts";
import { ProblemList } from "../../base/problems.ts";

Deno.test("over the bound of a namespace its largest backends get fewer endpoints", () => {
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
    const limits = limitsOf({ upstreams, endpoints, cluster: Infinity }, countOf, problems);
    const limit = limits.get("a") ?? Infinity;
    assert.deepEqual(counts.map((count) => Math.min(count, limit)), left, `${counts}`);
    assert.equal(limits.has("b"), false);
    const shortened = counts.filter((count, i) => count > left[i]).length;
    assert.equal(problems.sorted().length, shortened);
  }
});

Deno.test("each port of a Service counts, and they share one problem", () => {
  const problems = new ProblemList();
  const upstreams = new Map([["a", new Set(["a/web:80", "a/web:http", "a/small:80"])]]);
  const countOf = (service: string) => service === "a/web" ? 10 : 1;
  const limits = limitsOf({ upstreams, endpoints: 11, cluster: Infinity }, countOf, problems);
  assert.equal(limits.get("a"), 5);
  const [problem, ...others] = problems.sorted();
  assert.deepEqual(problem.object, { kind: "Service", namespace: "a", name: "web" });
  assert.match(problem.message, /more than 11 endpoints together/);
  assert.equal(others.length, 0);
});

Deno.test("over the bound of all namespaces the largest get fewer endpoints, small ones keep theirs", () => {
  const table: [counts: Record<string, number>, bound: number, left: Record<string, number>][] = [
    [{ a: 5, b: 5 }, 10, { a: 5, b: 5 }],
    [{ a: 2, b: 9, c: 9 }, 12, { a: 2, b: 5, c: 5 }],
    [{ a: 2, b: 50, c: 3 }, 15, { a: 2, b: 10, c: 3 }],
    [{ a: 2, b: 50, c: 3 }, 12, { a: 2, b: 7, c: 3 }],
    [{ a: 5, b: 5, c: 5 }, 1, { a: 1, b: 1, c: 1 }],
  ];
  for (const [counts, cluster, left] of table) {
    for (const namespaces of [Object.keys(counts), Object.keys(counts).toReversed()]) {
      const problems = new ProblemList();
      const upstreams = new Map(namespaces.map((name) => [name, new Set([`${name}/web:80`])]));
      const countOf = (service: string) => counts[service.split("/")[0]];
      const limits = limitsOf({ upstreams, endpoints: 10, cluster }, countOf, problems);
      const served = namespaces.map((
        name,
      ) => [name, Math.min(counts[name], limits.get(name) ?? 10)]);
      assert.deepEqual(Object.fromEntries(served), left, JSON.stringify(counts));
      const shortened = namespaces.filter((name) => counts[name] > left[name]);
      const found = problems.sorted().map(({ object }) => object?.namespace);
      assert.deepEqual(found, shortened.toSorted(), "a problem for each that has fewer");
    }
  }
});

Deno.test("the problem says whether the namespace or the cluster has too many endpoints, with a remedy", () => {
  const messageFor = (cluster: number) => {
    const problems = new ProblemList();
    const upstreams = new Map([["a", new Set(["a/web:80"])], ["b", new Set(["b/web:80"])]]);
    limitsOf({ upstreams, endpoints: 10, cluster }, () => 20, problems);
    const [{ message, remedy }] = problems.sorted();
    return `${message}; ${remedy}`;
  };
  assert.match(
    messageFor(100),
    /^the backends of namespace a have more than 10 endpoints.*raise --max-n/,
  );
  assert.match(
    messageFor(12),
    /^all namespaces together .* namespace a is among those with the most, so .*memory limit/,
  );
});

Deno.test("one pod more or fewer in a small namespace changes nothing in namespaces over the bound", () => {
  const limitFor = (small: number) => {
    const upstreams = new Map(
      ["a", "b", "small"].map((name) => [name, new Set([`${name}/web:80`])]),
    );
    const countOf = (service: string) => service === "small/web" ? small : 20_000;
    const bound = { upstreams, endpoints: 20_000, cluster: 18_000 };
    return limitsOf(bound, countOf, new ProblemList()).get("a");
  };
  assert.equal(limitFor(10), 8_192);
  for (const small of [0, 9, 11, 500]) assert.equal(limitFor(small), 8_192);
});

Deno.test("a Service that changes is counted again, and so is a namespace whose backends change", () => {
  const limiter = new EndpointLimiter();
  const counts: Record<string, number> = { "a/web": 3, "a/api": 3, "b/web": 3 };
  const upstreams = new Map([["a", new Set(["a/web:80"])], ["b", new Set(["b/web:80"])]]);
  const limitsAfter = (changed: readonly string[] | null) => [
    ...limiter.limits(
      { upstreams, endpoints: 4, cluster: Infinity },
      (service) => endpoints(counts[service]),
      changed && new Set(changed),
      new ProblemList(),
    ),
  ];
  assert.deepEqual(limitsAfter(null), []);
  counts["a/web"] = 9;
  assert.deepEqual(limitsAfter(["a/web"]), [["a", 4]]);
  assert.deepEqual(limitsAfter([]), [["a", 4]]);
  counts["a/web"] = 1;
  assert.deepEqual(limitsAfter(["a/web"]), []);
  upstreams.set("a", new Set(["a/web:80", "a/api:80"]));
  counts["a/api"] = 8;
  assert.deepEqual(limitsAfter([]), [["a", 3]]);
  upstreams.delete("a");
  assert.deepEqual(limitsAfter([]), []);
});

Deno.test("a namespace with too long names of zones keeps its endpoints and loses their zones", () => {
  const problems = new ProblemList();
  const upstreams = new Map([["a", new Set(["a/long:80", "a/short:80"])], [
    "b",
    new Set(["b/web:80"]),
  ]]);
  const tally = new EndpointTally();
  for (let i = 0; i < 8; i++) {
    tally.add({ address: `10.0.0.${i}`, zone: `${i}`.padEnd(63, "z"), hints: ["a".repeat(63)] });
  }
  const limits = new EndpointLimiter().limits(
    { upstreams, endpoints: 20, cluster: Infinity },
    (service) => service === "a/long" ? tally : endpoints(10),
    null,
    problems,
  );
  assert.deepEqual([...limits], [["a", 20]], "as many as they are");
  const [problem, ...others] = problems.sorted();
  assert.deepEqual(others, []);
  assert.equal(problem.severity, "warning");
  assert.match(problem.message, /so those of this Service are used by proxies of all zones$/);
});

Deno.test("random IPv6 addresses count as several endpoints, those of one network as one each", () => {
  const unitsOf = (addresses: readonly string[]) => {
    const tally = new EndpointTally();
    const sorted = addresses.toSorted();
    for (const [i, address] of sorted.entries()) tally.add({ address }, sorted[i - 1]);
    return tally.units(0) / addresses.length;
  };
  const of = (one: (i: number) => string) =>
    unitsOf(Array.from({ length: 1_000 }, (_, i) => one(i)));
  assert.equal(of((i) => `10.${i % 7}.${i % 250}.${i % 3}`), 1);
  assert.ok(of((i) => `fd00:10:244:${i % 20}::${i.toString(16)}`) < 1.01);
  const random = () =>
    crypto.getRandomValues(new Uint8Array(16)).toHex().replace(/.{4}(?=.)/g, "$&:");
  assert.ok(of(random) >= 2);
});

function limitsOf(
  bound: EndpointBound,
  countOf: (service: string) => number,
  problems: ProblemList,
): ReadonlyMap<string, number> {
  const endpointsOf = (service: string) => endpoints(countOf(service));
  return new EndpointLimiter().limits(bound, endpointsOf, null, problems);
}

function endpoints(count: number): EndpointTally {
  const tally = new EndpointTally();
  for (let i = 0; i < count; i++) tally.add({ address: "10.0.0.1" });
  return tally;
}
