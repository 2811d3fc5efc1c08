/** Hosts of HTTPRoutes while their Gateways are not as they should be. */
import assert from "node:assert/strict";
import {
  gateway,
  ingress,
  route,
  Scene,
  secure,
  winner,
} from "../../../../tests/support/shared_address_scene.ts";
import type { Resources } from "../../../kube/resources.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "../../bounds/namespace_bounds.ts";

const SHOP = route("shop", "shop", 1, ["shop.test"], ["infra/web"]);
const EVIL = {
  gateways: [gateway("evil", "evil", 9, "shop.test")],
  httpRoutes: [SHOP, route("evil", "evil", 9, ["shop.test"], ["evil/evil"])],
};
const GOOD = gateway("infra", "web", 0, null);

const MISTAKES: readonly (readonly [what: string, change: Partial<Resources>])[] = [
  ["is deleted", { gateways: EVIL.gateways }],
  ["is created anew", { gateways: [...EVIL.gateways, gateway("infra", "web", 20, "other.test")] }],
  ["has two listeners alike", {
    gateways: [...EVIL.gateways, gateway("infra", "web", 0, null, null)],
  }],
  ["has another port", { gateways: [...EVIL.gateways, secure(GOOD)] }],
  ["has no class", { gateways: [GOOD, ...EVIL.gateways], gatewayClasses: [] }],
  [
    "allows no routes",
    {
      gateways: [...EVIL.gateways, {
        ...GOOD,
        spec: {
          ...GOOD.spec,
          listeners: GOOD.spec.listeners.map((one) => ({
            ...one,
            allowedRoutes: { namespaces: { from: "Same" } },
          })),
        },
      }],
    },
  ],
];

for (const [what, change] of MISTAKES) {
  Deno.test(`an HTTPRoute keeps its host while its Gateway ${what}`, () => {
    const scene = new Scene();
    const ingresses = [
      ingress("evil", "evil", 9, "shop.test"),
      ingress("evil", "wide", 9, "*.test"),
    ];
    const good = { ...EVIL, ingresses, gateways: [GOOD, ...EVIL.gateways] };
    assert.equal(
      winner(scene.apply({ ...good, ingresses: [] }).snapshot, "shop.test"),
      "HTTPRoute shop/shop",
    );
    const { snapshot, hostOwners } = scene.apply({ ...good, ...change });
    assert.equal(hostOwners.get("shop.test")!.namespace, "shop");
    assert.doesNotMatch(String(winner(snapshot, "shop.test")), /evil/);
    assert.equal(winner(scene.apply(good).snapshot, "shop.test"), "HTTPRoute shop/shop");
  });
}

Deno.test("an HTTPRoute for any host, or for a wildcard, keeps no host that it does not name", () => {
  for (const hostnames of [[], ["*.test"]]) {
    const scene = new Scene();
    const gateways = [gateway("infra", "web", 0, null)];
    const httpRoutes = [route("evil", "wide", 1, hostnames, ["infra/web"])];
    scene.apply({ gateways, httpRoutes, ingresses: [ingress("evil", "old", 0, "shop.test")] });
    const ingresses = [ingress("shop", "new", 9, "shop.test")];
    for (const change of [{ gateways, httpRoutes }, { httpRoutes }]) {
      const { snapshot } = scene.apply({ ...change, ingresses });
      assert.equal(winner(snapshot, "shop.test"), "Ingress shop/new");
    }
  }
});

Deno.test("a namespace keeps no more hosts than it may name", () => {
  const bounds = { namespaceBounds: { ...DEFAULT_NAMESPACE_BOUNDS, routes: 4 } };
  const scene = new Scene(bounds);
  const hosts = (from: number) => Array.from({ length: 4 }, (_, i) => `h${from + i}.test`);
  const routeOf = (name: string, from: number, parent: string) =>
    route("evil", name, from, hosts(from), [parent]);
  scene.apply({ gateways: [GOOD], httpRoutes: [routeOf("a", 0, "infra/web")] });
  const { claims } = scene.apply({
    gateways: [GOOD],
    httpRoutes: [routeOf("a", 0, "infra/gone"), routeOf("b", 4, "infra/web")],
  });
  assert.ok(claims!.size <= 8, `${claims!.size} claims`);
  const { claims: after } = scene.apply({
    gateways: [GOOD],
    httpRoutes: [
      routeOf("a", 0, "infra/gone"),
      routeOf("b", 4, "infra/gone"),
      routeOf("c", 8, "infra/web"),
    ],
  });
  assert.ok(after!.size <= 8, `${after!.size} claims`);
});

