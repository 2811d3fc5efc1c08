/** Changes of TLS to backends by which a tenant may try to take more than there is room for, and ordinary ones. */
import assert from "node:assert/strict";
import { chainOf, distinctChain, secretWith } from "../../../tests/support/large_certificates.ts";
import {
  authorities,
  authority,
  BY_INGRESSES,
  full,
  ingressTo,
  isServed,
  lineOf,
  NAMES,
  slice,
  tenants,
  upstreamsOf,
} from "../../../tests/support/secured_backends.ts";
import { Scene } from "../../../tests/support/shared_address_scene.ts";
import type { KubeSecret } from "../../kube/resources.ts";
import { UPSTREAM_TLS } from "../annotations/own_annotation_names.ts";
import { parseSnapshot } from "../../../shared/snapshot/parse.ts";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { type ClusterBounds, DEFAULT_CLUSTER_BOUNDS, type Translation } from "../translator.ts";
import { plus, type Resource, Scale } from "./cluster_sizes.ts";
import { publishedParts } from "./namespace_parts.ts";

const lineBytes = 1024 * 1024;
const SMALL = chainOf({ intermediate: 1 });
const OWN_CA = (i: number) => ({ [UPSTREAM_TLS.ca]: `ca-${i}` });
const OWN_CERTIFICATE = (i: number) => ({ [UPSTREAM_TLS.clientCertificate]: `own-${i}` });

/** An estimate of what a snapshot takes. */
function taken(snapshot: Snapshot, resource: Resource, bounds: ClusterBounds): number {
  const scale = new Scale(snapshot, bounds);
  return [scale.endpoints, scale.tls].reduce(
    (sum, size) => plus(sum, size, 1),
    scale.totalOf(publishedParts(snapshot)),
  )[resource];
}

function each<T>(make: (i: number) => T): T[] {
  return NAMES.map((_, i) => make(i));
}

/** Publishes before, and then twice what is to be refused. */
function change(
  bounds: ClusterBounds,
  before: ReturnType<typeof tenants>,
  after: ReturnType<typeof tenants>,
): readonly [before: Translation, ...after: Translation[]] {
  const scene = new Scene({ clusterBounds: bounds });
  const first = scene.apply({ ...BY_INGRESSES, ...before });
  assert.deepEqual(full(first), []);
  return [first, ...[1, 2].map(() => scene.apply({ ...BY_INGRESSES, ...after }))];
}

Deno.test("Services that share a client certificate cannot all get another one of its size", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes };
  const shared = [secretWith("evil", "own-0", chainOf({ wildcard: 100 }))];
  const own = each((i) =>
    secretWith("evil", `own-${i}`, chainOf({ wildcard: 1 }) + distinctChain(`${i}`, 93))
  );
  const [, ...after] = change(
    bounds,
    tenants(SMALL, shared, { annotations: OWN_CERTIFICATE(0) }),
    tenants(SMALL, own, { annotations: OWN_CERTIFICATE }),
  );
  for (const each of after) {
    assert.ok(lineOf(each) <= lineBytes, `${lineOf(each)}`);
    assert.ok(full(each).length > 0);
  }
});

Deno.test("Services that share a CA cannot all get another one of its size", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, publishedBytes: 100 * 1024 };
  const shared = [authority("evil", distinctChain("shared", 10), "ca-0")];
  const own = each((i) => authority("evil", distinctChain(`${i}`, 10), `ca-${i}`));
  const [, ...after] = change(
    bounds,
    tenants(SMALL, shared, { annotations: OWN_CA(0) }),
    tenants(SMALL, own, { annotations: OWN_CA }),
  );
  for (const each of after) {
    const size = taken(each.snapshot, "published", bounds);
    assert.ok(size <= bounds.publishedBytes, `${size}`);
    assert.ok(full(each).length > 0);
  }
});

Deno.test("Services whose CAs compress well side by side cannot take them in turns", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, publishedBytes: 150 * 1024 };
  const five = Array.from(
    { length: 5 },
    (_, i) => authority("evil", distinctChain(`${i}`, 13), `ca-${i}`),
  );
  const [, ...after] = change(
    bounds,
    tenants(SMALL, five, { annotations: (i) => OWN_CA(Math.floor(i / 8)) }),
    tenants(SMALL, five, { annotations: (i) => OWN_CA(i % 5) }),
  );
  for (const each of after) {
    const size = taken(each.snapshot, "published", bounds);
    assert.ok(size <= bounds.publishedBytes, `${size}`);
    assert.ok(full(each).length > 0);
  }
});

