import { deepEqual, equal } from "node:assert/strict";
import type { ProxyAck } from "../../stream/proxy_acks.ts";
import { obstaclesOf, openPortsOf, progressOf, proxyStates } from "./proxy_pods.ts";

/** Sequences by hash. */
const CONTENTS = { sequenceOf: ({ hash }: { hash: string | null }) => Number(hash ?? 0) };

function pod(name: string, fields: Readonly<Record<string, unknown>> = {}) {
  return {
    metadata: { name, uid: `uid-${name}`, ...fields.metadata as object },
    status: { conditions: [{ type: "Ready", status: "True" }], ...fields.status as object },
  };
}

function ack(name: string, hash: string | null, fields: Partial<ProxyAck> = {}): ProxyAck {
  return {
    ...{ podUid: `uid-${name}`, peer: "10.0.0.9", version: null, hash, obstacles: [] },
    ...fields,
  };
}

const states = (pods: Parameters<typeof proxyStates>[0], ...acks: ProxyAck[]) =>
  proxyStates(pods, acks, CONTENTS);

Deno.test("a content is everywhere when all ready pods have it or a newer one", () => {
  const proxies = states([pod("b"), pod("a")], ack("a", "2"), ack("b", "3"));
  deepEqual(progressOf(2, proxies), { kind: "everywhere" });
  deepEqual(progressOf(3, proxies), { kind: "partly", total: 2, missing: ["a"] });
});

Deno.test("a pod without a stream to any replica has nothing", () => {
  const proxies = states([pod("a"), pod("b")], ack("a", "1"));
  deepEqual(progressOf(1, proxies), { kind: "partly", total: 2, missing: ["b"] });
});

Deno.test("a proxy with an unknown content keeps what it had, until it disconnects", () => {
  const pods = [pod("a")];
  const look = (before: ReturnType<typeof states>, ...acks: ProxyAck[]) =>
    proxyStates(pods, acks, CONTENTS, before);
  const first = look([], ack("a", "2"));
  const next = look(first, ack("a", null));
  deepEqual([first, next].map(([{ sequence }]) => sequence), [2, 2]);
  const [gone] = look(next);
  const [back] = look([gone], ack("a", null));
  deepEqual([gone.sequence, back.sequence], [0, 0]);
  const [another] = proxyStates([pod("a", { metadata: { uid: "b" } })], [], CONTENTS, first);
  equal(another.sequence, 0);
});

Deno.test("a content that is not streamed is nowhere", () => {
  const proxies = states([pod("a")], ack("a", "7"));
  deepEqual(progressOf(null, proxies), { kind: "partly", total: 1, missing: ["a"] });
});

Deno.test("pods that are not ready, or are being deleted, are not waited for", () => {
  const waiting = [
    pod("unready", { status: { conditions: [{ type: "Ready", status: "False" }] } }),
    pod("new", { status: { conditions: undefined } }),
    pod("ending", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
  ];
  deepEqual(progressOf(1, states([pod("a"), ...waiting], ack("a", "1"))), { kind: "everywhere" });
  deepEqual(progressOf(1, states(waiting, ack("ending", "1"))), { kind: "no-proxy" });
});

Deno.test("a proxy whose token is bound to no pod is known by its address", () => {
  for (const peer of ["10.0.0.1", "::ffff:10.0.0.1", "fd00::1"]) {
    const status = { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] };
    const proxies = states([pod("a", { status })], ack("a", "1", { podUid: null, peer }));
    deepEqual(progressOf(1, proxies), { kind: "everywhere" }, peer);
  }
});

Deno.test("the acknowledgement of a pod that is gone counts for no other", () => {
  const proxies = states(
    [pod("a", { status: { podIP: "10.0.0.9" } })],
    ack("before", "1"),
  );
  equal(progressOf(1, proxies).kind, "partly");
});

Deno.test("for a socket that is not open, the message has proxies and reasons", () => {
  const closed = (reason: string) => ({ obstacles: [{ socket: "10000", reason }] });
  const names = ["a", "b", "c", "d", "e"];
  const pods = names.map((name) => pod(name));
  const one = states(pods, ack("b", "1", closed("EADDRINUSE")));
  deepEqual([...obstaclesOf(one)], [["10000", "the port is not open in b: EADDRINUSE."]]);
  const all = states(pods, ...names.map((name) => ack(name, "1", closed("EACCES"))));
  deepEqual([...obstaclesOf(all)], [[
    "10000",
    "the port is not open in a: EACCES, b: EACCES, c: EACCES, and 2 more proxies.",
  ]]);
  deepEqual([...obstaclesOf(states(pods))], []);
});

Deno.test("clients are led to a port when all proxies have opened it", () => {
  const ports = [{ port: 80, containerPort: 10_000 }, { port: 443, containerPort: 10_001 }];
  const closed = new Map([["10001", "EADDRINUSE"]]);
  deepEqual(openPortsOf(ports, { kind: "everywhere" }, new Map()), ports);
  deepEqual(openPortsOf(ports, { kind: "everywhere" }, closed), [ports[0]]);
  deepEqual(openPortsOf(ports, { kind: "partly", total: 2, missing: ["a"] }, new Map()), null);
  deepEqual(openPortsOf(ports, { kind: "no-proxy" }, new Map()), null);
  // Of proxies that follow files nothing is known.
  deepEqual(openPortsOf(ports, { kind: "unreported" }, new Map()), ports);
});
