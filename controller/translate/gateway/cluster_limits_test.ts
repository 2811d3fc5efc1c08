/** What Gateways add beside routes in a full cluster, and that what is served stays served there. */
import assert from "node:assert/strict";
import {
  acceptedOf,
  day,
  gateway,
  ingress,
  route,
  Scene,
  winner,
} from "../../../tests/support/shared_address_scene.ts";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import type { GatewayObject, Resources } from "../../kube/resources.ts";
import { publishedGatewayParts } from "../bounds/gateway_tally.ts";
import { DEFAULT_CLUSTER_BOUNDS, type Translation } from "../translator.ts";
import type { BoundedTranslation } from "./gateway_translation.ts";

function sceneOf(lineBytes: number): Scene {
  return new Scene({ clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, lineBytes } });
}

/** Of a Gateway and of its listeners. */
function gatewayConditions({ gateway }: Translation, key: string): string[] {
  const { conditions, listeners } = gateway!.gateways.find(({ identity }) => identity.key === key)!;
  return [conditions[0], ...listeners.map(({ conditions: [accepted] }) => accepted)]
    .map(({ status, reason }) => `${status} ${reason}`);
}

function messageOf({ gateway }: Translation, key: string): string {
  const { conditions, listeners } = gateway!.gateways.find(({ identity }) => identity.key === key)!;
  const refused = [...listeners.map(({ conditions: [accepted] }) => accepted), ...conditions]
    .find(({ status }) => status === "False");
  return refused?.message ?? "";
}

const CONFIG_MAP = "address";

/** With parameters of its own. */
function addressed<T extends ReturnType<typeof gateway>>(made: T): GatewayObject {
  const parametersRef = { group: "", kind: "ConfigMap", name: CONFIG_MAP };
  return { ...made, spec: { ...made.spec, infrastructure: { parametersRef } } };
}

function parameters(namespace: string, address: "own" | "shared") {
  return { metadata: { namespace, name: CONFIG_MAP }, data: { address } };
}

function textOf({ snapshot }: Translation): number {
  return serialiseSnapshot(snapshot, { revealKeys: false }).length;
}

function many<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

const LIMIT =
  "the configuration would take more than the stream to proxies hold, and the largest " +
  "namespaces add nothing to that";

Deno.test("new listeners of the largest namespace are not served where there is no room, all others are", () => {
  const scene = sceneOf(30_000);
  const hostnames = (prefix: string) => many(16, (i) => `${prefix}${i}.evil.test`);
  const first = [
    gateway("infra", "web", 1, "*.infra.test"),
    gateway("evil", "web", 0, ...hostnames("a")),
  ];
  const httpRoutes = [
    route("infra", "x", 9, ["x.infra.test"], ["infra/web"]),
    route("evil", "x", 9, ["a0.evil.test"], ["evil/web"]),
  ];
  const before = scene.apply({ gateways: first, httpRoutes });
  assert.deepEqual(new Set(gatewayConditions(before, "evil/web")), new Set(["True Accepted"]));
  const more = many(8, (n) => gateway("evil", `more-${n}`, n, ...hostnames(`more${n}-`)));
  const after = scene.apply({
    gateways: [...first, gateway("infra", "other", 2, "*.other.test"), ...more],
    httpRoutes: [...httpRoutes, route("infra", "y", 9, ["y.other.test"], ["infra/other"])],
  });
  assert.deepEqual(new Set(gatewayConditions(after, "evil/web")), new Set(["True Accepted"]));
  assert.deepEqual(new Set(gatewayConditions(after, "infra/other")), new Set(["True Accepted"]));
  assert.equal(winner(after.snapshot, "y.other.test"), "HTTPRoute infra/y");
  assert.deepEqual(
    new Set(gatewayConditions(after, "evil/more-0").slice(1)),
    new Set(["False ClusterLimitExceeded"]),
  );
  assert.equal(
    messageOf(after, "evil/more-0"),
    `with this listener ${LIMIT}, so it is not served. Remove routes or certificates, or run ` +
      "another controller with an IngressClass of its own.",
  );
  assert.ok(textOf(after) < 30_000);
  // There is room again.
  const fewer = scene.apply({ gateways: [...first.slice(0, 1), more[0]], httpRoutes: [] });
  assert.deepEqual(new Set(gatewayConditions(fewer, "evil/more-0")), new Set(["True Accepted"]));
});