Deno.test("in a full cluster, a renewed client certificate of some bytes more is shown", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes: 300 * 1024 };
  const scene = new Scene({ clusterBounds: bounds });
  const applied = (chain: string, names: readonly string[]) =>
    scene.apply({
      ...BY_INGRESSES,
      ...tenants(SMALL, [
        ...each((i) => secretWith("evil", `own-${i}`, chain)),
        authority("evil", distinctChain("a", 50), "ca-0"),
      ], { names, annotations: (i) => i < 3 ? OWN_CERTIFICATE(i) : OWN_CA(0) }),
    });
  const first = chainOf({ wildcard: 1 });
  assert.deepEqual(full(applied(first, NAMES.slice(0, 3))), []);
  const renewed = chainOf({ wildcard: 1, two: 1 });
  const after = applied(renewed, NAMES);
  assert.ok(full(after).length > 0, "the cluster is full");
  assert.deepEqual(
    after.snapshot.certificates.map(({ chain }) => chain.kind === "pem" && chain.pem),
    [renewed, renewed, renewed],
  );
});

Deno.test("in a full cluster, a CA that is taken out of ca.crt is trusted no longer", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes };
  const [revoked, kept] = [distinctChain("revoked", 1), distinctChain("kept", 1)];
  const rest = distinctChain("new", 100);
  const secrets = (pem: string) => [authority("evil", pem)];
  const [, ...replaced] = change(
    bounds,
    tenants(SMALL, secrets(revoked)),
    tenants(SMALL, secrets(rest)),
  );
  for (const each of replaced) {
    assert.ok(upstreamsOf(each, "evil").every((one) => !isServed(one)), "all get 503");
    assert.deepEqual(authorities(each, "evil"), ["none"]);
    assert.match(full(each)[0].message, /so requests get 503$/);
  }
  const [, ...removed] = change(
    bounds,
    tenants(SMALL, secrets(revoked + kept)),
    tenants(SMALL, secrets(kept + rest)),
  );
  for (const each of removed) {
    assert.deepEqual(authorities(each, "evil"), [kept]);
    assert.ok(upstreamsOf(each, "evil").every(isServed));
  }
});

Deno.test("one tenant with one large CA leaves room for Ingresses of others", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes };
  const scene = new Scene({ clusterBounds: bounds });
  const large = distinctChain("a", 50);
  const names = (count: number) => ({ names: NAMES.slice(0, count) });
  for (let count = 1; count <= NAMES.length; count++) {
    scene.apply({
      ...BY_INGRESSES,
      ...tenants(SMALL, [authority("evil", large)], names(count)),
    });
  }
  const more = Array.from({ length: 200 }, (_, i) => ingressTo("shop", `more-${i}`));
  const after = scene.apply({
    ingresses: [...BY_INGRESSES.ingresses!, ...more],
    ...tenants(SMALL, [authority("evil", large)]),
  });
  assert.deepEqual(full(after).filter(({ object }) => object?.namespace === "shop"), []);
  assert.ok(lineOf(after) <= lineBytes);
});

Deno.test("a Secret without its CA that becomes large and small again ends as it began", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes };
  const scene = new Scene({ clusterBounds: bounds });
  const applied = (pem: string): Translation =>
    scene.apply({ ...BY_INGRESSES, ...tenants(SMALL, [authority("evil", pem)] as KubeSecret[]) });
  const small = distinctChain("a", 1);
  const large = small + distinctChain("b", 100);
  for (let again = 0; again < 3; again++) {
    assert.deepEqual(authorities(applied(small), "evil"), [small]);
    assert.deepEqual(authorities(applied(large), "evil"), [small]);
  }
  const nothing = scene.apply({});
  assert.deepEqual(nothing.snapshot.routes, []);
  // Whoever has the namespace now has nothing of what was there.
  assert.deepEqual(authorities(applied(large), "evil"), ["none"]);
  assert.deepEqual(authorities(applied(small), "evil"), [small]);
});

