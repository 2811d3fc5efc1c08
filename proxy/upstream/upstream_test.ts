import assert from "node:assert/strict";
import type { Endpoint as EndpointSpec } from "../../shared/snapshot/types.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { EndpointRegistry } from "./endpoint.ts";
import type { PooledConnection } from "./pool.ts";
import { type AddressSource, Upstream } from "./upstream.ts";

/** A name that a test answers for. */
class FakeName implements AddressSource {
  readonly name = "web.test";
  readonly port = 80;
  #current: readonly EndpointSpec[] = [];
  readonly #answered = Promise.withResolvers<readonly EndpointSpec[]>();
  closed = false;

  /** An answer has come: these addresses. */
  answer(...addresses: string[]): void {
    this.#current = addresses.map((address) => ({ address, port: 80 }));
    this.#answered.resolve(this.#current);
  }

  /** It has not been used for long, or has failed: nothing is known. */
  forget(): void {
    this.#current = [];
  }

  current(): readonly EndpointSpec[] {
    return this.#current;
  }

  ready(): Promise<readonly EndpointSpec[]> {
    return this.#answered.promise;
  }

  recheck(): void {}

  close(): void {
    this.closed = true;
  }
}

function newUpstream() {
  const registry = new EndpointRegistry<PooledConnection>(10, 0);
  const clock = { now: 0 };
  const upstream = new Upstream("a/web:80", registry, {
    limits: DEFAULT_LIMITS,
    clock,
    balance: "round-robin",
  });
  return { registry, upstream, clock };
}

function listed(...addresses: string[]): EndpointSpec[] {
  return addresses.map((address) => ({ address, port: 80 }));
}

Deno.test("addresses of a replaced name are dropped when they are denied", async () => {
  const { upstream } = newUpstream();
  const [before, now] = [new FakeName(), new FakeName()];
  upstream.resolve(before);
  upstream.pick(null);
  before.answer("10.0.0.1", "10.0.0.2");
  await upstream.resolving;
  assert.notEqual(upstream.pick(null), null);
  upstream.resolve(now);
  assert.notEqual(upstream.pick(null), null);
  upstream.recheck({ has: (address) => address === "10.0.0.1" });
  assert.equal(upstream.pick(null)?.address, "10.0.0.2");
  assert.equal(upstream.pick(null)?.address, "10.0.0.2");
  upstream.recheck({ has: () => true });
  assert.equal(upstream.pick(null), null);
});

Deno.test("listed endpoints are not dropped when their addresses are denied to names", () => {
  const { upstream } = newUpstream();
  upstream.list(listed("10.0.0.1"));
  upstream.resolve(new FakeName());
  upstream.recheck({ has: () => true });
  assert.equal(upstream.pick(null)?.address, "10.0.0.1");
});

Deno.test("a name's addresses are waited for, and followed", async () => {
  const { upstream, registry } = newUpstream();
  const name = new FakeName();
  upstream.resolve(name);
  assert.equal(upstream.pick(null), null);
  const resolving = upstream.resolving;
  assert.notEqual(resolving, null);
  name.answer("10.0.0.1");
  await resolving;
  assert.equal(upstream.pick(null)?.address, "10.0.0.1");
  assert.equal(upstream.resolving, null);
  name.answer("10.0.0.2");
  assert.equal(upstream.pick(null)?.address, "10.0.0.2");
  assert.equal(registry.size, 1);
  upstream.close();
  assert.deepEqual([registry.size, name.closed], [0, true]);
});

Deno.test("a name without addresses has no endpoint, rather than its old ones", () => {
  const { upstream, registry } = newUpstream();
  const name = new FakeName();
  upstream.resolve(name);
  name.answer("10.0.0.1");
  assert.equal(upstream.pick(null)?.address, "10.0.0.1");
  name.forget();
  assert.equal(upstream.pick(null), null);
  assert.notEqual(upstream.resolving, null);
  assert.equal(registry.size, 0);
});

Deno.test("previous endpoints are used until a name's first response, whatever it is", async () => {
  const { upstream } = newUpstream();
  upstream.list(listed("10.0.0.1"));
  const name = new FakeName();
  upstream.resolve(name);
  assert.equal(upstream.pick(null)?.address, "10.0.0.1");
  assert.equal(upstream.resolving, null);
  name.answer();
  await name.ready();
  assert.equal(upstream.pick(null), null);
  name.answer("10.0.0.2");
  assert.equal(upstream.pick(null)?.address, "10.0.0.2");
});

Deno.test("a list replaces a name at once, and a name another one", async () => {
  const { upstream, registry } = newUpstream();
  const [first, second] = [new FakeName(), new FakeName()];
  upstream.resolve(first);
  first.answer("10.0.0.1");
  upstream.pick(null);
  upstream.resolve(second);
  assert.equal(first.closed, true);
  assert.equal(upstream.pick(null)?.address, "10.0.0.1");
  second.answer("10.0.0.2");
  await second.ready();
  assert.equal(upstream.pick(null)?.address, "10.0.0.2");
  upstream.list(listed("10.0.0.3"));
  assert.equal(second.closed, true);
  assert.equal(upstream.pick(null)?.address, "10.0.0.3");
  assert.equal(registry.size, 1);
});

