/** Requests for owned hosts that no route of their owner takes, on the address that Gateways share with Ingresses. */
import assert from "node:assert/strict";
import { compileTable } from "../../../../proxy/router/table.ts";
import {
  gateway,
  ingress,
  route,
  Scene,
  secure,
  winner,
} from "../../../../tests/support/shared_address_scene.ts";
import type { Resources } from "../../../kube/resources.ts";

const SHOP_NAMESPACE = (hosts: string) => [{
  metadata: { name: "shop", annotations: { "pingress.io/hosts": hosts } },
}];

const GUARDED: readonly {
  readonly what: string;
  readonly change: Partial<Resources>;
  readonly host: string;
  readonly socket: "http" | "https";
}[] = [
  {
    what: "an assigned name with a listener on the other port",
    change: {
      namespaces: SHOP_NAMESPACE("shop.test"),
      gateways: [gateway("shop", "web", 1, "shop.test")],
    },
    host: "shop.test",
    socket: "https",
  },
  {
    what: "a name of two labels below an assigned wildcard",
    change: { namespaces: SHOP_NAMESPACE("*.shop.test") },
    host: "a.b.shop.test",
    socket: "http",
  },
  {
    what: "a name of two labels below a wildcard that is served on the other port",
    change: {
      gateways: [secure(gateway("shop", "web", 1, "*.shop.test"))],
      httpRoutes: [route("shop", "wide", 1, ["*.shop.test"], ["shop/web"])],
    },
    host: "a.b.shop.test",
    socket: "http",
  },
  {
    what: "a name of two labels below a wildcard of a route that waits for an Ingress",
    change: {
      ingresses: [ingress("shop", "old", 1, "*.shop.test")],
      gateways: [gateway("shop", "web", 1, "*.shop.test")],
      httpRoutes: [route("shop", "wide", 1, ["*.shop.test"], ["shop/web"])],
    },
    host: "a.b.shop.test",
    socket: "http",
  },
];

for (const { what, change, host, socket } of GUARDED) {
  Deno.test(`no other namespace gets requests for ${what}`, () => {
    const evil = {
      gateways: [gateway("evil", "any", 0, null), secure(gateway("evil", "tls", 0, null))],
      httpRoutes: [route("evil", "any", 0, [], ["evil/any", "evil/tls"])],
    };
    const { snapshot } = new Scene().apply({
      ...change,
      gateways: [...evil.gateways, ...change.gateways ?? []],
      httpRoutes: [...evil.httpRoutes, ...change.httpRoutes ?? []],
    });
    const table = compileTable(snapshot, (_action, route) => route);
    assert.notEqual(table.match(host, "/", undefined, socket)?.origin.namespace, "evil");
    assert.equal(winner(snapshot, "other.test"), "HTTPRoute evil/any");
  });
}
