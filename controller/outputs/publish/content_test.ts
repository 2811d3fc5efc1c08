import assert from "node:assert/strict";
import { Redacted } from "../../../shared/redacted.ts";
import type { Snapshot, Upstream } from "../../../shared/snapshot/types.ts";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import { largeSnapshot } from "../../../tests/support/published_scene.ts";
import { digestOf, sameButEndpoints, withoutKeys } from "./content.ts";

const SNAPSHOT = largeSnapshot({ routes: 10, certificates: 2 });

/** The snapshot with another first upstream. */
function withUpstream(change: Partial<Upstream>): Snapshot {
  const [first, ...rest] = SNAPSHOT.upstreams;
  return { ...SNAPSHOT, upstreams: [{ ...first, ...change }, ...rest] };
}

const OTHER_ENDPOINTS = withUpstream({
  addresses: { kind: "endpoints", endpoints: [{ address: "10.9.9.9", port: 1 }] },
});

Deno.test("keys become files named by their hash", () => {
  const { snapshot, keys } = withoutKeys(SNAPSHOT);
  assert.equal(keys.size, 2);
  assert.deepEqual([...keys.keys()], [...keys.keys()].sort());
  for (const { key } of snapshot.certificates) {
    assert.ok(key.kind === "file" && keys.has(key.path));
  }
  const text = serialiseSnapshot(snapshot, { revealKeys: true });
  assert.ok(!text.includes("PRIVATE KEY"));
});

Deno.test("a version does not change the content, a key does", () => {
  const later = { ...SNAPSHOT, version: { epoch: "another", seen: { Secret: "99" } } };
  assert.equal(digestOf(later), digestOf(SNAPSHOT));
  const [first, ...rest] = SNAPSHOT.certificates;
  const key = { kind: "secret", pem: new Redacted("another") } as const;
  const rotated = { ...SNAPSHOT, certificates: [{ ...first, key }, ...rest] };
  assert.notEqual(digestOf(rotated), digestOf(SNAPSHOT));
  assert.equal(digestOf(withoutKeys(SNAPSHOT).snapshot), digestOf(SNAPSHOT));
});

Deno.test("a change of endpoints only is distinguished from other changes", () => {
  const changes: [says: string, changed: Snapshot, same: boolean][] = [
    ["nothing", SNAPSHOT, true],
    ["the version", { ...SNAPSHOT, version: { epoch: "x", seen: {} } }, true],
    ["other endpoints", OTHER_ENDPOINTS, true],
    ["none", withUpstream({ addresses: { kind: "endpoints", endpoints: [] } }), true],
    ["a name", withUpstream({ addresses: { kind: "dns", name: "a.test", port: 1 } }), false],
    ["the protocol", withUpstream({ protocol: "https" }), false],
    ["an upstream less", { ...SNAPSHOT, upstreams: SNAPSHOT.upstreams.slice(1) }, false],
    ["a route less", { ...SNAPSHOT, routes: SNAPSHOT.routes.slice(1) }, false],
    ["other hosts", { ...SNAPSHOT, certificates: [] }, false],
    ["a default", { ...SNAPSHOT, defaultCertificate: SNAPSHOT.certificates[0].id }, false],
  ];
  for (const [says, changed, same] of changes) {
    assert.equal(sameButEndpoints(SNAPSHOT, changed), same, says);
    assert.equal(sameButEndpoints(changed, SNAPSHOT), same, says);
  }
  assert.notEqual(digestOf(OTHER_ENDPOINTS), digestOf(SNAPSHOT));
});
