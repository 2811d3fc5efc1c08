/** Hosts on the address that Gateways share with Ingresses, from one translation to the next. */
import assert from "node:assert/strict";
import { hostPatternTakes } from "../../../../proxy/router/host.ts";
import { compileTable } from "../../../../proxy/router/table.ts";
import { listenerId, sharedListenerId } from "../../../../shared/snapshot/listener_id.ts";
import type { Route } from "../../../../shared/snapshot/types.ts";
import { Random } from "../../../../tests/fuzz/random.ts";
import {
  acceptedOf,
  day,
  gateway,
  ingress,
  NAMESPACES,
  route,
  Scene,
  winner,
} from "../../../../tests/support/shared_address_scene.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "../../bounds/namespace_bounds.ts";
import type { Translation } from "../../translator.ts";
import { MAX_SHARED_LISTENERS } from "./shared_ports.ts";

Deno.test("a host goes from an Ingress to an HTTPRoute of its namespace in one snapshot, and back", () => {
  const scene = new Scene();
  const gateways = [gateway("shop", "web", 0, null)];
  const httpRoutes = [route("shop", "new", 1, ["app.test"], ["shop/web"])];
  const old = ingress("shop", "old", 2, "app.test");
  const both = scene.apply({ gateways, httpRoutes, ingresses: [old] });
  assert.equal(winner(both.snapshot, "app.test"), "Ingress shop/old");
  assert.equal(
    acceptedOf(both, "shop/new"),
    "True Accepted: host app.test is served by Ingress shop/old until it is deleted.",
  );
  const after = scene.apply({ gateways, httpRoutes });
  assert.equal(winner(after.snapshot, "app.test"), "HTTPRoute shop/new");
  assert.equal(acceptedOf(after, "shop/new"), "True Accepted: ");
  const again = scene.apply({ gateways, httpRoutes, ingresses: [old] });
  assert.equal(winner(again.snapshot, "app.test"), "Ingress shop/old");
});

Deno.test("a host stays its namespace's when an older object of another namespace comes", () => {
  const scene = new Scene();
  const gateways = [gateway("shop", "web", 9, null), gateway("evil", "evil", 0, "*.test")];
  const httpRoutes = [route("shop", "shop", 9, ["app.test"], ["shop/web"])];
  scene.apply({ gateways, httpRoutes });
  const withIngress = scene.apply({
    ...{ gateways, httpRoutes },
    ingresses: [ingress("evil", "evil", 0, "app.test")],
  });
  assert.equal(winner(withIngress.snapshot, "app.test"), "HTTPRoute shop/shop");
  const withRoute = scene.apply({
    gateways,
    httpRoutes: [...httpRoutes, route("evil", "evil", 0, ["app.test"], ["evil/evil"])],
  });
  assert.equal(winner(withRoute.snapshot, "app.test"), "HTTPRoute shop/shop");
  assert.match(
    acceptedOf(withRoute, "evil/evil"),
    /^False HostnameNotOwned: spec\.hostnames: host app\.test belongs to .* shop/,
  );
  // Until it names the host no more.
  const gone = scene.apply({
    gateways,
    httpRoutes: [route("evil", "evil", 0, ["app.test"], ["evil/evil"])],
  });
  assert.equal(winner(gone.snapshot, "app.test"), "HTTPRoute evil/evil");
});

Deno.test("a listener that is served is not displaced by a change of an older Gateway", () => {
  const scene = new Scene();
  const served = gateway("infra", "web", 5, null);
  const older = gateway("evil", "evil", 0, "evil.test");
  const httpRoutes = [route("shop", "shop", 6, ["app.test"], ["infra/web"])];
  const first = scene.apply({ gateways: [served, older], httpRoutes });
  assert.equal(winner(first.snapshot, "app.test"), "HTTPRoute shop/shop");
  const second = scene.apply({
    gateways: [served, gateway("evil", "evil", 0, "evil.test", null)],
    httpRoutes,
  });
  assert.equal(winner(second.snapshot, "app.test"), "HTTPRoute shop/shop");
  const { listeners } = second.gateway!.gateways.find(({ identity }) =>
    identity.key === "evil/evil"
  )!;
  const [{ reason, message }] = listeners[1].conditions;
  assert.equal(reason, "HostnameConflict");
  assert.match(
    message,
    /^spec\.listeners\[1\]: listener l0 of Gateway infra\/web, which is served already, /,
  );
});