Deno.test("Services that share a CA do not take more than there is by many endpoints between them", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, publishedBytes: 150 * 1024 };
  const ca = authority("evil", distinctChain("shared", 24));
  const applied = (scene: Scene, endpoints: number) => {
    const { endpointSlices, ...others } = tenants(SMALL, [ca]);
    return scene.apply({
      ...BY_INGRESSES,
      ...others,
      endpointSlices: endpointSlices.map(({ metadata }) =>
        slice(metadata!.namespace!, metadata!.name!, metadata!.namespace === "evil" ? endpoints : 1)
      ),
    });
  };
  const scene = new Scene({ clusterBounds: bounds });
  const before = applied(scene, 1);
  assert.deepEqual(full(before), []);
  for (let again = 0; again < 2; again++) {
    const after = applied(scene, 200);
    const size = taken(after.snapshot, "published", bounds);
    assert.ok(size <= 1.15 * bounds.publishedBytes, `${size}`);
    const closed = upstreamsOf(after, "evil").filter((each) => !isServed(each));
    assert.ok(closed.length > 0 && closed.length < NAMES.length, `${closed.length}`);
    assert.equal(full(after).length, closed.length);
    assert.ok(upstreamsOf(after, "shop").every(isServed));
  }
  assert.deepEqual(upstreamsOf(applied(scene, 1), "evil").filter((each) => !isServed(each)), []);
});

Deno.test("Services without TLS between those with a CA count as they are published", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, publishedBytes: 400 * 1024 };
  const scene = new Scene({ clusterBounds: bounds });
  const plain = NAMES.flatMap((name) =>
    Array.from({ length: 80 }, (_, i) => `${name}-${String(i).padStart(2, "0")}`)
  );
  const ca = authority("evil", distinctChain("shared", 24));
  const { services, ...others } = tenants(SMALL, [ca]);
  const all = {
    ...others,
    ingresses: [...BY_INGRESSES.ingresses!, ...plain.map((name) => ingressTo("evil", name))],
  };
  const plainServices = plain.map((name) => ({
    metadata: { namespace: "evil", name },
    spec: { ports: [{ port: 80 }] },
  }));
  scene.apply({ ...BY_INGRESSES, ...others, services });
  const after = scene.apply({ ...all, services: [...services, ...plainServices] });
  const size = taken(after.snapshot, "published", bounds);
  assert.equal(after.snapshot.routes.length, NAMES.length * 81 + 1);
  assert.ok(size <= 1.15 * bounds.publishedBytes, `${size}`);
});

Deno.test("in a full cluster, an upstream under another id takes the room of the one before", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes };
  const scene = new Scene({ clusterBounds: bounds });
  const [few, all] = [NAMES.slice(0, 8), NAMES];
  const large = distinctChain("a", 60);
  const applied = (names: readonly string[], port: number) => {
    const made = tenants(SMALL, [authority("evil", large)], { names });
    return scene.apply({
      ...made,
      services: made.services.map((each) =>
        each.metadata!.name === "s00"
          ? { ...each, spec: { ports: [{ port, appProtocol: "https" }] } }
          : each
      ),
      ingresses: NAMES.map((name) => ingressTo("evil", name, name === "s00" ? port : 80)),
    });
  };
  assert.deepEqual(full(applied(few, 80)), []);
  const after = applied(all, 8443);
  assert.ok(full(after).length > 0, "the cluster is full");
  const renamed = upstreamsOf(after, "evil").find(({ id }) => id === "evil/s00:8443")!;
  assert.equal(renamed.tls?.ca?.pem, large);
  assert.ok(isServed(renamed));
});

Deno.test("a controller that has read the published configuration holds the same CAs and certificates", () => {
  const bounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes };
  const small = distinctChain("a", 1);
  const secrets = (pem: string, chain: string) => [
    authority("evil", pem),
    secretWith("evil", "own", chain),
  ];
  const annotations = { [UPSTREAM_TLS.ca]: "ca", [UPSTREAM_TLS.clientCertificate]: "own" };
  const scene = new Scene({ clusterBounds: bounds });
  const applied = (pem: string, chain: string) =>
    scene.apply({ ...BY_INGRESSES, ...tenants(SMALL, secrets(pem, chain), { annotations }) });
  applied(small, chainOf({ wildcard: 1 }));
  const large = [small + distinctChain("b", 100), chainOf({ wildcard: 1, two: 150 })] as const;
  const held = applied(...large).snapshot;
  const { snapshot } = parseSnapshot(serialiseSnapshot(held, { revealKeys: true }));
  scene.published = snapshot!;
  const again = applied(...large);
  assert.deepEqual(again.snapshot.upstreams, held.upstreams);
  assert.deepEqual(
    again.snapshot.certificates.map(({ id }) => id),
    held.certificates.map(({ id }) => id),
  );
  assert.ok(full(again).length > 0);
});
