import assert from "node:assert/strict";
import type { Listener, Snapshot } from "../../shared/snapshot/types.ts";
import { LocalPorts } from "./local_ports.ts";

const RANGE = { hostname: "127.0.0.1", from: 10_000, to: 10_003 };

function listener(id: string, port: number, socket: number): Listener {
  return {
    ...{ id, port, socket: String(socket), protocol: "HTTP", wildcards: "suffix" },
    fallThrough: true,
    origin: { kind: "Gateway", namespace: "default", name: "web", field: "spec.listeners[0]" },
  };
}

function snapshotOf(...listeners: Listener[]): Snapshot {
  return {
    format: 2,
    version: { epoch: "file", seen: {} },
    ...{ listeners, routes: [], defaultAction: null, upstreams: [], certificates: [] },
    defaultCertificate: null,
  };
}

function socketsOf(ports: LocalPorts, ...listeners: Listener[]): (string | undefined)[] {
  return (ports.assign(snapshotOf(...listeners)).listeners ?? []).map(({ socket }) => socket);
}

Deno.test("listeners on one port of a Gateway share a local port, others have their own", () => {
  const ports = new LocalPorts(RANGE, () => true);
  assert.deepEqual(
    socketsOf(
      ports,
      listener("default/web/a", 80, 10_001),
      listener("default/web/b", 80, 10_001),
      listener("default/web/c", 443, 10_002),
      listener("shop/web/a", 80, 10_003),
    ),
    ["10001", "10001", "10002", "10003"],
  );
});

Deno.test("a local port that another program has is passed over, and the next free one is used", () => {
  const ports = new LocalPorts(RANGE, (port) => port !== 10_003 && port !== 10_000);
  assert.deepEqual(socketsOf(ports, listener("default/web/a", 80, 10_003)), ["10001"]);
  assert.deepEqual(
    socketsOf(
      ports,
      listener("default/web/a", 80, 10_003),
      listener("default/other/a", 80, 10_001),
    ),
    ["10001", "10002"],
  );
});

Deno.test("a Gateway that comes back has the local port that it had", () => {
  const ports = new LocalPorts(RANGE, () => true);
  assert.deepEqual(socketsOf(ports, listener("default/web/a", 80, 10_001)), ["10001"]);
  assert.deepEqual(socketsOf(ports), []);
  assert.deepEqual(socketsOf(ports, listener("default/new/a", 80, 10_001)), ["10002"]);
  assert.deepEqual(socketsOf(ports, listener("default/web/a", 80, 10_003)), ["10001"]);
});

Deno.test("local ports of Gateways that are gone are used again when no other is free", () => {
  const ports = new LocalPorts({ ...RANGE, to: 10_000 }, () => true);
  assert.deepEqual(socketsOf(ports, listener("default/a/x", 80, 10_000)), ["10000"]);
  assert.deepEqual(socketsOf(ports, listener("default/b/x", 80, 10_000)), ["10000"]);
});

Deno.test("a local port that was taken before it could be opened is not assigned again", () => {
  const ports = new LocalPorts(RANGE, () => true);
  const web = listener("default/web/a", 80, 10_001);
  assert.deepEqual(socketsOf(ports, web), ["10001"]);
  assert.ok(ports.learn([], ["10001"]));
  assert.deepEqual(socketsOf(ports, web), ["10002"]);
  assert.ok(!ports.learn(["10002"], []));
  // One that has been open stays: it is opened again once that is possible.
  assert.ok(!ports.learn([], ["10002"]));
  assert.deepEqual(socketsOf(ports, web), ["10002"]);
});