function turns(upstream: Upstream<PooledConnection>, count: number): string {
  return Array.from({ length: count }, () => upstream.pick(null)?.address.slice(-1)).join("");
}

Deno.test("the share of a failing endpoint is divided evenly among the others", () => {
  const { upstream, clock } = newUpstream();
  upstream.list(listed("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"));
  const failing = upstream.pick(null)!;
  for (let i = 0; i < 3; i++) upstream.failed(failing);
  assert.equal([...turns(upstream, 300)].sort().join("").replace(/(.)\1*/g, "$1"), "234");
  for (const address of "234") {
    assert.equal(turns(upstream, 300).split(address).length - 1, 100, address);
  }
  clock.now = 5_000;
  assert.match(turns(upstream, 4), /1/);
});

Deno.test("an ejected endpoint is better than none", () => {
  const { upstream } = newUpstream();
  upstream.list(listed("10.0.0.1", "10.0.0.2"));
  const failing = upstream.pick(null)!;
  for (let i = 0; i < 3; i++) upstream.failed(failing);
  const other = upstream.pick(null)!;
  assert.notEqual(other, failing);
  assert.equal(upstream.pick([other]), failing);
  assert.equal(upstream.pick([other, failing]), null);
});

Deno.test("a new list does not bring back an ejected endpoint", () => {
  const { upstream } = newUpstream();
  upstream.list(listed("10.0.0.1", "10.0.0.2"));
  const failing = upstream.pick(null)!;
  for (let i = 0; i < 3; i++) upstream.failed(failing);
  upstream.list(listed("10.0.0.1", "10.0.0.2", "10.0.0.3"));
  assert.doesNotMatch(turns(upstream, 6), /1/);
  upstream.succeeded(failing);
  assert.match(turns(upstream, 6), /1/);
});

/** Endpoints `10.0.0.<n>` with hints by letters: `a b -` is one for a, one for b, one for none. */
function hinted(hints: string): EndpointSpec[] {
  return hints.split(" ").map((zones, i) => ({
    address: `10.0.0.${i + 1}`,
    port: 80,
    ...(zones === "-" ? {} : { hints: [...zones] }),
  }));
}

Deno.test("a proxy in a zone uses the endpoints hinted for it, and all again without hints", () => {
  const { upstream } = newUpstream();
  upstream.setZone("a");
  upstream.list(hinted("a b a c"));
  assert.equal(turns(upstream, 4), "1313");
  upstream.list(hinted("a b - c"));
  assert.equal([...turns(upstream, 4)].sort().join(""), "1234");
  upstream.list(hinted("b a c c"));
  assert.equal(turns(upstream, 3), "222");
  upstream.list(hinted("b b c c"));
  assert.equal([...turns(upstream, 4)].sort().join(""), "1234");
});

Deno.test("a zone that becomes known, changes or is removed applies to the next request", () => {
  const { upstream, registry } = newUpstream();
  upstream.list(hinted("a b"));
  upstream.setZone("a");
  assert.equal(turns(upstream, 2), "11");
  upstream.setZone("b");
  assert.equal(turns(upstream, 2), "22");
  upstream.setZone(null);
  assert.equal([...turns(upstream, 2)].sort().join(""), "12");
  assert.equal(registry.size, 2, "those of other zones keep their connections");
});

Deno.test("when all endpoints of a zone have failed a request, those of other zones are tried", () => {
  const { upstream } = newUpstream();
  upstream.setZone("a");
  upstream.list(hinted("a a b"));
  const tried = [upstream.pick(null)!];
  tried.push(upstream.pick(tried)!);
  assert.deepEqual(tried.map(({ address }) => address).sort(), ["10.0.0.1", "10.0.0.2"]);
  tried.push(upstream.pick(tried)!);
  assert.equal(tried[2].address, "10.0.0.3");
  assert.equal(upstream.pick(tried), null);
});

Deno.test("half of a zone's endpoints may be ejected, and the only one never", () => {
  const { upstream } = newUpstream();
  upstream.setZone("a");
  upstream.list(hinted("a b b b"));
  const only = upstream.pick(null)!;
  for (let i = 0; i < 10; i++) assert.equal(upstream.failed(only), 0);
  upstream.list(hinted("a a b b"));
  for (let i = 0; i < 3; i++) upstream.failed(only);
  assert.equal(turns(upstream, 3), "222");
  const next = upstream.pick([upstream.pick(null)!])!;
  assert.match(next.address, /[34]$/, "of another zone, before the one left out");
});

Deno.test("an endpoint that is removed and added again keeps its count of active requests", () => {
  const { upstream, registry } = newUpstream();
  upstream.list(listed("10.0.0.1"));
  const first = upstream.pick(null)!;
  first.load.requests++;
  upstream.list(listed("10.0.0.2"));
  assert.equal(upstream.has(first), false);
  assert.equal(registry.requestCount, 1);
  upstream.list(listed("10.0.0.1", "10.0.0.2"));
  assert.equal(registry.requestCount, 1);
  upstream.balance("least-requests");
  assert.equal(turns(upstream, 20), "2".repeat(20));
  first.load.requests--;
  assert.equal(registry.requestCount, 0);
  assert.match(turns(upstream, 40), /1/);
});
