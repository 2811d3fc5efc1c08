/** Which certificate clients see for a host on the address that Gateways share with Ingresses. */
import assert from "node:assert/strict";
import { sharedListenerId } from "../../../../shared/snapshot/listener_id.ts";
import type { Route } from "../../../../shared/snapshot/types.ts";
import { secureListener } from "../../../../tests/support/gateway_listeners.ts";
import type { HostOwner } from "../../hosts/host_owner.ts";
import { Ownership } from "../../hosts/ownership.ts";
import { hostCertificates } from "./host_certificates.ts";

/** Listeners `shop/gw/one` and so on, each with its certificates by id: the names in them. */
function scene(
  listeners: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>,
  routes: readonly (readonly [namespace: string, host: string, listener: string])[],
  owners: Readonly<Record<string, string>> = {},
) {
  const idOf = (listener: string) => sharedListenerId(listener.replace("/", "/gw-"), "l", "https");
  const origin = (namespace: string) => ({
    ...{ kind: "HTTPRoute", namespace },
    ...{ name: "web", field: "" },
  });
  return hostCertificates(
    routes.map(([namespace, host, listener]): Route => ({
      id: host,
      listeners: [idOf(listener)],
      host,
      match: { path: { type: "Prefix", value: "/" } },
      action: { kind: "forward", backends: [] },
      origin: origin(namespace),
    })),
    Object.keys(listeners).map((listener) =>
      secureListener(listener, "https", {
        id: idOf(listener),
        origin: origin(listener.split("/")[0]),
      })
    ),
    new Map(
      Object.entries(listeners).map(([listener, certificates]) => [
        idOf(listener),
        Object.entries(certificates).map(([id, names]) => ({ id, names: new Set(names) })),
      ]),
    ),
    ownedBy(owners),
  );
}

/** @param owners Namespaces, by host. */
function ownedBy(owners: Readonly<Record<string, string>>): Ownership {
  return new Ownership({
    ...{ mode: "namespace", assigned: new Map(), contested: new Set(), claims: null, problems: [] },
    owners: new Map(
      Object.entries(owners).map(([host, namespace]): [string, HostOwner] => [
        host,
        { namespace, because: "claim", since: null, sharers: [], guests: [], isDeep: true },
      ]),
    ),
  });
}

Deno.test("a host gets the certificate that names it, of whichever listener its routes are on", () => {
  const found = scene(
    { "shop/one": { other: ["other.test"] }, "shop/two": { app: ["app.test"] } },
    [["shop", "app.test", "shop/one"], ["shop", "app.test", "shop/two"]],
  );
  assert.deepEqual([...found], [["app.test", "app"]]);
});

Deno.test("a wildcard route has the names in its listener's certificates, however deep", () => {
  const found = scene(
    { "shop/one": { wild: ["*.test", "*.shop.test", "elsewhere.example"] } },
    [["shop", "*.test", "shop/one"]],
    { "*.test": "shop" },
  );
  assert.deepEqual([...found], [["*.test", "wild"], ["*.shop.test", "wild"]]);
});

Deno.test("names in a certificate count only where no other namespace owns them or a wildcard above", () => {
  const names = ["www.shop.test", "a.b.shop.test", "evil.test", "free.test"];
  for (const host of ["*", "*.test"]) {
    const found = scene(
      { "evil/any": { cert: names } },
      [["evil", host, "evil/any"]],
      { "*.shop.test": "shop", "evil.test": "evil" },
    );
    assert.deepEqual([...found.keys()].filter((name) => name !== "*.test"), [
      "evil.test",
      "free.test",
    ]);
  }
});

Deno.test("certificates give the names below a wildcard of a route to the first one that has them", () => {
  const found = scene(
    {
      "shop/one": {
        first: ["a.b.shop.test", "*.b.shop.test"],
        second: ["a.b.shop.test", "x.test"],
      },
      "shop/two": { third: ["shop.test", "b.shop.test", "*.shop.test"] },
    },
    [
      ["shop", "*.b.shop.test", "shop/one"],
      ["shop", "*.shop.test", "shop/two"],
      ["shop", "*.shop.test", "shop/one"],
    ],
  );
  assert.deepEqual(Object.fromEntries(found), {
    "*.b.shop.test": "first",
    "*.shop.test": "third",
    "a.b.shop.test": "first",
    "b.shop.test": "third",
  });
});

Deno.test("hosts of routes look at each name of a certificate once", () => {
  const id = sharedListenerId("shop/gw", "l", "https");
  let looks = 0;
  class CountedNames extends Set<string> {
    override *[Symbol.iterator]() {
      for (const name of this.values()) {
        looks++;
        yield name;
      }
      return undefined;
    }
  }
  const origin = { kind: "HTTPRoute", namespace: "shop", name: "web", field: "" };
  const many = Array.from({ length: 500 }, (_, i) => i);
  const found = hostCertificates(
    many.map((i): Route => ({
      id: `${i}`,
      host: `*.h${i}.test`,
      listeners: [id],
      match: { path: { type: "Prefix", value: "/" } },
      action: { kind: "forward", backends: [] },
      origin,
    })),
    [secureListener("shop/gw", "https", { id, origin })],
    new Map([[id, [{ id: "c", names: new CountedNames(many.map((i) => `a.h${i}.test`)) }]]]),
    ownedBy({}),
  );
  assert.equal(found.get("a.h499.test"), "c");
  assert.equal(found.size, 2 * many.length);
  assert.equal(looks, many.length);
});
