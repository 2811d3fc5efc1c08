/** Settings of routes, such as lists of networks, within the bounds of a namespace. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import type { Ingress } from "../../kube/resources.ts";
import { type ClusterBounds, translate, type TranslateOptions } from "../translator.ts";
import { DEFAULT_NAMESPACE_BOUNDS, type NamespaceBounds } from "./namespace_bounds.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  controllerNames: [],
  acceptUnsupported: ["allowlist-source-range"],
};

const ROOM: NamespaceBounds = { routes: 10, hostBytes: 600, certificates: 10 };

function ingress(name: string, networks: string, paths: readonly string[] = ["/"]): Ingress {
  const backend = { service: { name: "web", port: { number: 80 } } };
  return {
    metadata: {
      namespace: "shop",
      name,
      creationTimestamp: `2026-01-0${name.length}T00:00:00Z`,
      annotations: { "nginx.ingress.kubernetes.io/allowlist-source-range": networks },
    },
    spec: {
      ingressClassName: "pingress",
      rules: [{
        host: `${name}.example.com`,
        http: { paths: paths.map((path) => ({ path, pathType: "Prefix", backend })) },
      }],
    },
  };
}

/** `count` networks, each list another one. */
function list(first: number, count: number): string {
  return Array.from({ length: count }, (_, i) => `10.${first}.${i}.0/24`).join(",");
}

function translated(
  ingresses: Ingress[],
  bounds: NamespaceBounds,
  published: Snapshot | null = null,
  clusterBounds?: ClusterBounds,
) {
  const services = [{
    metadata: { namespace: "shop", name: "web" },
    spec: { ports: [{ port: 80 }] },
  }];
  const resources = { ingresses, ingressClasses: [], services, endpointSlices: [], secrets: [] };
  const options = { ...OPTIONS, namespaceBounds: bounds, clusterBounds };
  const { snapshot, problems } = translate(resources, published, options, () => 0);
  const sets = new Map(snapshot.filterSets?.map(({ id, filters }) => [id, filters]));
  const allowed = snapshot.routes.map(({ id, filterSet }) => {
    const [filter] = sets.get(filterSet ?? "") ?? [];
    return `${id}: ${filter?.kind === "access" ? filter.allow?.length : "everybody"}`;
  });
  const full = problems.filter(({ reason }) => reason === "NamespaceLimitExceeded");
  return { snapshot, allowed, full: full.map(({ object }) => object?.name) };
}

Deno.test("lists of networks count among the bytes of a namespace, equal ones once", () => {
  const same = [ingress("a", list(0, 20)), ingress("bb", list(0, 20))];
  assert.deepEqual(translated(same, ROOM).full, []);
  const { full, allowed } = translated(
    [ingress("a", list(0, 20)), ingress("bb", list(1, 20))],
    ROOM,
  );
  assert.deepEqual([full, allowed], [["bb"], ["a.example.com Prefix /: 20"]]);
});

Deno.test("a list that grows past the bound of its namespace stays as it was published", () => {
  const { snapshot } = translated([ingress("a", list(0, 5))], ROOM);
  const grown = translated([ingress("a", list(0, 40))], ROOM, snapshot);
  assert.deepEqual(grown.full, ["a"]);
  assert.deepEqual(grown.allowed, ["a.example.com Prefix /: 5"]);
});

Deno.test("an Ingress with too many paths still gets its new list", () => {
  const one = { ...ROOM, routes: 1 };
  const { snapshot } = translated([ingress("a", list(0, 5))], one);
  const { full, allowed } = translated([ingress("a", list(0, 6), ["/", "/b"])], one, snapshot);
  assert.deepEqual([full, allowed], [["a"], ["a.example.com Prefix /: 6"]]);
});

/** With these annotations of ingress-nginx. */
function named(annotations: Readonly<Record<string, string>>, paths?: readonly string[]): Ingress {
  const { metadata, spec } = ingress("a", "", paths);
  const written = Object.entries(annotations).map(([name, value]) => [
    `nginx.ingress.kubernetes.io/${name}`,
    value,
  ]);
  return { metadata: { ...metadata, annotations: Object.fromEntries(written) }, spec };
}

Deno.test("aliases count among the routes of a namespace, and published ones stay", () => {
  const bounds = { ...ROOM, routes: 3 };
  const { snapshot, full } = translated([named({ "server-alias": "b.test,c.test" })], bounds);
  assert.deepEqual(full, []);
  assert.deepEqual(snapshot.hostSettings?.map(({ id }) => id), ["b.test", "c.test"]);
  const grown = translated([named({ "server-alias": "b.test,c.test,d.test" })], bounds, snapshot);
  assert.deepEqual([grown.full, grown.snapshot.hostSettings], [["a"], snapshot.hostSettings]);
  const alone = translated([named({ "server-alias": "b.test,c.test,d.test" })], bounds);
  assert.deepEqual([alone.full, alone.snapshot.hostSettings], [["a"], undefined]);
  const more = ingress("bb", "0.0.0.0/0,::/0");
  const next = translated([named({ "server-alias": "b.test,c.test" }), more], bounds, snapshot);
  assert.deepEqual(next.full, ["bb"]);
  const fewer = translated([named({ "server-alias": "b.test" }), more], bounds, snapshot);
  assert.deepEqual(fewer.full, []);
});

Deno.test("names that are redirected count among the routes, and published ones stay", () => {
  const bounds = { ...ROOM, routes: 2 };
  const www = { "from-to-www-redirect": "true" };
  const { snapshot, full } = translated([named(www)], bounds);
  assert.deepEqual(full, []);
  const hosts = snapshot.routes.map(({ host }) => host);
  assert.deepEqual(hosts, ["a.example.com", "www.a.example.com"]);
  const grown = translated([named(www, ["/", "/b"])], bounds, snapshot);
  assert.deepEqual([grown.full, grown.snapshot.routes], [["a"], snapshot.routes]);
});