Deno.test("an older Gateway that removes the hostname of its listener does not displace the one for any host", () => {
  const scene = new Scene();
  const common = gateway("infra", "web", 5, null);
  const httpRoutes = [
    route("shop", "one", 6, ["app.test"], ["infra/web"]),
    route("shop", "two", 6, ["two.test"], ["infra/web"]),
  ];
  scene.apply({ gateways: [common, gateway("evil", "evil", 0, "evil.test")], httpRoutes });
  const { snapshot } = scene.apply({
    gateways: [common, gateway("evil", "evil", 0, null)],
    httpRoutes,
  });
  assert.equal(winner(snapshot, "app.test"), "HTTPRoute shop/one");
  assert.equal(winner(snapshot, "two.test"), "HTTPRoute shop/two");
});

Deno.test("a wildcard hostname of another Gateway withholds no host from its owner", () => {
  const old = ingress("shop", "old", 0, "a.shop.test");
  const squat = gateway("evil", "squat", 2, "*.shop.test", null);
  const evil = route("evil", "x", 2, ["x.shop.test"], ["evil/squat"]);
  const scene = new Scene({}, Date.parse(day(1)));
  scene.apply({ ingresses: [old] });
  scene.apply({ ingresses: [old], gateways: [squat], httpRoutes: [evil] });
  const gateways = [squat, gateway("shop", "web", 3, "*.shop.test")];
  const httpRoutes = [evil, route("shop", "a", 4, ["a.shop.test"], ["shop/web"])];
  scene.apply({ ingresses: [old], gateways, httpRoutes });
  const own = scene.apply({ gateways, httpRoutes });
  assert.equal(winner(own.snapshot, "a.shop.test"), "HTTPRoute shop/a");
  assert.equal(acceptedOf(own, "shop/a"), "True Accepted: ");
  assert.equal(winner(own.snapshot, "x.shop.test"), "HTTPRoute evil/x");
  // Nor the wildcard itself, and then nobody else has what is below it.
  const wide = [...httpRoutes, route("shop", "wide", 5, ["*.shop.test"], ["shop/web"])];
  const any = route("evil", "any", 0, ["*.shop.test"], ["evil/squat"]);
  scene.apply({ gateways, httpRoutes: wide });
  const { snapshot } = scene.apply({ gateways, httpRoutes: [...wide, any] });
  assert.deepEqual(
    ["a.shop.test", "b.shop.test", "c.b.shop.test", "x.shop.test"].map((host) =>
      winner(snapshot, host)
    ),
    ["HTTPRoute shop/a", "HTTPRoute shop/wide", "HTTPRoute shop/wide", "HTTPRoute evil/x"],
  );
});

Deno.test("a claim to a wildcard takes no host from a Gateway that was there before", () => {
  const gateways = [gateway("infra", "web", 0, "*.test"), gateway("evil", "evil", 2, "*.test")];
  const httpRoutes = [
    route("shop", "shop", 1, ["app.test"], ["infra/web"]),
    route("evil", "wide", 2, ["*.test"], ["evil/evil"]),
  ];
  const scene = new Scene({}, Date.parse(day(1)));
  scene.apply({ gateways: gateways.slice(0, 1), httpRoutes });
  const { snapshot } = scene.apply({ gateways, httpRoutes });
  assert.equal(winner(snapshot, "app.test"), "HTTPRoute shop/shop");
  // An administrator decides who has the wildcard.
  const namespaces = [{
    metadata: { name: "infra", annotations: { "pingress.io/hosts": "*.test" } },
  }];
  const assigned = scene.apply({ gateways, httpRoutes, namespaces });
  assert.equal(winner(assigned.snapshot, "app.test"), "HTTPRoute shop/shop");
  assert.equal(winner(assigned.snapshot, "other.test"), null);
  assert.match(acceptedOf(assigned, "evil/wide"), /^False HostnameNotOwned: .* namespace infra/);
});

Deno.test("the reply for a wildcard that two Gateways have without routes is one", () => {
  const names = ["one", "two"];
  const gateways = names.map((name, i) => gateway("infra", name, i, "*.test", "*.shop.test"));
  const httpRoutes = names.map((name, i) => {
    const made = route("infra", name, i, ["*.test"], [`infra/${name}`]);
    const parentRefs = made.spec.parentRefs.map((each) => ({ ...each, sectionName: "l0" }));
    return { ...made, spec: { ...made.spec, parentRefs } };
  });
  const { snapshot } = new Scene().apply({ gateways, httpRoutes });
  assert.equal(winner(snapshot, "x.test"), "HTTPRoute infra/one");
  assert.equal(winner(snapshot, "x.shop.test"), null);
  const replies = snapshot.routes.filter(({ host, listeners }) =>
    host === "*.shop.test" && listeners?.some((id) => id.endsWith("@http"))
  );
  assert.deepEqual(replies.map(({ listeners }) => listeners), [
    names.map((name) => sharedListenerId(`infra/${name}`, "l1", "http")),
  ]);
});

