/** Gateway API from one translation to the next, beside Ingresses. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import type { Resources } from "../../kube/resources.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "../bounds/namespace_bounds.ts";
import {
  DEFAULT_CLUSTER_BOUNDS,
  DEFAULT_GATEWAY_OPTIONS,
  type TranslateOptions,
  type Translation,
  Translator,
} from "../translator.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";

const OPTIONS = {
  ...TRANSLATE_OPTIONS,
  controllerNames: [],
  hostOwnership: "shared",
  gateway: DEFAULT_GATEWAY_OPTIONS,
} as const;

const CLASS = {
  metadata: { name: "pingress" },
  spec: { controllerName: "pingress.io/gateway-controller" },
};

function gatewayOf(name: string) {
  return {
    metadata: { name, namespace: "shop" },
    spec: {
      gatewayClassName: "pingress",
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    },
  };
}

function routeTo(service: string, hostname = `${service}.example.com`) {
  return {
    metadata: { name: service, namespace: "shop" },
    spec: {
      parentRefs: [{ name: "web" }],
      hostnames: [hostname],
      rules: [{
        filters: [{
          type: "RequestHeaderModifier",
          requestHeaderModifier: { remove: ["x-debug"] },
        }],
        backendRefs: [{ name: service, port: 80 }],
      }],
    },
  };
}

function serviceOf(name: string) {
  return { metadata: { name, namespace: "shop" }, spec: { ports: [{ port: 80 }] } };
}

function sliceOf(service: string, address: string) {
  return {
    metadata: {
      name: `${service}-1`,
      namespace: "shop",
      labels: { "kubernetes.io/service-name": service },
    },
    addressType: "IPv4",
    endpoints: [{ addresses: [address] }],
    ports: [{ port: 8080 }],
  };
}

function ingressTo(service: string) {
  const backend = { service: { name: service, port: { number: 80 } } };
  return {
    metadata: { name: service, namespace: "shop" },
    spec: {
      ingressClassName: "pingress",
      rules: [{
        host: "ingress.example.com",
        http: { paths: [{ path: "/", pathType: "Prefix", backend }] },
      }],
    },
  };
}

const BASE: Resources = {
  ingresses: [],
  ingressClasses: [],
  services: ["a", "b", "c"].map(serviceOf),
  endpointSlices: ["a", "b", "c"].map((name, i) => sliceOf(name, `10.0.0.${i + 1}`)),
  secrets: [],
  gatewayClasses: [CLASS],
  gateways: [gatewayOf("web")],
  httpRoutes: [routeTo("a"), routeTo("b")],
  referenceGrants: [],
};

function translateWith(
  translator: Translator,
  resources: Resources,
  published: Snapshot | null = null,
): Translation {
  return translator.translate(resources, published, OPTIONS, () => 0);
}

function upstreamIds({ snapshot }: Translation): string[] {
  return snapshot.upstreams.map(({ id }) => id);
}

/** The same by a translator that remembers nothing. */
function assertAsAnew(translation: Translation, resources: Resources, published?: Snapshot): void {
  const anew = translateWith(new Translator(), resources, published);
  assert.deepEqual(translation.snapshot, anew.snapshot);
  assert.deepEqual(translation.gateway, anew.gateway);
}

Deno.test("without a change of objects the translation is the very same as before", () => {
  const translator = new Translator();
  const first = translateWith(translator, BASE);
  const again = translateWith(translator, { ...BASE, gateways: [...BASE.gateways!] });
  assert.equal(again.gateway, first.gateway);
  assert.equal(again.snapshot.routes, first.snapshot.routes);
  assert.equal(again.snapshot.upstreams, first.snapshot.upstreams);
});

Deno.test("an endpoint that changes reaches the upstream of a Gateway's route, which stays", () => {
  const translator = new Translator();
  const first = translateWith(translator, BASE);
  const endpointSlices = [sliceOf("a", "10.0.0.9"), ...BASE.endpointSlices.slice(1)];
  const after = translateWith(translator, { ...BASE, endpointSlices });
  assert.equal(after.snapshot.routes, first.snapshot.routes);
  const { addresses } = after.snapshot.upstreams[0];
  assert.ok(addresses.kind === "endpoints");
  assert.equal(addresses.endpoints[0].address, "10.0.0.9");
  assertAsAnew(after, { ...BASE, endpointSlices });
});

