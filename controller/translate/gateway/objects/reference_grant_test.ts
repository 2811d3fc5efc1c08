/** What ReferenceGrants permit, and that what they permit is never multiplied out. */
import assert from "node:assert/strict";
import { GatewayReaders } from "../gateway_readers.ts";

const ROUTE = { group: "gateway.networking.k8s.io", kind: "HTTPRoute" };
const SERVICE = { group: "", kind: "Service" };

function grant(namespace: string, from: readonly unknown[], to: readonly unknown[]) {
  return { metadata: { namespace, name: "grant" }, spec: { from, to } };
}

function isPermitted(grants: readonly unknown[], from: string, namespace: string, name: string) {
  return new GatewayReaders().grants(grants).isPermitted(
    { ...ROUTE, namespace: from },
    { ...SERVICE, namespace, name },
  );
}

Deno.test("ReferenceGrants permit what any of them names, for those that it names", () => {
  const grants = [
    grant("data", [{ ...ROUTE, namespace: "shop" }], [{ ...SERVICE, name: "a" }]),
    grant("data", [{ ...ROUTE, namespace: "shop" }, { ...ROUTE, namespace: "web" }], [
      { ...SERVICE, name: "b" },
      { kind: "Secret", group: "" },
    ]),
    grant("data", [{ ...ROUTE, namespace: "web" }], [SERVICE]),
    grant("other", [{ ...ROUTE, kind: "Gateway", namespace: "shop" }], [SERVICE]),
    null,
  ];
  const cases: readonly [from: string, to: string, name: string, isPermitted: boolean][] = [
    ["shop", "data", "a", true],
    ["shop", "data", "b", true],
    ["shop", "data", "c", false],
    ["web", "data", "c", true],
    ["else", "data", "a", false],
    // Its grant is for Gateways.
    ["shop", "other", "a", false],
    ["shop", "shop", "a", true],
  ];
  for (const [from, to, name, expected] of cases) {
    assert.equal(isPermitted(grants, from, to, name), expected, `${from} to ${to}/${name}`);
  }
});

Deno.test("ReferenceGrants does not multiply those that a grant names by what it permits", () => {
  // The product is more than a Map can have.
  const many = Array.from({ length: 5000 }, (_, i) => i);
  const grants = [grant(
    "data",
    many.map((i) => ({ ...ROUTE, namespace: `ns-${i}` })),
    many.map((i) => ({ ...SERVICE, kind: `Kind-${i}`, name: "a" })).concat({
      ...SERVICE,
      name: "a",
    }),
  )];
  assert.equal(isPermitted(grants, "ns-4999", "data", "a"), true);
  assert.equal(isPermitted(grants, "ns-4999", "data", "b"), false);
});

Deno.test("GatewayReaders reads a grant once, and gives the same grants again while none has changed", () => {
  let reads = 0;
  const counted = (name: string) => ({
    metadata: { namespace: "data", name },
    get spec() {
      reads++;
      return { from: [{ ...ROUTE, namespace: "shop" }], to: [SERVICE] };
    },
  });
  const readers = new GatewayReaders();
  const grants = [counted("a"), counted("b")];
  const first = readers.grants(grants);
  assert.equal(readers.grants([...grants]), first);
  assert.equal(reads, 2);
  assert.notEqual(readers.grants([...grants, counted("c")]), first);
  assert.equal(reads, 3);
});