Deno.test("while Gateways are not known, what was published stays, and no other namespace gets its hosts", () => {
  const scene = new Scene();
  const gateways = [gateway("shop", "web", 9, null)];
  const httpRoutes = [
    route("shop", "shop", 9, ["app.test"], ["shop/web"], "/only"),
    route("shop", "wide", 9, ["*.shop.test"], ["shop/web"]),
  ];
  const before = scene.apply({ gateways, httpRoutes });
  const ingresses = [ingress("evil", "evil", 0, "app.test"), ingress("evil", "any", 0, null)];
  const pending = scene.apply({
    ...{ gateways: null, httpRoutes: null, gatewayIsPending: true },
    ingresses,
  });
  assert.deepEqual(pending.snapshot.listeners, before.snapshot.listeners);
  assert.equal(winner(pending.snapshot, "app.test", "/only"), "HTTPRoute shop/shop");
  assert.equal(winner(pending.snapshot, "app.test", "/"), null);
  assert.equal(winner(pending.snapshot, "app.test", "/", "https"), null);
  assert.equal(winner(pending.snapshot, "a.b.shop.test"), "HTTPRoute shop/wide");
  const known = scene.apply({ gateways, httpRoutes, ingresses });
  assert.equal(winner(known.snapshot, "app.test", "/only"), "HTTPRoute shop/shop");
  assert.equal(winner(known.snapshot, "other.test"), "Ingress evil/any");
});

Deno.test("a Gateway whose parameters cannot be read any more stays where it is served", () => {
  const gateways = [{
    ...gateway("shop", "web", 0, null),
    spec: {
      ...gateway("shop", "web", 0, null).spec,
      infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "web" } },
    },
  }];
  const parameters = (address: string) => [{
    metadata: { name: "web", namespace: "shop", uid: "1", resourceVersion: "1" },
    data: { address },
  }];
  for (const address of ["own", "shared"] as const) {
    const scene = new Scene();
    const idOf = ({ snapshot }: Translation) => snapshot.listeners?.map(({ id }) => id);
    const served = scene.apply({ gateways, gatewayConfigMaps: parameters(address) });
    const id = address === "own"
      ? listenerId("shop/web", "l0")
      : sharedListenerId("shop/web", "l0", "http");
    assert.deepEqual(idOf(served), [id]);
    const broken = scene.apply({ gateways, gatewayConfigMaps: [] });
    assert.deepEqual(idOf(broken), [id]);
    assert.equal(broken.gateway!.gateways[0].conditions[0].reason, "InvalidParameters");
  }
});

Deno.test("where hosts are shared by all, an Ingress of any namespace has its host before HTTPRoutes", () => {
  const scene = new Scene({ hostOwnership: "shared" });
  const gateways = [gateway("infra", "web", 0, null)];
  const httpRoutes = [
    route("shop", "one", 1, ["app.test"], ["infra/web"], "/one"),
    route("evil", "two", 2, ["app.test"], ["infra/web"], "/two"),
  ];
  const { snapshot } = scene.apply({ gateways, httpRoutes });
  assert.equal(winner(snapshot, "app.test", "/one"), "HTTPRoute shop/one");
  assert.equal(winner(snapshot, "app.test", "/two"), "HTTPRoute evil/two");
  const ingresses = [ingress("evil", "old", 9, "app.test", "/one")];
  const both = scene.apply({ gateways, httpRoutes, ingresses });
  assert.equal(winner(both.snapshot, "app.test", "/one"), "Ingress evil/old");
  assert.equal(winner(both.snapshot, "app.test", "/two"), null);
  assert.match(acceptedOf(both, "shop/one"), /served by Ingress evil\/old until it is deleted\.$/);
});

Deno.test("a namespace claims no more hosts than it may have routes, but keeps what it has", () => {
  const bounds = (routes: number) => ({ namespaceBounds: { ...DEFAULT_NAMESPACE_BOUNDS, routes } });
  const gateways = [gateway("shop", "web", 0, null)];
  const hosts = Array.from({ length: 6 }, (_, i) => `h${i}.test`);
  const httpRoutes = hosts.map((host, i) => route("shop", `r${i}`, i, [host], ["shop/web"]));
  const claimed = ({ claims }: Translation) => [...claims!.keys()].sort();
  const scene = new Scene(bounds(4));
  assert.deepEqual(claimed(scene.apply({ gateways, httpRoutes })), hosts.slice(0, 4));
  const before = new Scene();
  before.apply({ gateways, httpRoutes });
  const lowered = new Scene(bounds(2));
  lowered.published = before.published;
  const after = lowered.apply({ gateways, httpRoutes });
  assert.deepEqual(claimed(after), hosts);
  assert.equal(winner(after.snapshot, "h5.test"), "HTTPRoute shop/r5");
});

