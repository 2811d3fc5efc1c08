/** Authorities and client certificates for backends, of which one tenant names many. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import type { Upstream } from "../../../shared/snapshot/types.ts";
import { chainOf, secretWith } from "../../../tests/support/large_certificates.ts";
import { gateway, ingress, route, Scene } from "../../../tests/support/shared_address_scene.ts";
import type { KubeSecret, Resources } from "../../kube/resources.ts";
import { UPSTREAM_TLS } from "../annotations/own_annotation_names.ts";
import { DEFAULT_CLUSTER_BOUNDS, type Translation } from "../translator.ts";

const lineBytes = 1024 * 1024;
const clusterBounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes };

const LARGE = chainOf({ intermediate: 100 });
const SMALL = chainOf({ intermediate: 1 });

const NAMES = Array.from({ length: 40 }, (_, i) => `s${String(i).padStart(2, "0")}`);

function authority(namespace: string, pem: string): KubeSecret {
  return {
    metadata: { namespace, name: "ca" },
    data: { "ca.crt": btoa(pem) },
  } as unknown as KubeSecret;
}

type Annotations = Readonly<Record<string, string>>;

function service(namespace: string, name: string, annotations: Annotations) {
  return {
    metadata: { namespace, name, annotations },
    spec: { ports: [{ port: 80, appProtocol: "https" }] },
  };
}

function slice(namespace: string, name: string) {
  return {
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.9"] }],
    ports: [{ port: 8080 }],
  };
}

function ingressOf(namespace: string, name: string) {
  const made = ingress(namespace, name, 0, `${name}.${namespace}.test`);
  made.spec.rules[0].http.paths[0].backend.service.name = name;
  return made;
}

function routeOf(namespace: string, name: string) {
  const made = route(namespace, name, 0, [`${name}.${namespace}.test`], ["infra/web"]);
  made.spec.rules[0].backendRefs[0].name = name;
  return made;
}

interface Settings {
  readonly names?: readonly string[];
  readonly annotations?: Annotations;
}

/** Of a tenant whose Services name Secrets, and of one with a single Service. */
function tenants(
  secrets: readonly KubeSecret[],
  { names = NAMES, annotations = { [UPSTREAM_TLS.ca]: "ca" } }: Settings = {},
): Pick<Resources, "services" | "endpointSlices" | "secrets"> {
  return {
    services: [
      ...names.map((name) => service("evil", name, annotations)),
      service("shop", "web", { [UPSTREAM_TLS.ca]: "ca" }),
    ],
    endpointSlices: [...names.map((name) => slice("evil", name)), slice("shop", "web")],
    secrets: [authority("shop", SMALL), ...secrets],
  };
}

const BY_INGRESSES: Partial<Resources> = {
  ingresses: [...NAMES.map((name) => ingressOf("evil", name)), ingressOf("shop", "web")],
};

const BY_ROUTES: Partial<Resources> = {
  gateways: [gateway("infra", "web", 0, null)],
  httpRoutes: [...NAMES.map((name) => routeOf("evil", name)), routeOf("shop", "web")],
};

function upstreamsOf({ snapshot }: Translation, namespace: string): readonly Upstream[] {
  return snapshot.upstreams.filter(({ id }) => id.startsWith(`${namespace}/`));
}

/** What the upstreams of a tenant have as authorities, each once. */
function authorities(translation: Translation, namespace: string): readonly string[] {
  return [...new Set(upstreamsOf(translation, namespace).map(({ tls }) => tls?.ca?.pem ?? "none"))];
}

function isServed({ addresses }: Upstream): boolean {
  return addresses.kind === "dns" || addresses.endpoints.length > 0;
}

function full({ problems }: Translation) {
  return problems.filter(({ reason }) => reason === "ClusterLimitExceeded");
}

function isWithinLine({ snapshot }: Translation): boolean {
  return Buffer.byteLength(serialiseSnapshot(snapshot, { revealKeys: true })) <= lineBytes;
}

for (const [by, named] of [["Ingresses", BY_INGRESSES], ["HTTPRoutes", BY_ROUTES]] as const) {
  Deno.test(`${by} with a large CA for each of many Services get 503, and other tenants are served`, () => {
    const scene = new Scene({ clusterBounds });
    for (let again = 0; again < 2; again++) {
      const after = scene.apply({ ...named, ...tenants([authority("evil", LARGE)]) });
      assert.ok(isWithinLine(after));
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
      scene.apply({ ...named, ...tenants([authority("evil", pem)]) });
    const before = applied(SMALL);
    assert.deepEqual(full(before), []);
    for (let again = 0; again < 2; again++) {
      const after = applied(LARGE);
      assert.deepEqual(authorities(after, "evil"), [SMALL]);
      assert.ok(upstreamsOf(after, "evil").every(isServed));
      assert.equal(full(after).length, NAMES.length);
      assert.match(full(after)[0].message, /the published ones stay in use$/);
      assert.ok(isWithinLine(after));
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
      ...tenants([secretWith("evil", "own", chain)], { annotations }),
    });
  const shown = ({ snapshot }: Translation) =>
    snapshot.certificates.map(({ chain }) => chain.kind === "pem" ? chain.pem : chain.kind);
  const small = chainOf({ wildcard: 1 });
  assert.deepEqual(shown(applied(small)), [small]);
  for (let again = 0; again < 2; again++) {
    const after = applied(chainOf({ wildcard: 170 }));
    assert.deepEqual(shown(after), [small]);
    const [{ id }] = after.snapshot.certificates;
    assert.ok(upstreamsOf(after, "evil").every(({ tls }) => tls?.clientCertificate === id));
  }
});

Deno.test("a CA that was refused in a full tenant is served once there is room", () => {
  const scene = new Scene({ clusterBounds });
  const few = { names: NAMES.slice(0, 2) };
  const all = scene.apply({ ...BY_INGRESSES, ...tenants([authority("evil", LARGE)]) });
  assert.equal(full(all).length, NAMES.length);
  const after = scene.apply({ ...BY_INGRESSES, ...tenants([authority("evil", LARGE)], few) });
  assert.deepEqual(full(after), []);
  assert.deepEqual(authorities(after, "evil"), [LARGE]);
  assert.ok(upstreamsOf(after, "evil").every(isServed));
});
