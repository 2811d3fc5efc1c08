/** The most specific hostname of a socket's listeners decides which of them takes a request. */
import assert from "node:assert/strict";
import type { Listener } from "../../shared/snapshot/types.ts";
import { hostPatternTakes } from "./host.ts";
import { SocketListeners } from "./socket_listeners.ts";

function listener(id: string, hostname?: string, others: Partial<Listener> = {}): Listener {
  return {
    id,
    port: 80,
    socket: "10000",
    protocol: "HTTP",
    ...(hostname === undefined ? {} : { hostname }),
    wildcards: "suffix",
    fallThrough: true,
    origin: { kind: "Gateway", namespace: "a", name: "b", field: "spec.listeners[0]" },
    ...others,
  };
}

const OPEN = () => true;
const CLOSED = () => false;

function found(listeners: SocketListeners, host: string, socket = "10000"): string | null {
  return listeners.find(socket, host)?.id ?? null;
}

Deno.test("the listener with the most specific hostname that takes a host gets it alone", () => {
  const listeners = new SocketListeners();
  listeners.replace([
    listener("any"),
    listener("star", "*.example.com"),
    listener("foo", "*.foo.example.com"),
    listener("exact", "abc.foo.example.com"),
  ], CLOSED);
  const cases: readonly [host: string, id: string][] = [
    ["abc.foo.example.com", "exact"],
    ["x.foo.example.com", "foo"],
    ["y.x.foo.example.com", "foo"],
    ["foo.example.com", "star"],
    ["y.x.example.com", "star"],
    ["example.com", "any"],
    ["other.test", "any"],
    ["", "any"],
    [".example.com", "any"],
    [`${"l.".repeat(200)}example.com`, "any"],
  ];
  for (const [host, id] of cases) assert.equal(found(listeners, host), id, host);
  assert.equal(found(listeners, "abc.foo.example.com", "10001"), null);
});

Deno.test("a host that no hostname of the socket takes has no listener", () => {
  const listeners = new SocketListeners();
  listeners.replace([
    listener("exact", "a.test"),
    listener("one", "*.one.test", { wildcards: "one-label" }),
  ], CLOSED);
  const cases: readonly [host: string, id: string | null][] = [
    ["a.test", "exact"],
    ["x.one.test", "one"],
    ["y.x.one.test", null],
    ["b.a.test", null],
    ["", null],
  ];
  for (const [host, id] of cases) assert.equal(found(listeners, host), id, host);
});

Deno.test("the listener of a host agrees with each pattern by itself", () => {
  const patterns = ["a.test", "*.a.test", "*.b.a.test", "c.b.a.test", "*.test"];
  const hosts = ["a.test", "b.a.test", "c.b.a.test", "d.c.b.a.test", "test", "x.test", "a.b"];
  for (let chosen = 0; chosen < 1 << patterns.length; chosen++) {
    const some = patterns.filter((_, i) => (chosen & (1 << i)) !== 0);
    const listeners = new SocketListeners();
    listeners.replace(some.map((pattern) => listener(pattern, pattern)), CLOSED);
    for (const host of hosts) {
      const takes = some.filter((pattern) => hostPatternTakes(pattern, host, "suffix"))
        .sort((a, b) => Number(b === host) - Number(a === host) || b.length - a.length);
      assert.equal(found(listeners, host), takes[0] ?? null, `${host} of ${some}`);
    }
  }
});

Deno.test("a socket that is closing serves listeners that have moved, and none that are gone", () => {
  const listeners = new SocketListeners();
  listeners.replace([listener("moves", "a.test"), listener("goes", "b.test")], CLOSED);
  listeners.replace([listener("moves", "a.test", { socket: "10001" })], OPEN);
  assert.equal(found(listeners, "a.test"), "moves");
  assert.equal(found(listeners, "a.test", "10001"), "moves");
  assert.equal(found(listeners, "b.test"), null);
  listeners.replace([listener("moves", "a.test", { socket: "10001" })], CLOSED);
  assert.equal(found(listeners, "a.test"), null);
});