Deno.test("upstreams come and go with the routes and Ingresses that need them", () => {
  const translator = new Translator();
  const steps: readonly (readonly [Partial<Resources>, string[]])[] = [
    [{}, ["a", "b"]],
    [{ httpRoutes: [routeTo("b")] }, ["b"]],
    [{ httpRoutes: [routeTo("b")], ingresses: [ingressTo("b")] }, ["b"]],
    [{ httpRoutes: [routeTo("c")], ingresses: [ingressTo("b")] }, ["b", "c"]],
    [{ httpRoutes: [routeTo("c")], ingresses: [ingressTo("c")] }, ["c"]],
    [{ httpRoutes: [], ingresses: [ingressTo("c")] }, ["c"]],
    [{ httpRoutes: [routeTo("a")], ingresses: [] }, ["a"]],
    [{ httpRoutes: [], ingresses: [] }, []],
    [{ httpRoutes: [routeTo("a"), routeTo("b")] }, ["a", "b"]],
    [{ gateways: [] }, []],
  ];
  for (const [change, services] of steps) {
    const resources = { ...BASE, ...change };
    const translation = translateWith(translator, resources);
    assert.deepEqual(upstreamIds(translation), services.map((name) => `shop/${name}:80`));
    assertAsAnew(translation, resources);
  }
});

Deno.test("while Gateways are not known yet, their published routes stay, with live endpoints", () => {
  const { snapshot } = translateWith(new Translator(), BASE);
  const pending: Resources = {
    ...BASE,
    ...{ gatewayClasses: null, gateways: null, httpRoutes: null, referenceGrants: null },
    gatewayIsPending: true,
    endpointSlices: [sliceOf("a", "10.0.0.9"), ...BASE.endpointSlices.slice(1)],
    ingresses: [ingressTo("c")],
  };
  const translator = new Translator();
  const kept = translateWith(translator, pending, snapshot);
  assert.equal(kept.gateway, null);
  const ofGateways = kept.snapshot.routes.filter(({ listeners }) => listeners !== undefined);
  assert.deepEqual(ofGateways, snapshot.routes);
  assert.equal(kept.snapshot.routes.length, snapshot.routes.length + 1);
  assert.deepEqual(kept.snapshot.listeners, snapshot.listeners);
  assert.deepEqual(kept.snapshot.filterSets, snapshot.filterSets);
  assert.deepEqual(upstreamIds(kept), ["shop/a:80", "shop/b:80", "shop/c:80"]);
  assert.match(JSON.stringify(kept.snapshot.upstreams[0]), /10\.0\.0\.9/);
  const known = translateWith(translator, { ...BASE, ingresses: [ingressTo("c")] }, kept.snapshot);
  assertAsAnew(known, { ...BASE, ingresses: [ingressTo("c")] }, kept.snapshot);
  assert.equal(known.gateway?.gateways.length, 1);
});

Deno.test("a Gateway keeps its container port when another one comes first", () => {
  const before = translateWith(new Translator(), BASE);
  const [{ socket }] = before.snapshot.listeners!;
  const older = { ...gatewayOf("older"), metadata: { name: "older", namespace: "a" } };
  const resources = { ...BASE, gateways: [older, ...BASE.gateways!] };
  const after = translateWith(new Translator(), resources, before.snapshot);
  const listeners = after.snapshot.listeners!;
  assert.equal(listeners.length, 2);
  assert.equal(listeners.find(({ id }) => id === "shop/web/http")?.socket, socket);
});

Deno.test("routes of HTTPRoutes that have not changed are the very same when others, or statuses, change", () => {
  const translator = new Translator();
  const { snapshot: { routes: [a, b] } } = translateWith(translator, BASE);
  const [gateway] = BASE.gateways as readonly Record<string, unknown>[];
  const resources = {
    ...BASE,
    gateways: [{ ...gateway, status: { listeners: [{ name: "http", attachedRoutes: 2 }] } }],
    httpRoutes: [...BASE.httpRoutes!, routeTo("c")],
  };
  const after = translateWith(translator, resources);
  assert.equal(after.snapshot.routes.length, 3);
  assert.equal(after.snapshot.routes[0], a);
  assert.equal(after.snapshot.routes[1], b);
  assertAsAnew(after, resources);

  const without = { ...resources, services: BASE.services.slice(1) };
  const changed = translateWith(translator, without);
  assert.notEqual(changed.snapshot.routes[0], a);
  assert.equal(changed.snapshot.routes[1], b);
  assertAsAnew(changed, without);

  const listeners = [{ name: "other", port: 80, protocol: "HTTP" }];
  const renamed = {
    ...resources,
    gateways: [{ ...gateway, spec: { gatewayClassName: "pingress", listeners } }],
  };
  assertAsAnew(translateWith(translator, renamed), renamed);
});

