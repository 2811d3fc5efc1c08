/** What Gateways of all namespaces may have together, beside Ingresses. */
import assert from "node:assert/strict";
import {
  PUBLISHED_SHARE,
  snapshotBudget,
  snapshotMemory,
} from "../../../shared/snapshot/memory.ts";
import { layPublishedSet } from "../../outputs/publish/layout.ts";
import {
  acceptedOf,
  gateway,
  ingress,
  route,
  Scene,
  secure,
} from "../../../tests/support/shared_address_scene.ts";
import { publishedGatewayParts } from "../bounds/gateway_tally.ts";
import type { Parts } from "../bounds/namespace_parts.ts";
import {
  DEFAULT_CLUSTER_BOUNDS,
  DEFAULT_GATEWAY_OPTIONS,
  type Translation,
} from "../translator.ts";
import type { BoundedTranslation } from "./gateway_translation.ts";

const MIB = 1024 * 1024;

/** Room for some 1,600 routes. */
const SMALL = { limit: 240 * MIB, workers: 4 };

/** An HTTPRoute of so many paths. */
function paths(namespace: string, name: string, age: number, count: number) {
  const made = route(namespace, name, age, [`${name}.${namespace}.test`], [`${namespace}/web`]);
  const [rule] = made.spec.rules;
  const matches = Array.from({ length: count }, (_, i) => ({
    path: { type: "PathPrefix", value: `/path-${i}` },
  }));
  return { ...made, spec: { ...made.spec, rules: [{ ...rule, matches }] } };
}

/** By object. */
function served({ snapshot }: Translation): Record<string, number> {
  const own = snapshot.routes.filter(({ action }) => action.kind !== "reply");
  const groups = Map.groupBy(own, ({ origin: { namespace, name } }) => `${namespace}/${name}`);
  return Object.fromEntries(Array.from(groups, ([key, routes]) => [key, routes.length]));
}

const GATEWAYS = ["evil", "infra"].map((namespace, i) =>
  gateway(namespace, "web", i, `*.${namespace}.test`)
);

Deno.test("HTTPRoutes that proxies have no memory for are not served, all others are", () => {
  const scene = new Scene({ clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, memory: SMALL } });
  const ingresses = [ingress("shop", "app", 9, "shop.test")];
  const first = [paths("evil", "a", 0, 1_500), paths("infra", "x", 9, 50)];
  const before = scene.apply({ gateways: GATEWAYS, ingresses, httpRoutes: first });
  assert.deepEqual(served(before), { "evil/a": 1_500, "infra/x": 50, "shop/app": 1 });
  const after = scene.apply({
    gateways: GATEWAYS,
    ingresses: [...ingresses, ingress("shop", "new", 9, "new.test")],
    httpRoutes: [
      ...first,
      ...[paths("evil", "b", 1, 900), paths("evil", "c", 2, 900), paths("infra", "y", 9, 50)],
    ],
  });
  assert.deepEqual(served(after), {
    ...{ "evil/a": 1_500, "infra/x": 50, "infra/y": 50 },
    ...{ "shop/app": 1, "shop/new": 1 },
  });
  assert.equal(
    acceptedOf(after, "evil/b"),
    "False ClusterLimitExceeded: with this route the configuration would take more than proxies with 240 " +
      "MiB of memory and 4 workers hold, and the largest namespaces add nothing to that, so it is not " +
      "served. Remove routes, or raise the memory limit of the proxies (--proxy-pod-template).",
  );
  assert.equal(acceptedOf(after, "evil/a"), "True Accepted: ");
  const budget = snapshotBudget(SMALL, PUBLISHED_SHARE);
  assert.ok(snapshotMemory(after.snapshot, SMALL.workers) <= budget);
  // There is room again.
  const smaller = scene.apply({
    ...{ gateways: GATEWAYS, ingresses },
    httpRoutes: [paths("evil", "b", 1, 900), ...first.slice(1)],
  });
  assert.deepEqual(served(smaller), { "evil/b": 900, "infra/x": 50, "shop/app": 1 });
});

