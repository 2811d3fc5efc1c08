/** How many certificates the listeners of a namespace may show. */
import assert from "node:assert/strict";
import type { Certificate, Snapshot } from "../../../shared/snapshot/types.ts";
import { secureListener } from "../../../tests/support/gateway_listeners.ts";
import { snapshotOf } from "../../../tests/support/test_proxy.ts";
import { CertificateRoom } from "./certificate_bounds.ts";

function certificates(bytes: number, ...ids: readonly string[]): Certificate[] {
  return ids.map((id) => ({
    ...{ id, hosts: [], chain: { kind: "pem", pem: "x".repeat(bytes) } },
    key: { kind: "file", path: "tls.key" },
    origin: { kind: "Secret", namespace: "shop", name: id, field: "" },
  }));
}

const BOUNDS = { certificates: 2, hostBytes: 100 };

Deno.test("a listener with one certificate too many is refused, and others stay", () => {
  const room = new CertificateRoom(BOUNDS, null, new Map());
  assert.equal(room.take("shop", certificates(10, "a", "b")), null);
  assert.equal(room.take("shop", certificates(10, "b", "a")), null);
  assert.equal(room.isFull, false);
  const refusal = room.take("shop", certificates(10, "a", "c"));
  assert.match(
    refusal!.message,
    /^with it .* namespace shop .* more than 2 certificates\. Remove /,
  );
  assert.match(refusal!.message, /--max-namespace-certificates/);
  assert.equal(room.isFull, true);
  assert.equal(room.take("shop", certificates(10, "a")), null);
  assert.equal(room.take("other", certificates(10, "c", "d")), null);
});

Deno.test("certificates of a namespace have a bound of bytes together", () => {
  const room = new CertificateRoom(BOUNDS, null, new Map());
  assert.equal(room.take("shop", certificates(60, "a")), null);
  assert.match(room.take("shop", certificates(60, "b"))!.message, /100 bytes.*host-bytes/);
});

Deno.test("certificates of a namespace take all of their bounds, and no more", () => {
  const take = (bytes: number, ...ids: readonly string[]) =>
    new CertificateRoom(BOUNDS, null, new Map()).take("shop", certificates(bytes, ...ids)) === null;
  assert.deepEqual([99, 100, 101].map((bytes) => take(bytes, "a")), [true, true, false]);
  assert.deepEqual([49, 50, 51].map((bytes) => take(bytes, "a", "b")), [true, true, false]);
  assert.deepEqual([["a"], ["a", "b"], ["a", "b", "c"]].map((ids) => take(1, ...ids)), [
    true,
    true,
    false,
  ]);
});

Deno.test("certificates that are published stay where a bound is lowered, also once they are renewed", () => {
  const all = certificates(60, "a", "b", "c");
  const published: Snapshot = {
    ...snapshotOf([]),
    listeners: [
      secureListener("web", 1, {
        certificates: ["a", "b", "c"],
        origin: { kind: "Gateway", namespace: "shop", name: "web", field: "spec.listeners[0]" },
      }),
    ],
    certificates: all,
  };
  const renewed = all.map((each) => ({ ...each, id: `${each.id}-2` }));
  for (const wanted of [all, renewed]) {
    const more = [...wanted, ...certificates(60, "d")];
    const room = new CertificateRoom(BOUNDS, published, new Map([["shop", more]]));
    // Another listener does not come before what is published.
    assert.notEqual(room.take("shop", certificates(60, "d")), null);
    assert.equal(room.take("shop", wanted), null);
    assert.equal(room.isFull, true);
    assert.deepEqual(room.kept("shop", more), wanted);
  }
});