const EXCESS = { excess: { bound: "bytes", limit: 4096 } };

Deno.test("a Gateway of which only a stub is kept is not served, and others are", () => {
  const stub = {
    metadata: { name: "huge", namespace: "flood" },
    spec: { gatewayClassName: "pingress" },
    ...EXCESS,
  };
  const resources = { ...BASE, gateways: [...BASE.gateways!, stub] };
  const { snapshot, gateway } = translateWith(new Translator(), resources);
  assert.deepEqual(snapshot, translateWith(new Translator(), BASE).snapshot);
  const { conditions: [accepted], address, ports } = gateway!.gateways.find(({ identity }) =>
    identity.ref.name === "huge"
  )!;
  assert.deepEqual({ ...accepted, address, ports }, {
    ...{ type: "Accepted", status: "False", reason: "ObjectTooLarge", address: "own", ports: [] },
    message: "it has more than 4096 bytes, so it is not served. Split it into objects of at most " +
      "4096 bytes, or raise --max-object-bytes of the controller.",
  });
});

Deno.test("a ReferenceGrant of which only a stub is kept permits nothing, and a BackendTLSPolicy protects", () => {
  const grant = { metadata: { name: "grant", namespace: "data" }, spec: {}, ...EXCESS };
  const policy = {
    metadata: { name: "tls", namespace: "shop" },
    spec: { targetRefs: [{ group: "", kind: "Service", name: "a" }] },
    ...EXCESS,
  };
  const to = routeTo("b");
  const [rule] = to.spec.rules;
  const backendRefs = [{ name: "b", namespace: "data", port: 80 }];
  const foreign = { ...to, spec: { ...to.spec, rules: [{ ...rule, backendRefs }] } };
  const resources = {
    ...BASE,
    services: [...BASE.services, { ...serviceOf("b"), metadata: { name: "b", namespace: "data" } }],
    httpRoutes: [routeTo("a"), foreign],
    referenceGrants: [grant],
    backendTlsPolicies: [policy],
  };
  const { gateway, problems } = translateWith(new Translator(), resources);
  const reasons = gateway!.routes.map(({ parents: [{ conditions }] }) =>
    conditions.find(({ type }) => type === "ResolvedRefs")?.reason
  );
  assert.deepEqual(reasons, ["ResolvedRefs", "RefNotPermitted"]);
  assert.match(JSON.stringify(gateway!.routes[0]), /BackendTLSPolicy shop\/tls targets/);
  assert.deepEqual(
    problems.filter(({ reason }) => reason === "ObjectTooLarge").map(({ object }) => object?.kind)
      .sort(),
    ["BackendTLSPolicy", "ReferenceGrant"],
  );
});

/** As the controller does it: what came of one translation is published before the next. */
function publishedEach(options: Partial<TranslateOptions>, now = 0) {
  const translator = new Translator();
  let published: Snapshot | null = null;
  return (change: Partial<Resources>): Translation => {
    const inputs = [{ ...BASE, ...change }, published, { ...OPTIONS, ...options }] as const;
    const translation = translator.translate(...inputs, () => now);
    const anew = new Translator().translate(...inputs, () => now);
    assert.deepEqual(translation.snapshot, anew.snapshot);
    assert.deepEqual(translation.gateway, anew.gateway);
    assert.deepEqual(translation.problems, anew.problems);
    // Proxies and other replicas have it from its text.
    published = { ...translation.snapshot };
    return translation;
  };
}

function stubOf({ metadata, spec: { rules: _, ...spec } }: ReturnType<typeof routeTo>) {
  return { metadata, spec, ...EXCESS };
}

const REFUSALS: readonly (readonly [
  refused: string,
  options: Partial<TranslateOptions>,
  change?: Partial<Resources>,
])[] = [
  ["for the bound of its namespace", {
    namespaceBounds: { ...DEFAULT_NAMESPACE_BOUNDS, routes: 1 },
  }],
  ["for the limit of the cluster", {
    clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, lineBytes: 1_600 },
  }],
  ["for its size", {}, {
    httpRoutes: [routeTo("a"), stubOf(routeTo("b"))],
  }],
];