Deno.test("a namespace has a bounded number of listeners on the shared address, the oldest first", () => {
  const gateways = Array.from(
    { length: 17 },
    (_, i) =>
      gateway("evil", `g${i}`, i, ...Array.from({ length: 64 }, (_, j) => `h${i}-${j}.test`)),
  );
  const other = gateway("shop", "web", 99, null);
  const { snapshot, gateway: translation } = new Scene().apply({ gateways: [...gateways, other] });
  assert.equal(snapshot.listeners!.length, MAX_SHARED_LISTENERS + 1);
  const last = translation!.gateways.find(({ identity }) => identity.key === "evil/g16")!;
  assert.deepEqual(
    [...new Set(last.listeners.map(({ conditions: [{ reason }] }) => reason))],
    ["PortUnavailable"],
  );
});

/** So many that few changes are translated without a look at all. */
const OTHERS = Array.from({ length: 60 }, (_, i) => ingress("infra", `o${i}`, 9, `o${i}.other`));

const HOSTS = ["a.test", "b.test", "x.a.test", "*.test", "*.a.test", "a.other"];
const REQUESTED = [
  "a.test",
  "b.test",
  "c.test",
  "x.a.test",
  "y.a.test",
  "z.y.a.test",
  "a.other",
  "",
];

Deno.test("in 400 random clusters nobody gets a request for another namespace's host", () => {
  const random = new Random(2026);
  const pick = <T>(list: readonly T[]): T => random.pick(list);
  const some = <T>(count: number, make: (i: number) => T): T[] =>
    Array.from({ length: random.below(count + 1) }, (_, i) => make(i));
  let requests = 0;
  for (let round = 0; round < 80; round++) {
    const scene = new Scene();
    for (let step = 0; step < 5; step++) {
      const names = ["shop/one", "shop/two", "evil/one", "infra/one"];
      const gateways = names.filter(() => random.below(4) > 0).map((key) => {
        const [namespace, name] = key.split("/");
        const hostnames = some(3, () => pick([null, ...HOSTS]));
        return gateway(namespace, name, random.below(9), pick([null, ...HOSTS]), ...hostnames);
      });
      const httpRoutes = some(5, (i) =>
        route(
          pick(NAMESPACES),
          `r${i}`,
          random.below(9),
          some(2, () => pick(HOSTS)),
          [pick(names), pick(names)],
          pick(["/", "/p"]),
        ));
      const ingresses = some(
        4,
        (i) =>
          ingress(
            pick(NAMESPACES),
            `i${i}`,
            random.below(9),
            pick([null, ...HOSTS]),
            pick(["/", "/p"]),
          ),
      );
      const { snapshot, hostOwners } = scene.apply({
        ...{ gateways, httpRoutes },
        ingresses: [...OTHERS, ...ingresses],
      });
      const table = compileTable(snapshot, (_action, route) => route);
      for (const host of REQUESTED) {
        for (const socket of ["http", "https"]) {
          const found = table.match(host, pick(["/", "/p", "/q"]), undefined, socket);
          requests++;
          if (found === null) continue;
          assertOwn(found, host, hostOwners);
          // Inside of a namespace an Ingress goes first.
          const isIngress = ingresses.some(({ metadata, spec }) =>
            spec.rules[0].host === host &&
            metadata.namespace === hostOwners.get(host)?.namespace
          );
          if (isIngress) assert.equal(found.origin.kind, "Ingress", host);
        }
      }
    }
  }
  assert.ok(requests > 5000);
});

/** Whoever owns the name itself has its requests, and whoever owns the route's pattern is the route's namespace. */
function assertOwn(
  { id, host, action, origin }: Route,
  requested: string,
  owners: Translation["hostOwners"],
): void {
  // Nobody's backend gets it.
  if (action.kind === "reply") return;
  assert.ok(hostPatternTakes(host, requested, "suffix"), id);
  const exact = owners.get(requested);
  if (exact !== undefined) assert.equal(origin.namespace, exact.namespace, `${requested} by ${id}`);
  const owner = owners.get(host);
  if (owner !== undefined) assert.equal(origin.namespace, owner.namespace, id);
}