Deno.test("hosts of HTTPRoutes that are not served take no room of others by their guards", () => {
  const scene = sceneOf(30_000);
  const gateways = [gateway("infra", "web", 1, null), gateway("evil", "web", 0, "*.evil.test")];
  const first = [
    route("infra", "x", 9, ["x.infra.test"], ["infra/web"]),
    route("evil", "x", 9, ["x.evil.test"], ["evil/web"]),
  ];
  scene.apply({ gateways, httpRoutes: first });
  const hosts = (n: number) => many(16, (i) => `h${i}.r${n}.evil.test`);
  const more = many(20, (n) => route("evil", `more-${n}`, n, hosts(n), ["evil/web"]));
  const after = scene.apply({
    gateways,
    httpRoutes: [...first, ...more, route("infra", "y", 9, ["y.infra.test"], ["infra/web"])],
  });
  assert.match(acceptedOf(after, "evil/more-0"), /^False ClusterLimitExceeded: /);
  for (const name of ["infra/x", "infra/y", "evil/x"]) {
    assert.equal(acceptedOf(after, name), "True Accepted: ");
  }
  const ofMore = after.snapshot.routes.filter(({ host }) => host.startsWith("h"));
  assert.deepEqual(ofMore, []);
  assert.ok(textOf(after) < 30_000);
});

Deno.test("listeners and guards that are published count as they were asked for", () => {
  const gateways = [
    gateway("infra", "web", 1, "*.infra.test", "free.test", null),
    gateway("evil", "web", 0, "*.evil.test"),
  ];
  const httpRoutes = [
    route("infra", "x", 9, ["x.infra.test"], ["infra/web"], "/path"),
    // The second is not on a listener of its Gateway.
    route("evil", "x", 9, ["x.evil.test", "gone.test"], ["evil/web"]),
  ];
  const scene = new Scene();
  const reading = ({ gateway, snapshot }: Translation) => ({
    wanted: (gateway as unknown as BoundedTranslation).wanted,
    published: publishedGatewayParts(snapshot),
  });
  const first = reading(scene.apply({ gateways, httpRoutes }));
  assert.deepEqual(first.wanted, first.published);
  // Three listeners, without a route as well.
  const bare = reading(new Scene().apply({ gateways }));
  assert.deepEqual(bare.wanted, bare.published);
  assert.ok(bare.published.get("infra")!.text > 600);
  // An owner without a listener that serves its host: it is guarded for all.
  const unserved = reading(scene.apply({ gateways: [gateways[1]], httpRoutes }));
  assert.deepEqual(unserved.wanted, unserved.published);
  assert.ok(scene.published!.routes.some(({ id }) => id === "x.infra.test guard"));
});

const GATEWAY = addressed(gateway("shop", "web", 1, "*.shop.test"));

/** Room for what it has with an address of its own, and not for a guard of each host. */
const HOSTS = many(40, (i) => `h${i}.shop.test`);

function shopRoutes(): ReturnType<typeof route>[] {
  return HOSTS.map((host, i) => route("shop", `r${i}`, i, [host], ["shop/web"]));
}

function at(address: "own" | "shared", change: Partial<Resources> = {}): Partial<Resources> {
  return {
    gateways: [GATEWAY],
    httpRoutes: shopRoutes(),
    gatewayConfigMaps: [parameters("shop", address)],
    ...change,
  };
}

