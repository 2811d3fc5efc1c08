/** Sockets for listeners: only in the proxy's range, and one protocol each. */
import assert from "node:assert/strict";
import type { Listener } from "../../shared/snapshot/types.ts";
import { socketSpecs } from "./socket_specs.ts";

const RANGE = { from: 10_000, to: 10_255 };

function listener(id: string, socket: string, others: Partial<Listener> = {}): Listener {
  return {
    id,
    port: 80,
    socket,
    protocol: "HTTP",
    wildcards: "suffix",
    fallThrough: true,
    origin: { kind: "Gateway", namespace: "a", name: "b", field: "spec.listeners[0]" },
    ...others,
  };
}

Deno.test("listeners of a Gateway on one port share a socket, with the port that clients know", () => {
  const { specs, obstacles } = socketSpecs([
    listener("http", "http"),
    listener("a/gw/one", "10000"),
    listener("a/gw/two", "10000", { hostname: "b.test" }),
    listener("a/gw/tls", "10255", { port: 443, protocol: "HTTPS" }),
  ], RANGE);
  assert.deepEqual([...specs.values()], [
    { socket: "10000", port: 10_000, publicPort: 80, isSecure: false, gateways: ["a/gw"] },
    { socket: "10255", port: 10_255, publicPort: 443, isSecure: true, gateways: ["a/gw"] },
  ]);
  assert.deepEqual(obstacles, []);
});

Deno.test("a socket that cannot be opened is an obstacle, and no other socket is", () => {
  const { specs, obstacles } = socketSpecs([
    listener("a/gw/below", "9999"),
    listener("a/gw/above", "10256"),
    listener("a/gw/name", "public"),
    listener("a/gw/zero", "010001"),
    listener("a/gw/tls", "10001", { protocol: "TLS" }),
    listener("a/gw/http", "10002"),
    listener("a/gw/https", "10002", { protocol: "HTTPS" }),
    listener("a/gw/good", "10003"),
  ], RANGE);
  assert.deepEqual([...specs.keys()], ["10002", "10003"]);
  assert.deepEqual(obstacles, [
    { socket: "010001", reason: "it is no port in decimal digits" },
    { socket: "10001", reason: "listeners with the protocol TLS are not supported" },
    {
      socket: "10002",
      reason: "its listeners have different protocols: give them different ports",
    },
    { socket: "10256", reason: "it is outside of --listen-range 10000-10255" },
    { socket: "9999", reason: "it is outside of --listen-range 10000-10255" },
    { socket: "public", reason: "it is no port in decimal digits" },
  ]);
});

Deno.test("without a range every socket of a Gateway is an obstacle", () => {
  const { specs, obstacles } = socketSpecs([
    listener("https", "https"),
    listener("a/gw/one", "10000"),
    listener("a/gw/two", "10000"),
  ], null);
  assert.equal(specs.size, 0);
  assert.deepEqual(obstacles, [
    { socket: "10000", reason: "the proxy was started without --listen-range" },
  ]);
});