Deno.test("paths that are closed for want of room are served again once they need no more", () => {
  const paths = ["/", "/b"];
  const { snapshot } = translated([ingress("a", list(0, 5), paths)], ROOM);
  const closed = translated([ingress("a", list(1, 60), [...paths, "/c"])], ROOM, snapshot);
  assert.deepEqual(actionsOf(closed.snapshot), ["/: 503", "/b: 503"]);
  const same = translated([ingress("a", list(1, 60), [...paths, "/c"])], ROOM, closed.snapshot);
  assert.deepEqual(same.snapshot.routes, closed.snapshot.routes);
  const bounds = { ...ROOM, routes: 2 };
  const back = translated([ingress("a", list(0, 5), [...paths, "/c"])], bounds, same.snapshot);
  assert.deepEqual(actionsOf(back.snapshot), ["/: shop/web:80", "/b: shop/web:80"]);
  assert.deepEqual(back.allowed, ["a.example.com Prefix /b: 5", "a.example.com Prefix /: 5"]);
});

Deno.test("paths that are regular expressions are closed and served again like others", () => {
  const rewrites = {
    "rewrite-target": "/$1",
    "allowlist-source-range": list(0, 5),
  };
  const wanted = { ...rewrites, "allowlist-source-range": list(1, 60) };
  const bounds = { ...ROOM, hostBytes: 900, routes: 1 };
  const { snapshot } = translated([named(rewrites, ["/b/(.*)"])], bounds);
  assert.deepEqual(actionsOf(snapshot), ["/b/(.*): shop/web:80"]);
  const closed = translated([named(wanted, ["/b/(.*)", "/c"])], bounds, snapshot);
  assert.deepEqual(actionsOf(closed.snapshot), ["/b/(.*): 503"]);
  const back = translated([named(rewrites, ["/b/(.*)", "/c"])], bounds, closed.snapshot);
  assert.deepEqual(back.snapshot.routes, snapshot.routes);
});

Deno.test("paths stay closed where both the namespace and the cluster are full", () => {
  const { snapshot } = translated([ingress("a", list(0, 5))], ROOM);
  const cluster = { memory: null, publishedBytes: 1, keyBytes: 1, lineBytes: 1 };
  // The limit of bodies is more than was published, for the cluster again.
  const wanted = { "allowlist-source-range": list(1, 60), "proxy-body-size": "1m" };
  const grown = [named(wanted, ["/", "/b"])];
  for (const bounds of [ROOM, DEFAULT_NAMESPACE_BOUNDS]) {
    const both = translated(grown, bounds, snapshot, cluster);
    assert.deepEqual(actionsOf(both.snapshot), ["/: 503"]);
    assert.deepEqual(both.snapshot.policies?.map(({ bodyLimit }) => bodyLimit), [1024 * 1024]);
  }
});

/** Each path with its status or upstream. */
function actionsOf({ routes }: Snapshot): string[] {
  return routes.map(({ match: { path }, action }) =>
    `${path.written ?? path.value}: ${
      action.kind === "reply" ? action.status : action.backends[0].upstream
    }`
  ).sort();
}

/** With a default backend for the rest of its hosts. */
function withDefaultBackend(name: string, count: number): Ingress {
  const { metadata, spec } = ingress(name, "10.0.0.0/8", ["/a"]);
  const hosts = Array.from({ length: count }, (_, i) => `${i}.${name}.example.com`);
  return {
    metadata,
    spec: {
      ...spec,
      defaultBackend: { service: { name: "rest", port: { number: 80 } } },
      rules: hosts.map((host) => ({ ...spec!.rules![0], host })),
    },
  };
}

Deno.test("the routes of default backends count among those of a namespace", () => {
  const room = { ...ROOM, routes: 5, hostBytes: 10_000 };
  const all = [withDefaultBackend("a", 2), withDefaultBackend("bb", 1)];
  const { snapshot, full } = translated(all, room);
  assert.deepEqual([snapshot.routes.length, full], [4, ["bb"]]);
  const again = translated(all, { ...room, routes: 6 }, snapshot);
  assert.deepEqual([again.snapshot.routes.length, again.full], [6, []]);
});

Deno.test("the endpoints of default backends count among those of a namespace", () => {
  const service = (name: string) => ({
    metadata: { namespace: "shop", name },
    spec: { ports: [{ port: 80 }] },
  });
  const endpoints = (name: string, count: number) => ({
    metadata: { namespace: "shop", name, labels: { "kubernetes.io/service-name": name } },
    ports: [{ port: 80 }],
    endpoints: Array.from({ length: count }, (_, i) => ({ addresses: [`10.1.0.${i + 1}`] })),
  });
  const catchAll = withDefaultBackend("all", 0);
  const { snapshot } = translate(
    {
      ingresses: [
        withDefaultBackend("a", 1),
        {
          ...catchAll,
          spec: {
            ingressClassName: "pingress",
            defaultBackend: { service: { name: "all", port: { number: 80 } } },
          },
        },
      ],
      ingressClasses: [],
      services: ["web", "rest", "all"].map(service),
      endpointSlices: [endpoints("web", 1), endpoints("rest", 9), endpoints("all", 9)],
      secrets: [],
    },
    null,
    { ...OPTIONS, namespaceEndpoints: 7 },
    () => 0,
  );
  const counts = snapshot.upstreams.map(({ id, addresses }) =>
    `${id}: ${addresses.kind === "endpoints" ? addresses.endpoints.length : addresses.kind}`
  );
  assert.deepEqual(counts, ["shop/all:80: 3", "shop/rest:80: 3", "shop/web:80: 1"]);
});