Deno.test("published routes of Gateways leave less room for new Ingresses", () => {
  const bounds = { clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, memory: SMALL } };
  const large = ingress("shop", "large", 9, "large.test");
  const [{ http: { paths: [path] } }] = large.spec.rules;
  const many = Array.from({ length: 1_500 }, (_, i) => ({ ...path, path: `/${i}` }));
  const ingresses = [{
    ...large,
    spec: { ...large.spec, rules: [{ host: "large.test", http: { paths: many } }] },
  }];
  assert.equal(served(new Scene(bounds).apply({ ingresses }))["shop/large"], 1_500);
  const scene = new Scene(bounds);
  const httpRoutes = [paths("evil", "a", 0, 1_000)];
  const before = scene.apply({ gateways: GATEWAYS, httpRoutes });
  assert.deepEqual(served(before), { "evil/a": 1_000 });
  const after = scene.apply({ gateways: GATEWAYS, httpRoutes, ingresses });
  assert.deepEqual(served(after), { "evil/a": 1_000 });
  assert.deepEqual(
    after.problems.map(({ reason, object }) => `${reason} ${object?.name}`),
    ["ClusterLimitExceeded large"],
  );
  // Deleted routes leave theirs in the same translation: what it comes to causes no further one.
  assert.deepEqual(served(scene.apply({ gateways: GATEWAYS, httpRoutes: [], ingresses })), {
    "shop/large": 1_500,
  });
});

const pem = (name: string) =>
  Deno.readTextFileSync(new URL(`../../../tests/golden/certificates/${name}`, import.meta.url));

const PAIR = { chain: pem("wildcard.crt"), key: pem("wildcard.key") };

/** Secrets with one pair. */
function secrets(namespace: string, prefix: string, count: number) {
  return Array.from({ length: count }, (_, i) => ({
    metadata: { namespace, name: `${prefix}-${i}` },
    type: "kubernetes.io/tls",
    data: { "tls.crt": btoa(PAIR.chain), "tls.key": btoa(PAIR.key) },
  }));
}

/** A Gateway whose listeners show so many certificates each. */
function secureGateway(namespace: string, age: number, counts: Readonly<Record<string, number>>) {
  const made = gateway(namespace, "web", age);
  const listeners = Object.entries(counts).map(([name, count]) => ({
    ...{ name, port: 443, protocol: "HTTPS", hostname: `${name}.${namespace}.test` },
    tls: {
      certificateRefs: Array.from({ length: count }, (_, i) => ({ name: `${name}-${i}` })),
    },
  }));
  return { ...made, spec: { ...made.spec, listeners } };
}

Deno.test("certificates of listeners that Secrets have no room for are not shown, those of others are", () => {
  // Ten keys, each of fewer than the 900 bytes that a key counts at least.
  assert.ok(PAIR.key.length + 200 < 900);
  const keyBytes = 10 * 900;
  const scene = new Scene({ clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, keyBytes } });
  const withTls = (name: string) => {
    const made = ingress("shop", name, 9, `${name}.example.com`);
    return {
      ...made,
      spec: { ...made.spec, tls: [{ hosts: [`${name}.example.com`], secretName: `${name}-0` }] },
    };
  };
  const all = [
    ...[...secrets("evil", "a", 5), ...secrets("evil", "b", 5), ...secrets("infra", "a", 1)],
    ...["one", "two", "new"].flatMap((name) => secrets("shop", name, 1)),
  ];
  const shownOf = ({ gateway }: Translation, key: string) =>
    gateway!.gateways.find(({ identity }) => identity.key === key)!.listeners.map(
      ({ name, conditions }) =>
        `${name} ${conditions.find(({ type }) => type === "ResolvedRefs")!.status}`,
    );
  const shown = ({ snapshot: { certificates } }: Translation) =>
    certificates.filter(({ hosts }) => hosts.length > 0)
      .flatMap(({ hosts }) => hosts).filter((host) => host.endsWith(".example.com")).sort();
  const first = scene.apply({
    gateways: [secureGateway("infra", 9, { a: 1 }), secureGateway("evil", 0, { a: 5 })],
    ...{ ingresses: [withTls("one"), withTls("two")], secrets: all },
  });
  assert.deepEqual(shownOf(first, "evil/web"), ["a True"]);
  const after = scene.apply({
    gateways: [secureGateway("infra", 9, { a: 1 }), secureGateway("evil", 0, { a: 5, b: 5 })],
    ...{ ingresses: ["one", "two", "new"].map(withTls), secrets: all },
  });
  assert.deepEqual(shownOf(after, "evil/web"), ["a True", "b False"]);
  assert.deepEqual(shownOf(after, "infra/web"), ["a True"]);
  assert.deepEqual(shown(after), ["new.example.com", "one.example.com", "two.example.com"]);
  const { listeners } = after.gateway!.gateways.find(({ identity }) =>
    identity.key === "evil/web"
  )!;
  const { reason, message } = listeners[1].conditions.find(({ type }) => type === "ResolvedRefs")!;
  assert.equal(reason, "InvalidCertificateRef");
  assert.match(
    message,
    /^spec\.listeners\[1\]\.tls\.certificateRefs: with it the configuration would take more than the Secrets with private keys hold, /,
  );
  assert.equal(layPublishedSet(after.snapshot).ok, true);
});