Deno.test("a host is free once its HTTPRoute names it no more, or is on an address of its own", () => {
  const ingresses = [ingress("evil", "evil", 0, "shop.test")];
  const own = {
    ...GOOD,
    spec: {
      ...GOOD.spec,
      infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "web" } },
    },
  };
  const gatewayConfigMaps = [{
    metadata: { name: "web", namespace: "infra", uid: "1", resourceVersion: "1" },
    data: { address: "own" },
  }];
  const after: readonly Partial<Resources>[] = [
    { gateways: [GOOD], httpRoutes: [] },
    { gateways: [GOOD], httpRoutes: [route("shop", "shop", 1, ["other.test"], ["infra/web"])] },
    { gateways: [own], gatewayConfigMaps, httpRoutes: [SHOP] },
  ];
  for (const change of after) {
    const scene = new Scene();
    scene.apply({ gateways: [GOOD], httpRoutes: [SHOP] });
    const { snapshot } = scene.apply({ ...change, ingresses });
    assert.equal(winner(snapshot, "shop.test"), "Ingress evil/evil");
  }
});

Deno.test("while Gateways are not known, no host that was claimed is given away", () => {
  const scene = new Scene();
  // Its listener is another Gateway's, so that nothing of it is published.
  const gateways = [gateway("evil", "squat", 0, null), gateway("shop", "web", 9, null)];
  const httpRoutes = [route("shop", "shop", 9, ["shop.test"], ["shop/web"])];
  const ingresses = [ingress("evil", "evil", 99, "shop.test")];
  scene.apply({ gateways, httpRoutes });
  scene.apply({ gateways: null, httpRoutes: null, gatewayIsPending: true, ingresses });
  const { hostOwners } = scene.apply({ gateways, httpRoutes, ingresses });
  assert.equal(hostOwners.get("shop.test")!.namespace, "shop");
});

Deno.test("while Gateways are not known, an assigned host stays closed beside a route with its own address", () => {
  const scene = new Scene();
  const infrastructure = { parametersRef: { group: "", kind: "ConfigMap", name: "own" } };
  const own = gateway("evil", "own", 0, null);
  const known = {
    namespaces: [{ metadata: { name: "shop", annotations: { "pingress.io/hosts": "shop.test" } } }],
    gatewayConfigMaps: [{
      metadata: { name: "own", namespace: "evil", uid: "1", resourceVersion: "1" },
      data: { address: "own" },
    }],
    gateways: [{ ...own, spec: { ...own.spec, infrastructure } }, gateway("evil", "any", 1, null)],
    httpRoutes: [
      route("evil", "own", 0, ["shop.test"], ["evil/own"]),
      route("evil", "any", 0, [], ["evil/any"]),
    ],
  };
  assert.equal(winner(scene.apply(known).snapshot, "shop.test"), null);
  const pending = { gateways: null, httpRoutes: null, gatewayIsPending: true };
  assert.equal(winner(scene.apply({ ...known, ...pending }).snapshot, "shop.test"), null);
});

Deno.test("an alias that no Ingress serves does not keep an HTTPRoute waiting", () => {
  const alias = (name: string, alias: string) => {
    const one = ingress("shop", name, 1, "shop.test", `/${name}`);
    const annotations = { "nginx.ingress.kubernetes.io/server-alias": alias };
    return { ...one, metadata: { ...one.metadata, annotations } };
  };
  const { snapshot } = new Scene().apply({
    ingresses: [alias("a", "a.test"), alias("b", "b.test")],
    gateways: [gateway("shop", "web", 2, null)],
    httpRoutes: [route("shop", "b", 2, ["a.test", "b.test"], ["shop/web"])],
  });
  assert.equal(winner(snapshot, "a.test", "/a"), "Ingress shop/a");
  assert.equal(winner(snapshot, "b.test"), "HTTPRoute shop/b");
});
