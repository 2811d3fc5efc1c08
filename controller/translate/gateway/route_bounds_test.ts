import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";
import type { GatewayObject, Ingress, Resources } from "../../kube/resources.ts";
import { DEFAULT_NAMESPACE_BOUNDS, type NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { translate, type Translation, Translator } from "../translator.ts";
import { DEFAULT_GATEWAY_OPTIONS } from "./gateway_translator.ts";
import { GATEWAY_CONTROLLER } from "./objects/gateway_class.ts";

const CLOCK = () => Date.UTC(2026, 0, 1);

/** A route of the namespace; the n-th is the n-th oldest. */
function route(
  namespace: string,
  n: number,
  spec: { readonly hostnames?: readonly string[]; readonly rules: readonly unknown[] },
): GatewayObject {
  const creationTimestamp = new Date(Date.UTC(2025, 0, 1) + n * 1000).toISOString();
  const metadata = { namespace, name: `route-${n}`, generation: 1, creationTimestamp };
  return {
    metadata,
    spec: {
      parentRefs: [{ name: "web", namespace: "infra" }],
      hostnames: [`r${n}.${namespace}.example.com`],
      ...spec,
    },
  };
}

/** A rule of so many paths. */
function rule(paths: number, backends: readonly unknown[] = [{ name: "web", port: 80 }]) {
  return {
    matches: Array.from({ length: paths }, (_, i) => ({
      path: { type: "PathPrefix", value: `/path-${i}` },
    })),
    backendRefs: backends,
  };
}

/** As large as the CRD lets one be: 128 matches, 16 hostnames and 16 backends. */
function largest(namespace: string, n: number): GatewayObject {
  return route(namespace, n, {
    hostnames: Array.from({ length: 16 }, (_, i) => `h${i}.r${n}.${namespace}.example.com`),
    rules: Array.from({ length: 16 }, (_, i) => ({
      matches: Array.from({ length: 8 }, (_, j) => ({
        path: { type: "PathPrefix", value: `/${i}/${j}` },
        headers: Array.from({ length: 16 }, (_, k) => ({ name: `x-${k}`, value: "v".repeat(256) })),
      })),
      backendRefs: Array.from({ length: 16 }, () => ({ name: "web", port: 80 })),
    })),
  });
}

function resources(
  httpRoutes: readonly GatewayObject[],
  more: Partial<Resources> = {},
): Resources {
  const namespaces = ["infra", "a", "b", "c"];
  return {
    ingresses: [],
    ingressClasses: [],
    services: namespaces.map((namespace) => ({
      metadata: { namespace, name: "web" },
      spec: { ports: [{ port: 80 }] },
    })),
    endpointSlices: [],
    secrets: [],
    gatewayClasses: [{
      metadata: { name: "pingress" },
      spec: { controllerName: GATEWAY_CONTROLLER },
    }],
    gateways: [{
      metadata: { namespace: "infra", name: "web" },
      spec: {
        gatewayClassName: "pingress",
        listeners: [{
          ...{ name: "http", port: 80, protocol: "HTTP" },
          allowedRoutes: { namespaces: { from: "All" } },
        }],
      },
    }],
    httpRoutes,
    ...more,
  };
}

function optionsOf(bounds: Partial<NamespaceBounds>) {
  return {
    ...TRANSLATE_OPTIONS,
    controllerNames: [],
    gateway: DEFAULT_GATEWAY_OPTIONS,
    namespaceBounds: { ...DEFAULT_NAMESPACE_BOUNDS, ...bounds },
  };
}

function translated(
  given: Resources,
  bounds: Partial<NamespaceBounds> = {},
  published: Snapshot | null = null,
): Translation {
  return translate(given, published, optionsOf(bounds), CLOCK);
}

/** Routes of the snapshot, by the HTTPRoute that they are of. */
function served({ snapshot }: Translation): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { origin: { namespace, name } } of snapshot.routes) {
    const key = `${namespace}/${name}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/** Reason of Accepted, by HTTPRoute. */
function accepted({ gateway }: Translation): Record<string, string> {
  return Object.fromEntries(gateway!.routes.map(({ identity: { key }, parents }) => [
    key,
    parents[0].conditions.find(({ type }) => type === "Accepted")!.reason,
  ]));
}

Deno.test("twenty of the largest HTTPRoutes of one namespace leave all others served", () => {
  const tenant = Array.from({ length: 20 }, (_, n) => largest("a", n));
  const others = ["b", "c"].map((namespace) => route(namespace, 0, { rules: [rule(3)] }));
  const result = translated(resources([...tenant, ...others]));
  const counts = served(result);
  deepEqual([counts["b/route-0"], counts["c/route-0"]], [3, 3]);
  const own = result.snapshot.routes.filter(({ origin }) => origin.namespace === "a");
  ok(own.length <= DEFAULT_NAMESPACE_BOUNDS.routes);
  ok(
    JSON.stringify(own.map(({ host, match, action }) => [host, match, action])).length <
      2 * DEFAULT_NAMESPACE_BOUNDS.hostBytes,
  );
  const refused = result.gateway!.routes.filter(({ parents }) =>
    parents[0].conditions[0].reason === "NamespaceLimitExceeded"
  );
  ok(refused.length >= 15, `${refused.length} refused`);
  const [{ status, message }] = refused[0].parents[0].conditions;
  equal(status, "False");
  match(
    message,
    /^with this route namespace a would have more than .*, so it is not served\. Remove /,
  );
  match(message, /raise --max-namespace-(routes|host-bytes) of the controller\.$/);
  // Nothing else of theirs: neither counts of the listener nor upstreams.
  const [{ listeners: [{ attachedRoutes }] }] = result.gateway!.gateways;
  equal(attachedRoutes, 22 - refused.length);
});

Deno.test("a route with 16 rules of 64 matches is served within the default bounds", () => {
  const rules = Array.from({ length: 16 }, (_, i) => ({
    ...rule(64),
    matches: rule(64).matches.map(({ path }) => ({
      path: { ...path, value: `/${i}${path.value}` },
    })),
  }));
  const result = translated(resources([route("a", 0, { rules })]));
  deepEqual(served(result), { "a/route-0": 1024 });
  deepEqual(accepted(result), { "a/route-0": "Accepted" });
});

Deno.test("over the bound, published routes stay and the oldest new ones are added first", () => {
  const routes = (sizes: readonly number[]) =>
    resources(sizes.map((size, n) => route("a", n, { rules: [rule(size)] })));
  const bounds = { routes: 10 };
  const first = translated(routes([4, 4]), bounds);
  // The second asks for more than there is, and the third fits.
  const second = translated(routes([4, 8, 2]), bounds, first.snapshot);
  deepEqual(served(second), { "a/route-0": 4, "a/route-1": 4, "a/route-2": 2 });
  deepEqual(accepted(second), {
    "a/route-0": "Accepted",
    "a/route-1": "NamespaceLimitExceeded",
    "a/route-2": "Accepted",
  });
  match(
    second.gateway!.routes[1].parents[0].conditions[0].message,
    /more than 10 routes, so its published rules stay active\. Remove /,
  );
  // Once there is room, it is served as it is written.
  const third = translated(routes([1, 8]), bounds, second.snapshot);
  deepEqual(served(third), { "a/route-0": 1, "a/route-1": 8 });
  deepEqual(new Set(Object.values(accepted(third))), new Set(["Accepted"]));
});

/** Of the same route with more bytes than are kept. */
function stub({ metadata, spec }: GatewayObject): GatewayObject {
  const { rules: _rules, ...kept } = spec as Readonly<Record<string, unknown>>;
  return { metadata, spec: kept, excess: { bound: "bytes", limit: 4096 } } as GatewayObject;
}

Deno.test("of a route with too many bytes published rules stay, and a new one is not served", () => {
  const small = [0, 1, 2].map((n) => route("a", n, { rules: [rule(2)] }));
  const translator = new Translator();
  const options = optionsOf({});
  const first = translator.translate(resources(small.slice(0, 2)), null, options, CLOCK);
  const grown = [small[0], stub(small[1]), stub(small[2])];
  const second = translator.translate(resources(grown), first.snapshot, options, CLOCK);
  deepEqual(second.snapshot.routes, first.snapshot.routes);
  deepEqual(accepted(second), {
    "a/route-0": "Accepted",
    "a/route-1": "ObjectTooLarge",
    "a/route-2": "ObjectTooLarge",
  });
  const messages = second.gateway!.routes.slice(1).map(({ parents }) =>
    parents[0].conditions[0].message
  );
  deepEqual(messages, [
    "it has more than 4096 bytes, so its published rules stay active. Split it into objects of " +
    "at most 4096 bytes, or raise --max-object-bytes of the controller.",
    "it has more than 4096 bytes, so it is not served. Split it into objects of at most 4096 " +
    "bytes, or raise --max-object-bytes of the controller.",
  ]);
  // Nothing else holds a stub back: not even a change of others.
  const third = translator.translate(
    resources([grown[1], grown[2]]),
    second.snapshot,
    options,
    CLOCK,
  );
  deepEqual(served(third), { "a/route-1": 2 });
  const last = translator.translate(resources(small), third.snapshot, options, CLOCK);
  deepEqual(served(last), { "a/route-0": 2, "a/route-1": 2, "a/route-2": 2 });
});

Deno.test("a lower bound takes nothing away, also of routes with filters and several backends", () => {
  const rules = [{
    ...rule(4, [{ name: "web", port: 80 }, { name: "missing", port: 80 }]),
    filters: [{
      type: "RequestHeaderModifier",
      requestHeaderModifier: { set: [{ name: "x-a", value: "1" }] },
    }],
    timeouts: { request: "3s" },
  }, { ...rule(1, []) }];
  const given = resources([route("a", 0, { rules })]);
  const before = translated(given);
  for (const bounds of [{ routes: 2 }, { hostBytes: 10 }]) {
    const after = translated(given, bounds, before.snapshot);
    deepEqual(after.snapshot.routes, before.snapshot.routes);
    deepEqual(after.snapshot.filterSets, before.snapshot.filterSets);
    deepEqual(accepted(after), { "a/route-0": "Accepted" });
  }
});

Deno.test("published filter sets are measured once, however often Gateways are translated", () => {
  const filtered = (paths: number) => ({
    ...rule(paths),
    filters: [{
      type: "RequestHeaderModifier",
      requestHeaderModifier: { set: [{ name: "x-a", value: "1" }] },
    }],
  });
  const own = (paths: number) => route("a", 0, { rules: [filtered(paths)] });
  const options = optionsOf({ routes: 4 });
  const translator = new Translator();
  const { snapshot } = translator.translate(resources([own(2)]), null, options, CLOCK);
  let measured = 0;
  const filterSets = snapshot.filterSets!.map(({ id, filters }) => ({
    id,
    filters: Object.assign([...filters], { toJSON: () => (measured++, [...filters]) }),
  }));
  let published: Snapshot = { ...snapshot, filterSets };
  for (const paths of [5, 6, 7]) {
    const given = resources([own(paths), route("b", 0, { rules: [rule(paths - 4)] })]);
    const result = translator.translate(given, published, options, CLOCK);
    deepEqual(accepted(result), { "a/route-0": "NamespaceLimitExceeded", "b/route-0": "Accepted" });
    published = { ...result.snapshot, filterSets: [...filterSets] };
  }
  // For the bound of the namespace, and for that of the cluster.
  equal(measured, 2);
});

Deno.test("Ingresses and HTTPRoutes of a namespace share its bound", () => {
  const ingress: Ingress = {
    metadata: { namespace: "a", name: "web" },
    spec: {
      ingressClassName: "pingress",
      rules: [{
        host: "ingress.example.com",
        http: {
          paths: Array.from({ length: 7 }, (_, i) => ({
            ...{ path: `/${i}`, pathType: "Prefix" },
            backend: { service: { name: "web", port: { number: 80 } } },
          })),
        },
      }],
    },
  };
  const routes = ["a", "b"].map((namespace) => route(namespace, 0, { rules: [rule(4)] }));
  const bounds = { routes: 10 };
  const together = translated(resources(routes, { ingresses: [ingress] }), bounds);
  deepEqual(served(together), { "a/web": 7, "b/route-0": 4 });
  equal(accepted(together)["a/route-0"], "NamespaceLimitExceeded");
  // A translator that has translated it without the Ingress comes to the same, and back.
  const translator = new Translator();
  const options = optionsOf(bounds);
  for (const ingresses of [[], [ingress], []]) {
    const result = translator.translate(resources(routes, { ingresses }), null, options, CLOCK);
    equal(served(result)["a/route-0"], ingresses.length === 0 ? 4 : undefined);
  }
});

Deno.test("a route that grows over the bound and back is served as by a controller that has just started", () => {
  const of = (size: number, value: string, backend = "web") => ({
    ...rule(size, [{ name: backend, port: 80 }]),
    filters: [{
      type: "RequestHeaderModifier",
      requestHeaderModifier: { set: [{ name: "x-a", value }] },
    }],
  });
  const small = route("a", 0, { rules: [of(2, "old")] });
  const large = route("a", 0, { rules: [of(5, "new")] });
  const other = route("a", 1, { rules: [of(1, "other", "gone")] });
  const services = resources([]).services;
  const gone = { metadata: { namespace: "a", name: "gone" }, spec: { ports: [{ port: 80 }] } };
  const bounds = { routes: 3 };
  const translator = new Translator();
  let published: Snapshot | null = null;
  for (
    const [changed, all] of [
      [small, [...services, gone]],
      [large, [...services, gone]],
      [large, services],
      [small, services],
      [large, [...services, gone]],
    ] as const
  ) {
    const given = resources([changed, other], { services: all });
    const result: Translation = translator.translate(
      given,
      published,
      optionsOf(bounds),
      CLOCK,
    );
    const anew = translated(given, bounds, published);
    deepEqual(result.snapshot.routes, anew.snapshot.routes);
    deepEqual(result.snapshot.filterSets, anew.snapshot.filterSets);
    deepEqual(result.gateway, anew.gateway);
    equal(
      accepted(result)["a/route-0"],
      changed === small ? "Accepted" : "NamespaceLimitExceeded",
    );
    deepEqual(served(result), { "a/route-0": 2, "a/route-1": 1 });
    const sets = JSON.stringify(result.snapshot.filterSets);
    const shown = ["old", "other", "new"].filter((value) => sets.includes(`"${value}"`));
    deepEqual(shown, ["old", "other"]);
    published = result.snapshot;
  }
});

Deno.test("kept rules of a refused route follow grants and listeners", () => {
  const backend = [{ name: "web", namespace: "b", port: 80 }];
  const grant: GatewayObject = {
    metadata: { namespace: "b", name: "grant" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "a" }],
      to: [{ group: "", kind: "Service" }],
    },
  };
  const of = (size: number, grants: readonly GatewayObject[]) =>
    resources([route("a", 0, { rules: [rule(size, backend)] })], { referenceGrants: grants });
  const bounds = { routes: 3 };
  const before = translated(of(2, [grant]), bounds);
  const larger = translated(of(5, [grant]), bounds, before.snapshot);
  deepEqual(larger.snapshot.routes, before.snapshot.routes);
  deepEqual(larger.snapshot.upstreams.map(({ id }) => id), ["b/web:80"]);
  const revoked = translated(of(5, []), bounds, larger.snapshot);
  deepEqual(revoked.snapshot.routes.map(({ action }) => action.kind), ["reply", "reply"]);
  deepEqual(revoked.snapshot.upstreams, []);
  // It attaches to nothing any more.
  const given = of(5, [grant]);
  const [gateway] = given.gateways!;
  const closed = { ...gateway, spec: { ...gateway.spec as object, listeners: [] } };
  const without = translated({ ...given, gateways: [closed] }, bounds, larger.snapshot);
  deepEqual(without.snapshot.routes, []);
});

/** A Gateway of the namespace with a listener that all may attach to on each port. */
function gatewayOf(namespace: string, name: string, ports: readonly number[]): GatewayObject {
  return {
    metadata: { namespace, name },
    spec: {
      gatewayClassName: "pingress",
      listeners: ports.map((port) => ({
        ...{ name: `on-port-${port}`, port, protocol: "HTTP" },
        allowedRoutes: { namespaces: { from: "All" } },
      })),
    },
  };
}

Deno.test("names of the listeners that routes attach to count for the bytes of the namespace", () => {
  const gateways = Array.from(
    { length: 16 },
    (_, i) => gatewayOf("infra", `gateway-${i}-${"n".repeat(200)}`, [80, 81]),
  );
  const of = (n: number, parents: number) => {
    const { metadata, spec } = route("a", n, { rules: [rule(8)] });
    const parentRefs = gateways.slice(0, parents).map(({ metadata }) => metadata);
    return { metadata, spec: { ...spec as object, parentRefs } } as GatewayObject;
  };
  // Eight paths on 32 listeners of 220 characters are some 56 KB.
  const bounds = { hostBytes: 100_000 };
  const given = (...httpRoutes: readonly GatewayObject[]) => resources(httpRoutes, { gateways });
  const first = translated(given(of(0, 16), of(1, 16)), bounds);
  deepEqual(accepted(first), {
    "a/route-0": "Accepted",
    "a/route-1": "NamespaceLimitExceeded",
  });
  match(
    first.gateway!.routes[1].parents[0].conditions[0].message,
    /more than 100000 bytes of hosts, matches, listeners and settings, .* or parentRefs /,
  );
  deepEqual(accepted(translated(given(of(0, 16), of(1, 8)), bounds)), {
    "a/route-0": "Accepted",
    "a/route-1": "Accepted",
  });
  const lower = translated(given(of(0, 16)), { hostBytes: 10 }, first.snapshot);
  deepEqual(lower.snapshot.routes, first.snapshot.routes);
  deepEqual(accepted(lower), { "a/route-0": "Accepted" });
});

/** A rule of so many paths that redirects. */
function redirect(paths: number, requestRedirect: unknown) {
  const { matches } = rule(paths);
  return { matches, filters: [{ type: "RequestRedirect", requestRedirect }] };
}

const replaced = (type: string, field: string, value: string) => ({
  path: { type, [field]: value },
});

Deno.test("each redirect that a namespace has counts for its bytes", () => {
  const gateways = [gatewayOf("infra", "web", [80, 81])];
  const prefix = replaced("ReplacePrefixMatch", "replacePrefixMatch", `/${"p".repeat(999)}`);
  const full = replaced("ReplaceFullPath", "replaceFullPath", `/${"p".repeat(999)}`);
  const reasons = (redirects: readonly unknown[], hostBytes: number) => {
    const routes = redirects.map((each, n) => route("a", n, { rules: [redirect(16, each)] }));
    return Object.values(accepted(translated(resources(routes, { gateways }), { hostBytes })));
  };
  // For each path and port another one.
  deepEqual(reasons([prefix, prefix], 60_000), ["Accepted", "NamespaceLimitExceeded"]);
  // For each port another one.
  deepEqual(reasons([full, full], 14_800), ["Accepted", "Accepted"]);
  // The same on all ports.
  deepEqual(reasons([{ ...full, scheme: "https" }], 7_000), ["Accepted"]);
});

Deno.test("a lower bound takes nothing away of routes that redirect", () => {
  const gateways = [gatewayOf("infra", "web", [80, 81])];
  const redirects = [
    replaced("ReplacePrefixMatch", "replacePrefixMatch", '/"new"'),
    replaced("ReplacePrefixMatch", "replacePrefixMatch", '/"new"'),
    replaced("ReplaceFullPath", "replaceFullPath", '/"new"'),
    { scheme: "https", hostname: "example.com", port: 444, statusCode: 301 },
    { scheme: "https", hostname: "example.com", port: 444, statusCode: 301 },
  ];
  const rules = redirects.map((each, i) => ({
    ...redirect(i + 1, each),
    timeouts: { request: "3s" },
  }));
  const exact = rules.map((each) => ({
    ...each,
    matches: [...each.matches, { path: { type: "Exact", value: "/exact" } }],
  }));
  const given = resources([route("a", 0, { rules }), route("a", 1, { rules: exact })], {
    gateways,
  });
  const before = translated(given);
  deepEqual(accepted(before), { "a/route-0": "Accepted", "a/route-1": "Accepted" });
  for (const bounds of [{ routes: 2 }, { hostBytes: 10 }]) {
    const after = translated(given, bounds, before.snapshot);
    deepEqual(after.snapshot.routes, before.snapshot.routes);
    deepEqual(accepted(after), { "a/route-0": "Accepted", "a/route-1": "Accepted" });
  }
});
