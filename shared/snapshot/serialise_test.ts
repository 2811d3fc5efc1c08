import assert from "node:assert/strict";
import { Redacted } from "../redacted.ts";
import { type Snapshot, SNAPSHOT_FORMAT } from "./types.ts";
import { serialiseSnapshot } from "./serialise.ts";

const ORIGIN = { kind: "Ingress", namespace: "a", name: "web", field: "spec.rules[0]" };
const SNAPSHOT: Snapshot = {
  format: SNAPSHOT_FORMAT,
  version: { epoch: "file", seen: {} },
  routes: [{
    id: 'a.example.com Prefix /"',
    host: "a.example.com",
    match: { path: { type: "Prefix", value: '/"' } },
    action: { kind: "forward", backends: [{ upstream: "a/web:80" }] },
    origin: ORIGIN,
  }],
  defaultAction: null,
  upstreams: [{
    id: "a/web:80",
    protocol: "http",
    addresses: { kind: "endpoints", endpoints: [{ address: "10.0.0.1", port: 80 }] },
  }],
  certificates: [{
    id: "one",
    hosts: ["a.example.com"],
    chain: { kind: "pem", pem: "chain\n" },
    key: { kind: "secret", pem: new Redacted("key\n") },
    origin: ORIGIN,
  }],
  defaultCertificate: null,
};

Deno.test("a snapshot is serialised as the JSON of its fields, every time", () => {
  const expected = JSON.stringify(SNAPSHOT);
  assert.equal(serialiseSnapshot(SNAPSHOT, { revealKeys: false }), expected);
  assert.equal(serialiseSnapshot(SNAPSHOT, { revealKeys: false }), expected);
  assert.equal(serialiseSnapshot(structured(), { revealKeys: false }), expected);
});

Deno.test("keys appear only where they are revealed, whatever was serialised before", () => {
  const revealed = JSON.stringify(SNAPSHOT).replace("[redacted]", "key\\n");
  for (const revealKeys of [true, false, true, false]) {
    const text = serialiseSnapshot(SNAPSHOT, { revealKeys });
    assert.equal(text, revealKeys ? revealed : JSON.stringify(SNAPSHOT));
  }
});

Deno.test("an empty snapshot and one with every field are serialised", () => {
  const nothing = { ...SNAPSHOT, routes: [], upstreams: [], certificates: [] };
  assert.equal(serialiseSnapshot(nothing, { revealKeys: false }), JSON.stringify(nothing));
  const everything: Snapshot = {
    ...SNAPSHOT,
    defaultAction: { kind: "reply", status: 404, reason: "gone" },
    defaultCertificate: "one",
  };
  assert.equal(serialiseSnapshot(everything, { revealKeys: false }), JSON.stringify(everything));
  const set = { sha256: null, parts: [], keys: ["a".repeat(64)] };
  const written = JSON.parse(serialiseSnapshot(everything, { revealKeys: false, set }));
  assert.deepEqual(written.set.keys, set.keys);
});

/** The same in other objects, whose fields came in another order. */
function structured(): Snapshot {
  const turned = <T extends object>(part: T) =>
    Object.fromEntries(Object.entries(part).reverse()) as T;
  return turned({
    ...SNAPSHOT,
    routes: SNAPSHOT.routes.map(turned),
    upstreams: SNAPSHOT.upstreams.map(turned),
    certificates: SNAPSHOT.certificates.map(turned),
  });
}