function listenersOf({ snapshot }: Translation): string[] {
  return [
    ...new Set(
      snapshot.routes.flatMap(({ listeners = [], origin }) =>
        origin.kind === "HTTPRoute" ? listeners : []
      ),
    ),
  ];
}

Deno.test("a Gateway for whose hosts the shared address has no room keeps its own, and all of its routes", () => {
  const scene = sceneOf(27_000);
  const before = scene.apply(at("own"));
  assert.deepEqual(listenersOf(before), ["shop/web/l0"]);
  const moved = scene.apply(at("shared"));
  assert.deepEqual(moved.snapshot.routes, before.snapshot.routes);
  assert.deepEqual(moved.snapshot.listeners, before.snapshot.listeners);
  assert.deepEqual(gatewayConditions(moved, "shop/web"), [
    "False ClusterLimitExceeded",
    "True Accepted",
  ]);
  assert.equal(
    messageOf(moved, "shop/web"),
    `on the shared address ${LIMIT}, so it keeps an address of its own. Remove routes or certificates, or ` +
      "run another controller with an IngressClass of its own.",
  );
  const statuses = new Set(HOSTS.map((_, i) => acceptedOf(moved, `shop/r${i}`)));
  assert.deepEqual(statuses, new Set(["True Accepted: "]));
  // It stays so, and moves once there is room.
  const again = scene.apply(at("shared", { ingresses: [ingress("shop", "a", 1, "a.test")] }));
  assert.deepEqual(listenersOf(again), ["shop/web/l0"]);
  const fewer = scene.apply(at("shared", { httpRoutes: shopRoutes().slice(0, 10) }));
  assert.deepEqual(listenersOf(fewer), ["shop/web/l0@http"]);
  assert.deepEqual(gatewayConditions(fewer, "shop/web"), ["True Accepted", "True Accepted"]);
});

Deno.test("in a full cluster a Gateway moves from the shared address to its own with all of its routes", () => {
  const scene = sceneOf(41_000);
  const gateways = [GATEWAY, gateway("evil", "web", 0, "*.evil.test")];
  scene.apply(at("shared", { gateways }));
  const more = many(80, (i) => route("evil", `e${i}`, i, [`e${i}.evil.test`], ["evil/web"]));
  const full = { gateways, httpRoutes: [...shopRoutes(), ...more] };
  const before = scene.apply(at("shared", full));
  assert.match(acceptedOf(before, "evil/e0"), /^False ClusterLimitExceeded: /);
  assert.deepEqual(listenersOf(before), ["shop/web/l0@http"]);
  const moved = scene.apply(at("own", full));
  assert.deepEqual(listenersOf(moved), ["shop/web/l0"]);
  assert.equal(
    moved.snapshot.routes.filter(({ origin }) => origin.kind === "HTTPRoute").length,
    HOSTS.length,
  );
  const statuses = new Set(HOSTS.map((_, i) => acceptedOf(moved, `shop/r${i}`)));
  assert.deepEqual(statuses, new Set(["True Accepted: "]));
  assert.deepEqual(gatewayConditions(moved, "shop/web"), ["True Accepted", "True Accepted"]);
});

Deno.test("published rules of a refused HTTPRoute follow their Gateway to another address", () => {
  const scene = new Scene();
  const [served] = shopRoutes();
  const { rules: _, ...spec } = served.spec;
  const stub = {
    metadata: { ...served.metadata, creationTimestamp: day(0) },
    spec,
    excess: { bound: "bytes", limit: 4096 },
  } as unknown as typeof served;
  for (const [i, address] of (["own", "shared", "own"] as const).entries()) {
    const after = scene.apply(at(address, { httpRoutes: [i === 0 ? served : stub] }));
    const [published] = after.snapshot.routes.filter(({ origin }) => origin.kind === "HTTPRoute");
    assert.deepEqual(published?.listeners, [
      address === "own" ? "shop/web/l0" : "shop/web/l0@http",
    ]);
    assert.equal(published.httpsRedirect, address === "own" ? undefined : false);
  }
});