Deno.test("an HTTPRoute of a namespace that adds nothing has no more hosts and backends for fewer paths", () => {
  const scene = new Scene({ clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, memory: SMALL } });
  const services = [...Array(16).keys()].map((i) => ({
    metadata: { namespace: "evil", name: `web-${i}` },
    spec: { ports: [{ port: 80 }] },
  }));
  const first = [paths("evil", "a", 0, 512), paths("evil", "b", 1, 960)];
  const rest = [paths("evil", "c", 2, 1_500)];
  const reasonOf = (given: Translation, name: string) => acceptedOf(given, name).split(":")[0];
  const gateways = GATEWAYS;
  const before = scene.apply({ gateways, services, httpRoutes: [...first, ...rest] });
  assert.deepEqual(
    ["evil/a", "evil/b", "evil/c"].map((name) => reasonOf(before, name)),
    Array(3).fill("False ClusterLimitExceeded"),
  );
  scene.apply({ gateways, services, httpRoutes: first });
  const full = scene.apply({ gateways, services, httpRoutes: [...first, ...rest] });
  assert.equal(reasonOf(full, "evil/a"), "True Accepted");
  assert.equal(reasonOf(full, "evil/c"), "False ClusterLimitExceeded");
  const [{ matches }] = first[0].spec.rules;
  const changedTo = (hosts: number, backends: number) => {
    const hostnames = Array.from(
      { length: hosts },
      (_, i) => i === 0 ? "a.evil.test" : `a${i}.evil.test`,
    );
    const rules = [{
      matches: matches.slice(0, 32),
      backendRefs: services.slice(0, backends).map(({ metadata: { name } }) => ({
        name,
        port: 80,
      })),
    }];
    return { ...first[0], spec: { ...first[0].spec, hostnames, rules } };
  };
  const apply = (changed: typeof first[number]) =>
    scene.apply({ gateways, services, httpRoutes: [changed, ...first.slice(1), ...rest] });
  for (const [hosts, backends] of [[8, 1], [1, 8]]) {
    const after = apply(changedTo(hosts, backends) as typeof first[number]);
    assert.equal(reasonOf(after, "evil/a"), "False ClusterLimitExceeded");
    assert.deepEqual(served(after), served(full));
    assert.deepEqual(after.snapshot.upstreams, full.snapshot.upstreams);
  }
  // Less of all.
  const less = apply({
    ...first[0],
    spec: {
      ...first[0].spec,
      rules: [{ ...first[0].spec.rules[0], matches: matches.slice(0, 32) }],
    },
  });
  assert.equal(reasonOf(less, "evil/a"), "True Accepted");
});

const CONDITIONAL = {
  path: { type: "PathPrefix", value: "/conditional" },
  ...{ method: "GET", queryParams: [{ name: "a", value: "b" }] },
  headers: [{ name: "x-a", value: "b" }, {
    name: "x-b",
    type: "RegularExpression",
    value: "c.*",
  }],
};

