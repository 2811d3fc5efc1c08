/** Random Gateways and routes send each request where a model of the specification does. */
import assert from "node:assert/strict";
import { keyOf } from "../../base/identity.ts";
import { SocketListeners } from "../../../proxy/router/socket_listeners.ts";
import { compileTable } from "../../../proxy/router/table.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { Random } from "../../../tests/fuzz/random.ts";
import {
  type ModelCluster,
  modelCount,
  type ModelGateway,
  type ModelMatch,
  modelMatch,
  type ModelParentRef,
  modelReason,
  type ModelRequest,
  type ModelRoute,
} from "../../../tests/support/gateway_model.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";
import { DEFAULT_GATEWAY_OPTIONS, translate } from "../translator.ts";

const CLASS = {
  metadata: { name: "pingress" },
  spec: { controllerName: "pingress.io/gateway-controller" },
};
/** One begins with the other, and a hyphen comes before a slash. */
const NAMESPACES = { shop: { team: "a" }, "shop-eu": { team: "b" }, zoo: { team: "a" } };
const NAMES = Object.keys(NAMESPACES);
const TIMES = ["2020-01-01T00:00:00Z", "2020-01-01T00:00:01Z"];
const PORTS = [80, 8080];
const LISTENER_HOSTS = [undefined, "*.example.com", "a.example.com", "*.a.example.com", "b.test"];
const ROUTE_HOSTS = ["*.com", "*.example.com", "*.a.example.com", "a.example.com", "c.b.test"]
  .concat("x.a.example.com", "example.com", "b.test", "*.test");
const HOSTS = ["example.com", "a.example.com", "x.a.example.com", "y.x.a.example.com", "b.test"]
  .concat("c.b.test", "other.com", "localhost");
const PATHS = ["/", "/a", "/a/", "/a/b", "/a/b/", "/ab", "/b"];
const REQUESTED = ["/", "/a", "/a/", "/a/b", "/a/b/c", "/a/b/", "/ab", "/b", "/c"];
const METHODS = ["GET", "POST"];
const FIELDS = ["x-one", "X-One", "x-two"];
const VALUES = ["1", "2"];

function some<T>(random: Random, most: number, make: () => T): T[] {
  return Array.from({ length: 1 + random.below(most) }, make);
}

function randomGateway(random: Random, name: string): ModelGateway {
  const listeners = some(random, 4, () => {
    const hostname = random.pick(LISTENER_HOSTS);
    const from = random.pick(["All", "All", "Same", "Selector", "None"] as const);
    const selector = { matchLabels: { team: "a" } };
    return {
      ...{ port: random.pick(PORTS), protocol: "HTTP" as const },
      ...(hostname === undefined ? {} : { hostname }),
      ...(random.oneIn(6) ? {} : {
        allowedRoutes: { namespaces: { from, ...(from === "Selector" ? { selector } : {}) } },
      }),
    };
  }).map((listener, i) => ({ name: `l${i}`, ...listener }));
  return {
    metadata: { name, namespace: random.pick(NAMES), creationTimestamp: TIMES[0] },
    spec: { gatewayClassName: "pingress", listeners },
  };
}

function randomValues(random: Random) {
  const values = new Map(
    some(random, 3, () => [random.pick(FIELDS), random.pick(VALUES)] as const),
  );
  return [...values].map(([name, value]) => ({ name, value }));
}

function randomMatch(random: Random): ModelMatch {
  return {
    ...(random.oneIn(8) ? {} : {
      path: {
        ...(random.oneIn(4) ? {} : { type: random.pick(["Exact", "PathPrefix"] as const) }),
        ...(random.oneIn(8) ? {} : { value: random.pick(PATHS) }),
      },
    }),
    ...(random.oneIn(4) ? { method: random.pick(METHODS) } : {}),
    ...(random.oneIn(4) ? { headers: randomValues(random) } : {}),
    ...(random.oneIn(4) ? { queryParams: randomValues(random) } : {}),
  };
}

function randomParent(random: Random, gateways: readonly ModelGateway[]): ModelParentRef {
  const { metadata: { name, namespace }, spec: { listeners } } = random.pick(gateways);
  return {
    ...{ name, namespace },
    ...(random.oneIn(3)
      ? { sectionName: random.oneIn(8) ? "l9" : random.pick(listeners).name }
      : {}),
    ...(random.oneIn(4) ? { port: random.pick(PORTS) } : {}),
  };
}

function randomRoute(
  random: Random,
  name: string,
  gateways: readonly ModelGateway[],
): ModelRoute {
  return {
    metadata: { name, namespace: random.pick(NAMES), creationTimestamp: random.pick(TIMES) },
    spec: {
      parentRefs: some(random, 3, () => randomParent(random, gateways)),
      ...(random.oneIn(4) ? {} : { hostnames: some(random, 3, () => random.pick(ROUTE_HOSTS)) }),
      ...(random.oneIn(8) ? {} : {
        rules: some(
          random,
          3,
          () => random.oneIn(5) ? {} : { matches: some(random, 3, () => randomMatch(random)) },
        ),
      }),
    },
  };
}