for (const [refused, options, change = {}] of REFUSALS) {
  for (const address of ["own", "shared"] as const) {
    const name =
      `while an HTTPRoute is refused ${refused} on an address that is ${address}, changes of others ` +
      "translate no Gateway anew";
    Deno.test(name, () => {
      const apply = publishedEach({
        ...options,
        gateway: { ...DEFAULT_GATEWAY_OPTIONS, address },
      });
      apply({ ...change, httpRoutes: [routeTo("a")] });
      // Its namespace has no more than what was published.
      const first = apply(change);
      const accepted = first.gateway!.routes.map(({ parents: [{ conditions: [{ status }] }] }) =>
        status
      );
      assert.deepEqual(accepted, ["True", "False"]);
      const second = apply(change);
      const [, b, c] = BASE.endpointSlices;
      const changes: readonly Partial<Resources>[] = [
        { endpointSlices: [sliceOf("a", "10.0.0.9"), b, c] },
        { endpointSlices: [sliceOf("a", "10.0.0.10"), b, c] },
        { ingressClasses: [{ metadata: { name: "other" } }] },
      ];
      for (const each of changes) {
        const after = apply({ ...change, ...each });
        assert.ok(after.gateway === second.gateway, JSON.stringify(each));
      }
      // But what it depends on does.
      const back = apply({ ...change, httpRoutes: [routeTo("a")] });
      assert.equal(back.gateway!.routes.length, 1);
    });
  }
}

Deno.test("problems of certificates of a Gateway stay when something else changes", () => {
  const [chain, key] = ["wildcard.crt", "wildcard.key"].map((name) =>
    btoa(
      Deno.readTextFileSync(new URL(`../../../tests/golden/certificates/${name}`, import.meta.url)),
    )
  );
  const secrets = [{
    metadata: { namespace: "shop", name: "cert" },
    type: "kubernetes.io/tls",
    data: { "tls.crt": chain, "tls.key": key },
  }];
  const listeners = [{
    ...{ name: "https", port: 443, protocol: "HTTPS" },
    tls: { certificateRefs: [{ name: "cert" }] },
  }];
  const gateways = [{
    ...gatewayOf("web"),
    spec: { gatewayClassName: "pingress", listeners },
  }];
  const apply = publishedEach({}, Date.parse("2200-01-01T00:00:00Z"));
  const reasons = (change: Partial<Resources>) =>
    apply({ gateways, secrets, ...change }).problems.map(({ reason, object }) =>
      `${reason} ${object?.name}`
    );
  assert.deepEqual(reasons({}), ["CertificateExpired cert"]);
  const endpointSlices = [sliceOf("a", "10.0.0.9"), ...BASE.endpointSlices.slice(1)];
  assert.deepEqual(reasons({ endpointSlices }), ["CertificateExpired cert"]);
  const ingresses = [ingressTo("c")];
  assert.deepEqual(reasons({ ingresses }), ["CertificateExpired cert"]);
  assert.deepEqual(reasons({ ingresses, endpointSlices }), ["CertificateExpired cert"]);
  // And goes with what it is about.
  assert.deepEqual(reasons({ ingresses, gateways: [gatewayOf("web")] }), []);
  assert.deepEqual(reasons({ ingresses }), ["CertificateExpired cert"]);
  assert.deepEqual(reasons({ ingresses, secrets: [] }), []);
});

Deno.test("a route whose listener has no free port says so, and is served once there is one", () => {
  const gateways = ["older", "web"].map((name, i) => ({
    ...gatewayOf(name),
    metadata: { name, namespace: "shop", creationTimestamp: `202${i}-01-01T00:00:00Z` },
  }));
  const acceptedWith = (to: number) => {
    const gateway = { ...DEFAULT_GATEWAY_OPTIONS, listenRange: { from: 10_000, to } };
    const { gateway: translation } = new Translator().translate(
      { ...BASE, gateways, httpRoutes: [routeTo("a")] },
      null,
      { ...OPTIONS, gateway },
      () => 0,
    );
    return translation!.routes[0].parents[0].conditions[0].message;
  };
  assert.equal(acceptedWith(10_000), "not served by listener http (PortUnavailable).");
  assert.equal(acceptedWith(10_001), "");
});
