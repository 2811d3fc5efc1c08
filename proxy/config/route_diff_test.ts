import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import { route } from "../../tests/support/streamed_snapshots.ts";
import type { HostChange, Route } from "../../shared/snapshot/types.ts";
import { RouteDiffer } from "./route_diff.ts";

/** What each host is served by, put together from the changes alone. */
function follow(
  served: Map<string, readonly Route[]>,
  runs: RouteDiffer,
  routes: readonly Route[],
) {
  for (const { host, before, routes: now } of runs.update(routes)) {
    assert.deepEqual(before, served.get(host) ?? []);
    assert.notDeepEqual(before, now);
    if (now.length === 0) served.delete(host);
    else served.set(host, now);
  }
}

Deno.test("the changes alone give each host's routes, wherever they are in the list", () => {
  const random = new Random(11);
  const runs = new RouteDiffer();
  const served = new Map<string, readonly Route[]>();
  let routes: readonly Route[] = [];
  for (let turn = 0; turn < 500; turn++) {
    const next = routes.filter(() => !random.oneIn(6))
      .map((one) => random.oneIn(8) ? structuredClone(one) : one);
    for (let i = random.below(4); i > 0; i--) {
      const one = route(`h${random.below(8)}.test`, `/${random.below(3)}`, `u${random.below(2)}`);
      next.splice(random.below(next.length + 1), 0, one);
    }
    // As a controller makes them, or as somebody has written them.
    routes = random.oneIn(2) ? next.toSorted((a, b) => (a.host < b.host ? -1 : 1)) : next;
    follow(served, runs, routes);
    assert.deepEqual(served, Map.groupBy(routes, ({ host }) => host));
  }
});

Deno.test("equal routes in another list, or recreated, are not a change", () => {
  const runs = new RouteDiffer();
  const routes = [route("a.test", "/"), route("a.test", "/b"), route("b.test", "/")];
  assert.equal(runs.update(routes).length, 2);
  assert.deepEqual(runs.update([...routes]), []);
  assert.deepEqual(runs.update(structuredClone(routes)), []);
  assert.deepEqual(runs.update([routes[0], routes[2], routes[1]]), []);
});

Deno.test("the order of a host's routes is a change", () => {
  const runs = new RouteDiffer();
  const [one, two] = [route("a.test", "/"), route("a.test", "/b")];
  runs.update([one, two]);
  assert.deepEqual(runs.update([two, one]), [
    { host: "a.test", before: [one, two], routes: [two, one] },
  ]);
});

Deno.test("a change that is followed is known to the next comparison, as if it had been compared", () => {
  const random = new Random(12);
  const [followed, compared] = [new RouteDiffer(), new RouteDiffer()];
  const sorted = (changes: readonly HostChange[]) =>
    changes.toSorted((a, b) => a.host < b.host ? -1 : 1);
  let follows = 0;
  for (let turn = 0; turn < 500; turn++) {
    // Few enough that hosts come back as they were.
    const routes = Array.from(
      { length: 4 },
      (_, host) => random.oneIn(3) ? [] : [route(`h${host}.test`, `/${random.below(2)}`)],
    ).flat();
    const changes = compared.update(routes);
    if (random.oneIn(3)) assert.deepEqual(sorted(followed.update(routes)), sorted(changes));
    else {
      followed.follow(routes, changes);
      follows += changes.length;
    }
  }
  assert.ok(follows > 100);
});