function randomCluster(random: Random): ModelCluster {
  const gateways = ["web", "api"].map((name) => randomGateway(random, name));
  // Few names, so that namespaces decide; of two with the same one the last is there.
  const routes = some(random, 8, () => {
    return randomRoute(random, random.pick(["r", "r", "s", "t"]), gateways);
  });
  const byName = new Map(routes.map((route) => [keyOf(route.metadata), route]));
  return { gateways, routes: [...byName.values()], namespaces: NAMESPACES };
}

function randomRequest(random: Random, gateways: readonly ModelGateway[]): ModelRequest {
  const pairs = (names: readonly string[]) =>
    Object.fromEntries(
      names.filter(() => random.oneIn(2)).map((name) => [name, random.pick(VALUES)]),
    );
  return {
    ...{ gateway: random.pick(gateways), port: random.pick(PORTS), host: random.pick(HOSTS) },
    ...{ path: random.pick(REQUESTED), method: random.pick(METHODS) },
    ...{ headers: pairs(["x-one", "x-two"]), query: pairs(FIELDS) },
  };
}

function translated({ gateways, routes, namespaces }: ModelCluster) {
  return translate(
    {
      ...{ ingresses: [], ingressClasses: [], services: [], endpointSlices: [], secrets: [] },
      ...{ gatewayClasses: [CLASS], gateways, httpRoutes: routes, referenceGrants: [] },
      namespaces: Object.entries(namespaces).map(([name, labels]) => ({
        metadata: { name, labels },
      })),
    },
    null,
    { ...TRANSLATE_OPTIONS, hostOwnership: "shared", gateway: DEFAULT_GATEWAY_OPTIONS },
    () => 0,
  );
}

/** What takes a request in the proxy, as the model says it. */
function router(snapshot: Snapshot): (request: ModelRequest) => string | null {
  const sockets = new SocketListeners();
  const listeners = snapshot.listeners ?? [];
  sockets.replace(listeners, () => false);
  const table = compileTable(snapshot, (_, route) => route!.origin);
  return ({ gateway: { metadata }, port, host, path, method, headers, query }) => {
    const { namespace, name } = metadata;
    const socket = listeners.find((each) =>
      each.port === port && each.id.startsWith(`${namespace}/${name}/`)
    )?.socket;
    const listener = socket === undefined ? null : sockets.find(socket, host);
    const search = new URLSearchParams(query).toString();
    const origin = listener === null ? null : table.match(host, path, {
      ...{ method, query: search === "" ? "" : `?${search}` },
      header: (name) => headers[name] ?? null,
    }, listener.id);
    return origin === null ? null : `${origin.namespace}/${origin.name} ${origin.field}`;
  };
}

Deno.test("requests take the route that the specification of Gateway API says, in 1,500 random clusters", () => {
  let hits = 0;
  const reasons = new Set<string>();
  for (let seed = 1; seed <= 1500; seed++) {
    const random = new Random(seed);
    const cluster = randomCluster(random);
    const { snapshot, gateway } = translated(cluster);
    const find = router(snapshot);
    for (let i = 0; i < 60; i++) {
      const request = randomRequest(random, cluster.gateways);
      const wanted = modelMatch(cluster, request);
      assert.equal(find(request), wanted, `seed ${seed}: ${JSON.stringify(request)}`);
      if (wanted !== null) hits++;
    }
    for (const { metadata: { namespace, name }, spec } of cluster.gateways) {
      const { listeners } = gateway!.gateways.find(({ identity }) =>
        identity.key === `${namespace}/${name}`
      )!;
      assert.deepEqual(
        listeners.map(({ attachedRoutes }) => attachedRoutes),
        spec.listeners.map((listener) => modelCount(cluster, listener)),
        `seed ${seed}: ${namespace}/${name}`,
      );
    }
    for (const route of cluster.routes) {
      const key = keyOf(route.metadata);
      const { parents } = gateway!.routes.find(({ identity }) => identity.key === key)!;
      const wanted = route.spec.parentRefs.map((parent) => modelReason(cluster, route, parent));
      assert.deepEqual(
        parents.map(({ conditions: [{ type, reason }] }) => type === "Accepted" ? reason : type),
        wanted,
        `seed ${seed}: ${key}`,
      );
      for (const reason of wanted) reasons.add(reason);
    }
  }
  assert.ok(hits > 5_000, `${hits} of 90,000 requests took a route`);
  assert.equal(reasons.size, 4);
});