Deno.test("conditions count on each listener, as proxies compile them for each", () => {
  const listeners = [...Array(64).keys()].map((i) => ({
    ...{ name: `l${i}`, port: 1000 + i, protocol: "HTTP" },
  }));
  const made = gateway("evil", "web", 0, null);
  const gateways = [{ ...made, spec: { ...made.spec, listeners } }] as unknown as typeof made[];
  const conditional = (name: string, age: number, count: number) => {
    const all = paths("evil", name, age, count);
    const headers = [...Array(16).keys()].map((i) => ({ name: `x-${i}`, value: "1" }));
    const rules = all.spec.rules.map((rule) => ({
      ...rule,
      matches: rule.matches.map((match) => ({ ...match, headers })),
    }));
    return { ...all, spec: { ...all.spec, rules } };
  };
  const memory = { limit: 512 * MIB, workers: 4 };
  const scene = new Scene({
    clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, memory },
    gateway: { ...DEFAULT_GATEWAY_OPTIONS, address: "own" },
  });
  const first = [conditional("a", 0, 128)];
  const before = scene.apply({ gateways, httpRoutes: first });
  assert.deepEqual(served(before), { "evil/a": 128 });
  // Each condition takes a worker some hundred bytes on each listener.
  const copies = 128 * 16 * 63 * 100 * memory.workers;
  assert.ok(snapshotMemory(before.snapshot, memory.workers) > copies);
  const after = scene.apply({ gateways, httpRoutes: [...first, conditional("b", 1, 512)] });
  assert.deepEqual(served(after), { "evil/a": 128 });
  assert.match(acceptedOf(after, "evil/b"), /^False ClusterLimitExceeded: /);
  assert.equal(acceptedOf(after, "evil/a"), "True Accepted: ");
  // On few listeners there is room.
  const few = [{ ...made, spec: { ...made.spec, listeners: listeners.slice(0, 4) } }];
  const fewer = scene.apply({
    gateways: few as unknown as typeof made[],
    httpRoutes: [...first, conditional("b", 1, 512)],
  });
  assert.deepEqual(served(fewer), { "evil/a": 128, "evil/b": 512 });
});

Deno.test("the measure of an HTTPRoute equals that of its published routes", () => {
  const made = route("evil", "a", 0, ["a.evil.test", "b.evil.test"], ["evil/web", "evil/other"]);
  const { matches, backendRefs } = paths("evil", "a", 0, 8).spec.rules[0];
  const redirect = (requestRedirect: unknown) => ({
    matches: [...matches, { path: { type: "Exact", value: "/exact" } }, CONDITIONAL],
    filters: [{ type: "RequestRedirect", requestRedirect }],
  });
  const rules = [
    {
      matches: [...matches, CONDITIONAL],
      backendRefs: [...backendRefs, { name: "gone", port: 80 }],
      timeouts: { request: "3s" },
    },
    ...["/a", "/a", '/"b"'].map((replacePrefixMatch) =>
      redirect({ path: { type: "ReplacePrefixMatch", replacePrefixMatch } })
    ),
    redirect({ path: { type: "ReplaceFullPath", replaceFullPath: "/a" } }),
    redirect({ scheme: "https", port: 444 }),
    { matches, filters: [{ type: "Unknown" }], timeouts: { request: "3s" } },
  ];
  const gateways = [
    secure(gateway("evil", "web", 0, "*.evil.test")),
    gateway("evil", "other", 1, "*.evil.test", "b.evil.test"),
  ];
  const services = ["web", "gone"].map((name) => ({
    metadata: { namespace: "evil", name },
    spec: { ports: [{ port: 80 }] },
  }));
  const [secret] = secrets("evil", "cert", 1);
  const httpRoutes = [{ ...made, spec: { ...made.spec, rules } }] as unknown as typeof made[];
  const { gateway: translated, snapshot } = new Scene().apply({
    ...{ gateways, services, httpRoutes },
    secrets: [{ ...secret, metadata: { namespace: "evil", name: "cert" } }],
  });
  const { wanted } = translated as unknown as BoundedTranslation;
  const published = publishedGatewayParts(snapshot);
  // Which hosts a certificate is given is known once it is published.
  const withoutChains = (all: ReadonlyMap<string, Parts>) =>
    Array.from(all, ([namespace, parts]) => [namespace, { ...parts, chains: 0 }]);
  assert.deepEqual(withoutChains(wanted), withoutChains(published));
  assert.ok(snapshot.filterSets!.length > 30);
});
