/** Routes with several backends: each request goes to one, by weight. */
import assert from "node:assert/strict";
import type { Action, FilterSet } from "../../shared/snapshot/types.ts";
import { Backend, Peer, refusingPort, reply, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo } from "../support/filtered_routes.ts";
import { TestProxy } from "../support/test_proxy.ts";

function named(name: string): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      const mark = /^x-backend: (.*)\r$/im.exec(asked.head)?.[1] ?? "";
      await peer.send(reply(name + mark));
    }
  });
}

type Backends = (Action & { readonly kind: "forward" })["backends"];

/** Bodies or statuses of so many responses, sorted. */
async function responses(proxy: TestProxy, count: number): Promise<string> {
  using client = await Peer.connect(proxy.port);
  const bodies = [];
  for (let i = 0; i < count; i++) {
    const answer = await client.ask("GET /split HTTP/1.1\r\nHost: a.test\r\n\r\n");
    bodies.push(statusOf(answer) === 200 ? answer.body : String(statusOf(answer)));
  }
  return bodies.sort().join(" ");
}

function split(
  backends: Backends,
  ports: Readonly<Record<string, readonly number[]>>,
  sets: readonly FilterSet[] = [],
) {
  const upstreams = Object.entries(ports).map(([id, list]) => upstreamTo(id, list));
  return filteredSnapshot({ split: { action: { kind: "forward", backends } } }, upstreams, sets);
}

Deno.test("requests are split by weight, and one of weight 0 gets none", async () => {
  await using a = named("a");
  await using b = named("b");
  using proxy = new TestProxy([]);
  const ports = { a: [a.port], b: [b.port] };
  proxy.server.apply(split([{ upstream: "a", weight: 3 }, { upstream: "b" }], ports));
  assert.equal(await responses(proxy, 8), "a a a a a a b b");
  proxy.server.apply(split([{ upstream: "a", weight: 0 }, { upstream: "b" }], ports));
  assert.equal(await responses(proxy, 4), "b b b b");
  proxy.server.apply(split([{ upstream: "a", weight: 0 }, { upstream: "b", weight: 0 }], ports));
  assert.equal(await responses(proxy, 2), "500 500");
});

Deno.test("a backend without an endpoint leaves its share to the others", async () => {
  await using a = named("a");
  await using b = named("b");
  using proxy = new TestProxy([]);
  const backends = [{ upstream: "a" }, { upstream: "b" }];
  proxy.server.apply(split(backends, { a: [a.port], b: [] }));
  assert.equal(await responses(proxy, 4), "a a a a");
  proxy.server.apply(split(backends, { a: [], b: [] }));
  assert.equal(await responses(proxy, 2), "503 503");
  proxy.server.apply(split(backends, { a: [a.port], b: [b.port] }));
  assert.equal(await responses(proxy, 4), "a a b b");
});

Deno.test("a backend keeps its share where the route says so, and one with a fault gets 500", async () => {
  await using a = named("a");
  using proxy = new TestProxy([]);
  const snapshot = (backends: Backends) => {
    const upstreams = [upstreamTo("a", [a.port]), upstreamTo("b", [])];
    const action: Action = { kind: "forward", backends, keepsShares: true };
    return filteredSnapshot({ split: { action } }, upstreams);
  };
  proxy.server.apply(snapshot([{ upstream: "a" }, { upstream: "b" }]));
  assert.equal(await responses(proxy, 4), "503 503 a a");
  const fault = "there is no Service c";
  proxy.server.apply(snapshot([{ upstream: "a", weight: 2 }, { upstream: "c", weight: 2, fault }]));
  assert.equal(await responses(proxy, 4), "500 500 a a");
  proxy.server.apply(snapshot([{ upstream: "c", fault }]));
  assert.equal(await responses(proxy, 2), "500 500");
});

Deno.test("a retry stays with the chosen backend", async () => {
  await using a = named("a");
  await using b = named("b");
  using proxy = new TestProxy([], { ejectionFailures: 0 });
  const backends = [{ upstream: "a" }, { upstream: "b" }];
  proxy.server.apply(split(backends, { a: [refusingPort(), a.port], b: [b.port] }));
  assert.equal(await responses(proxy, 8), "a a a a b b b b");
  proxy.server.apply(split(backends, { a: [refusingPort()], b: [b.port] }));
  assert.equal(await responses(proxy, 4), "502 502 b b");
});

Deno.test("a backend's filters apply to its requests only", async () => {
  await using a = named("a");
  await using b = named("b");
  using proxy = new TestProxy([]);
  const filters: FilterSet = {
    id: "of b",
    filters: [{ kind: "request-headers", set: [{ name: "x-backend", value: "!" }] }],
  };
  const backends = [{ upstream: "a" }, { upstream: "b", filterSet: filters.id }];
  proxy.server.apply(split(backends, { a: [a.port], b: [b.port] }, [filters]));
  assert.equal(await responses(proxy, 4), "a a b! b!");
});
