import assert from "node:assert/strict";
import { movingRoute, requestsOf, routesAt, routesOf } from "./routes.ts";

const textOf = ({ host, path }: { host: string; path: string }) => `${host}${path}`;

for (const count of [1, 7, 10_000]) {
  Deno.test(`${count} routes differ, and each is requested once`, () => {
    const routes = routesOf(count).map(textOf);
    assert.equal(new Set(routes).size, count);
    const requests = requestsOf({ routes: count }).map(textOf);
    assert.deepEqual(requests.toSorted(), routes.toSorted());
  });
}

Deno.test("neighbours in the configuration are not requested one after the other", () => {
  const hosts = requestsOf({ routes: 10_000 }).map(({ host }) => host);
  assert.ok(hosts.every((host, index) => index === 0 || host !== hosts[index - 1]));
});

Deno.test("one route can be requested for as many hosts and paths as another case has", () => {
  assert.deepEqual(requestsOf({ routes: 1, requests: 100 }), requestsOf({ routes: 100 }));
});

Deno.test("a case without routes has no requests of its own", () => {
  assert.deepEqual(requestsOf({}), []);
});

Deno.test("each change moves one route and leaves all others, hosts together", () => {
  const fixed = new Set(routesOf(100).map(textOf));
  for (let turn = 0; turn < 30; turn++) {
    const routes = routesAt(100, turn);
    const further = routes.filter((route) => !fixed.has(textOf(route)));
    assert.deepEqual(further, [movingRoute(100, turn)]);
    assert.notDeepEqual(movingRoute(100, turn), movingRoute(100, turn + 1));
    const runs = routes.filter(({ host }, index) => host !== routes[index - 1]?.host);
    assert.equal(runs.length, 10);
  }
});
