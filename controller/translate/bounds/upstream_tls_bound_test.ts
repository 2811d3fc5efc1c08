/** Authorities and client certificates for backends, of which one tenant names many. */
import assert from "node:assert/strict";
import { chainOf, secretWith } from "../../../tests/support/large_certificates.ts";
import {
  authorities,
  authority,
  BY_INGRESSES,
  BY_ROUTES,
  full,
  isServed,
  lineOf,
  NAMES,
  tenants,
  upstreamsOf,
} from "../../../tests/support/secured_backends.ts";
import { Scene } from "../../../tests/support/shared_address_scene.ts";
import { UPSTREAM_TLS } from "../annotations/own_annotation_names.ts";
import { DEFAULT_CLUSTER_BOUNDS, type Translation } from "../translator.ts";

const lineBytes = 1024 * 1024;
const clusterBounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes };

const LARGE = chainOf({ intermediate: 100 });
const SMALL = chainOf({ intermediate: 1 });

for (const [by, named] of [["Ingresses", BY_INGRESSES], ["HTTPRoutes", BY_ROUTES]] as const) {
  Deno.test(`${by} with a large CA for each of many Services get 503, and other tenants are served`, () => {
    const scene = new Scene({ clusterBounds });
    for (let again = 0; again < 2; again++) {
      const after = scene.apply({ ...named, ...tenants(SMALL, [authority("evil", LARGE)]) });
      assert.ok(lineOf(after) <= lineBytes);
      assert.equal(upstreamsOf(after, "evil").length, NAMES.length);
      for (const each of upstreamsOf(after, "evil")) {
        assert.equal(each.protocol, "https");
        assert.equal(isServed(each), false, "without its CA it gets no requests");
      }
      assert.deepEqual(authorities(after, "shop"), [SMALL]);
      assert.ok(upstreamsOf(after, "shop").every(isServed));
      const problems = full(after);
      assert.deepEqual(problems.map(({ object }) => `${object?.kind} ${object?.name}`), [
        ...NAMES.map((name) => `Service ${name}`),
      ]);
      assert.equal(problems[0].field, `metadata.annotations["${UPSTREAM_TLS.ca}"]`);
      assert.match(problems[0].message, /the stream to proxies hold, .* so requests get 503$/);
      assert.match(problems[0].remedy, /^Write only the CA .* into ca\.crt, or remove routes/);
    }
  });

  Deno.test(`the CA of ${by} that becomes large in many Services leaves the published one in use`, () => {
    const scene = new Scene({ clusterBounds });
    const applied = (pem: string) =>
      scene.apply({ ...named, ...tenants(SMALL, [authority("evil", pem)]) });
    const before = applied(SMALL);
    assert.deepEqual(full(before), []);
    for (let again = 0; again < 2; again++) {
      const after = applied(LARGE);
      assert.deepEqual(authorities(after, "evil"), [SMALL]);
      assert.ok(upstreamsOf(after, "evil").every(isServed));
      assert.equal(full(after).length, NAMES.length);
      assert.match(full(after)[0].message, /the published ones stay in use$/);
      assert.ok(lineOf(after) <= lineBytes);
    }
    const renewed = applied(chainOf({ wildcard: 1 }));
    assert.deepEqual(authorities(renewed, "evil"), [chainOf({ wildcard: 1 })]);
    assert.deepEqual(full(renewed), []);
  });
}

Deno.test("a large client certificate that a tenant shows to backends leaves the published one in use", () => {
  const bounds = { ...clusterBounds, lineBytes: 100 * 1024 };
  const scene = new Scene({ clusterBounds: bounds });
  const annotations = { [UPSTREAM_TLS.clientCertificate]: "own" };
  const applied = (chain: string) =>
    scene.apply({
      ...BY_INGRESSES,
      ...tenants(SMALL, [secretWith("evil", "own", chain)], { annotations }),
    });
  const shown = ({ snapshot }: Translation) =>
    snapshot.certificates.map(({ chain }) => chain.kind === "pem" ? chain.pem : chain.kind);
  const small = chainOf({ wildcard: 1 });
  assert.deepEqual(shown(applied(small)), [small]);
  for (let again = 0; again < 2; again++) {
    const after = applied(chainOf({ wildcard: 170 }));
    assert.deepEqual(shown(after), [small]);
    const [{ field, message, remedy }] = full(after);
    assert.equal(field, `metadata.annotations["${UPSTREAM_TLS.clientCertificate}"]`);
    assert.match(message, /^with the client certificate for upstream evil\/s00:80 .* stay in use$/);
    assert.match(remedy, /^Write only the certificates that the backend needs into tls\.crt, or /);
    const [{ id }] = after.snapshot.certificates;
    assert.ok(upstreamsOf(after, "evil").every(({ tls }) => tls?.clientCertificate === id));
  }
});

Deno.test("a CA that was refused in a full tenant is served once there is room", () => {
  const scene = new Scene({ clusterBounds });
  const few = { names: NAMES.slice(0, 2) };
  const all = scene.apply({ ...BY_INGRESSES, ...tenants(SMALL, [authority("evil", LARGE)]) });
  assert.equal(full(all).length, NAMES.length);
  const after = scene.apply({
    ...BY_INGRESSES,
    ...tenants(SMALL, [authority("evil", LARGE)], few),
  });
  assert.deepEqual(full(after), []);
  assert.deepEqual(authorities(after, "evil"), [LARGE]);
  assert.ok(upstreamsOf(after, "evil").every(isServed));
});
