/** What stays protected when an Ingress comes to exceed a bound, from the object as it is read to routes. */
import assert from "node:assert/strict";
import { ObjectLedger } from "../../kube/object_bounds.ts";
import { reduceIngress } from "../../kube/reduce.ts";
import type { Ingress } from "../../kube/resources.ts";
import type { KubeObject } from "../../kube/types.ts";
import { type TranslateOptions, type Translation, Translator } from "../translator.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "./namespace_bounds.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  controllerNames: [],
  nginxClasses: ["pingress"],
};
const PREFIX = "nginx.ingress.kubernetes.io/";
/** One path more makes an Ingress too large. */
const MOST_PATHS = 3;
const TOO_MANY = ["/admin", "/b", "/c", "/d"] as const;

/** A list of that many addresses. */
const list = (length: number) =>
  Array.from({ length }, (_, i) => `198.51.${i >> 8}.${i & 255}`).join(",");

function ingress(
  name: string,
  annotations: Readonly<Record<string, string>>,
  paths: readonly string[],
  { day = 2, namespace = "shop", hosts = ["a.example.com"] as readonly string[] } = {},
): Ingress {
  const written = Object.entries(annotations).map(([name, value]) =>
    [name.includes("/") ? name : PREFIX + name, value] as const
  );
  const backend = { service: { name: "web", port: { number: 80 } } };
  const object = {
    metadata: {
      name,
      namespace,
      creationTimestamp: `2026-01-0${day}T00:00:00Z`,
      annotations: Object.fromEntries(written),
    },
    spec: {
      ingressClassName: "pingress",
      rules: hosts.map((host) => ({
        host,
        http: { paths: paths.map((path) => ({ path, pathType: "Prefix", backend })) },
      })),
    },
  };
  const bounds = { ingressPaths: MOST_PATHS, objectBytes: 256 << 10, namespaceBytes: 8 << 20 };
  const take = new ObjectLedger("Ingress", bounds, () => {}).bounded(reduceIngress);
  return take(object as unknown as KubeObject) as unknown as Ingress;
}

function translated(
  ingresses: readonly Ingress[],
  before: Translation | null = null,
  options: Partial<TranslateOptions> = {},
  translator = new Translator(),
): Translation {
  const services = ["shop", "other"].map((namespace) => ({
    metadata: { namespace, name: "web" },
    spec: { ports: [{ port: 80 }] },
  }));
  const resources = { ingresses, ingressClasses: [], services, endpointSlices: [], secrets: [] };
  const published = before?.snapshot ?? null;
  return translator.translate(resources, published, { ...OPTIONS, ...options }, () => 0);
}

/** Each route with what its requests get. */
function served({ snapshot }: Translation): readonly string[] {
  return snapshot.routes.map(({ id, action }) =>
    `${id}: ${action.kind === "reply" ? action.status : "served"}`
  );
}

/** Networks that are admitted and rejected. */
function networksOf({ snapshot }: Translation): readonly (readonly string[])[] {
  return (snapshot.filterSets ?? []).flatMap(({ filters }) =>
    filters.flatMap((filter) =>
      filter.kind === "access" ? [[...filter.allow ?? [], ...filter.deny ?? []]] : []
    )
  );
}

function messagesOf({ problems }: Translation, name: string): readonly string[] {
  return problems.filter(({ object }) => object?.name === name).map(({ message }) => message);
}

for (const name of ["denylist-source-range", "allowlist-source-range"]) {
  Deno.test(`an Ingress that gets too many paths keeps its ${name} of 600 addresses whole`, () => {
    const before = translated([ingress("web", { [name]: list(600) }, ["/admin"])]);
    const after = translated([ingress("web", { [name]: list(600) }, TOO_MANY)], before);
    assert.deepEqual(networksOf(after).map(({ length }) => length), [600]);
    assert.deepEqual(networksOf(after), networksOf(before));
    assert.deepEqual(served(after), ["a.example.com Prefix /admin: served"]);
  });
}

for (
  const [name, value, others] of [
    ["denylist-source-range", list(2000), {}],
    ["allowlist-source-range", list(2000), {}],
    ["whitelist-source-range", list(2000), {}],
    ["auth-snippet", "x".repeat(20_000), {}],
    ["auth-url", `http://web.shop.svc/${"x".repeat(20_000)}`, {}],
    ["auth-realm", "x".repeat(20_000), { "auth-type": "basic", "auth-secret": "users" }],
  ] as const
) {
  Deno.test(`an Ingress that gets too many paths returns 503 where its ${name} is not kept`, () => {
    const annotations = { ...others, [name]: value };
    const before = translated([ingress("web", annotations, ["/admin"])]);
    const after = translated([ingress("web", annotations, TOO_MANY)], before);
    assert.deepEqual(served(after), ["a.example.com Prefix /admin: 503"]);
    assert.ok(
      messagesOf(after, "web").some((each) =>
        each.startsWith(`annotation "${PREFIX}${name}" `) && each.endsWith("its paths return 503")
      ),
    );
  });
}

Deno.test("a list that is not kept closes paths with a reason, and cannot be accepted", () => {
  const annotations = {
    "denylist-source-range": list(2000),
    "pingress.io/accept-unsupported": "denylist-source-range",
  };
  const before = translated([ingress("web", annotations, ["/admin"])]);
  const accepting = {
    acceptUnsupported: ["denylist-source-range"],
    allowAcceptUnsupportedAnnotation: true,
  };
  const after = translated([ingress("web", annotations, TOO_MANY)], before, accepting);
  assert.deepEqual(served(after), ["a.example.com Prefix /admin: 503"]);
  assert.deepEqual(messagesOf(after, "web"), [
    `it has more than ${MOST_PATHS} paths, so its published paths stay, and return 503 for its annotations`,
    `annotation "${PREFIX}denylist-source-range" was not kept, as the Ingress is too large and its ` +
    "annotations are too long, so its paths return 503",
  ]);
});

Deno.test("annotations that an Ingress accepts, and are not kept, are not accepted", () => {
  const annotations = {
    "limit-rps": "5",
    "pingress.io/accept-unsupported": `limit-rps,${"x".repeat(20_000)}`,
  };
  const options = { allowAcceptUnsupportedAnnotation: true };
  const before = translated([ingress("web", annotations, ["/admin"])], null, options);
  assert.deepEqual(served(before), ["a.example.com Prefix /admin: served"]);
  const after = translated([ingress("web", annotations, TOO_MANY)], before, options);
  assert.deepEqual(served(after), ["a.example.com Prefix /admin: 503"]);
});

const OPEN = ingress("open", {}, ["/"]);

for (
  const annotations of [
    { "auth-tls-secret": "shop/ca" },
    { "server-snippet": "deny all;" },
    { "auth-tls-secret": "shop/ca", canary: "true" },
  ] as readonly Readonly<Record<string, string>>[]
) {
  const what = Object.keys(annotations).join(" and ");
  const protect = (paths: readonly string[]) => ingress("web", annotations, paths, { day: 3 });
  const noRoom = { namespaceBounds: { ...DEFAULT_NAMESPACE_BOUNDS, routes: 1 } };

  Deno.test(`all paths of a host return 503 where an Ingress with ${what} has too many paths`, () => {
    const after = translated([OPEN, protect(TOO_MANY)]);
    assert.deepEqual(served(after), ["a.example.com Prefix /: 503"]);
    assert.match(messagesOf(after, "open").join(), /of Ingress shop\/web holds for the whole host/);
    const before = translated([OPEN, protect(["/x"])]);
    const grown = translated([OPEN, protect(TOO_MANY)], before);
    assert.deepEqual(served(grown), served(before));
  });

  Deno.test(`all paths of a host return 503 where an Ingress with ${what} has no room`, () => {
    const before = translated([OPEN], null, noRoom);
    const after = translated([OPEN, protect(["/x"])], before, noRoom);
    assert.deepEqual(served(after), ["a.example.com Prefix /: 503"]);
  });

  Deno.test(`a host stays open where ${what} is accepted, and another host in any case`, () => {
    const acceptUnsupported = ["auth-tls-secret", "server-snippet"];
    const accepted = translated([OPEN, protect(TOO_MANY)], null, { acceptUnsupported });
    assert.deepEqual(served(accepted), ["a.example.com Prefix /: served"]);
    const elsewhere = ingress("open", {}, ["/"], { hosts: ["b.example.com"] });
    const other = translated([elsewhere, protect(TOO_MANY)]);
    assert.deepEqual(served(other), ["b.example.com Prefix /: served"]);
  });
}

Deno.test("a namespace returns 503 while an Ingress protects more hosts than are known", () => {
  const translator = new Translator();
  const hosts = Array.from({ length: 2000 }, (_, i) => `${1000 + i}.example.com`);
  const large = ingress("large", { "auth-tls-secret": "shop/ca" }, ["/"], { hosts });
  const small = Array.from(
    { length: 20 },
    (_, i) => ingress(`small-${i}`, {}, ["/"], { hosts: [`${i}.example.org`] }),
  );
  const foreign = ingress("foreign", {}, ["/"], { namespace: "other", hosts: ["o.example.org"] });
  const statuses = (ingresses: readonly Ingress[]) => {
    const translation = translated(ingresses, null, {}, translator);
    return Object.entries(
      Object.groupBy(
        translation.snapshot.routes,
        ({ action, origin: { namespace } }) =>
          `${namespace} ${action.kind === "reply" ? action.status : "served"}`,
      ),
    ).map(([what, routes]) => `${routes?.length} ${what}`).sort();
  };
  assert.deepEqual(statuses([...small, foreign]), ["1 other served", "20 shop served"]);
  assert.deepEqual(statuses([...small, foreign, large]), ["1 other served", "20 shop 503"]);
  const more = ingress("more", {}, ["/"], { hosts: ["more.example.org"], day: 4 });
  const all = [...small, foreign, large, more];
  assert.deepEqual(statuses(all), ["1 other served", "21 shop 503"]);
  const problem = translated(all).problems.filter(({ object }) => object?.name === "more");
  assert.deepEqual(problem.map(({ message }) => message), [
    `annotation "${PREFIX}auth-tls-secret" of Ingress shop/large holds for whole hosts, of which ` +
    "only a part is known, and is not supported, so all paths of this namespace return 503",
  ]);
  assert.deepEqual(
    statuses([...small, foreign, more]),
    ["1 other served", "21 shop served"],
  );
});

for (
  const [what, bounds] of [
    ["too many paths", {}],
    ["more paths than its namespace has room for", {
      namespaceBounds: { ...DEFAULT_NAMESPACE_BOUNDS, routes: 4 },
    }],
  ] as const
) {
  const guarded = ingress("guarded", { "whitelist-source-range": "10.0.0.0/8" }, ["/admin"], {
    day: 4,
  });
  const annotations = { "use-regex": "true", "server-alias": "b.example.com" };
  /** Without a stub where the bound is that of the namespace. */
  const site = (paths: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    ingress("site", { ...annotations, ...more }, paths, { day: 1 });
  const [few, many] = "namespaceBounds" in bounds
    ? [["/s.*"], ["/s.*", "/t", "/u"]]
    : [["/s.*", "/t"], ["/s.*", "/t", "/u", "/v"]];

  Deno.test(`paths stay regular expressions where an Ingress with use-regex gets ${what}`, () => {
    const before = translated([site(few), OPEN, guarded], null, bounds);
    const after = translated([site(many), OPEN, guarded], before, bounds);
    assert.ok(served(before).includes("a.example.com Regex /admin: served"));
    assert.deepEqual(served(after), served(before));
    assert.deepEqual(after.snapshot.routes, before.snapshot.routes);
    const again = translated([site(many), OPEN, guarded], after, bounds);
    assert.deepEqual(again.snapshot, after.snapshot);
  });

  Deno.test(`paths are prefixes again where an Ingress that gets ${what} gives up use-regex`, () => {
    const before = translated([site(few), OPEN, guarded], null, bounds);
    const plain = site(many, { "use-regex": "false" });
    const after = translated([plain, OPEN, guarded], before, bounds);
    assert.ok(served(after).includes("a.example.com Prefix /admin: served"));
  });

  Deno.test(`the server-alias of an Ingress that gets ${what} stays`, () => {
    const before = translated([site(few), OPEN, guarded], null, bounds);
    const after = translated([site(many), OPEN, guarded], before, bounds);
    assert.deepEqual(before.snapshot.hostSettings, [
      { id: "b.example.com", aliasOf: "a.example.com" },
    ]);
    assert.deepEqual(after.snapshot.hostSettings, before.snapshot.hostSettings);
    const other = translated([OPEN, guarded], before, bounds);
    assert.equal(other.snapshot.hostSettings, undefined);
  });

  Deno.test(`the server-alias of an Ingress that gets ${what} stays with its published host`, () => {
    const before = translated([site(few)], null, bounds);
    const hosts = ["a.example.com", "0.example.com"];
    const grown = ingress("site", annotations, many, { day: 1, hosts });
    const after = translated([grown], before, bounds);
    assert.deepEqual(after.snapshot.hostSettings, before.snapshot.hostSettings);
    assert.deepEqual(after.snapshot.routes, before.snapshot.routes);
  });
}

Deno.test("the redirect of an Ingress from www. stays where it gets too many paths", () => {
  const annotations = { "from-to-www-redirect": "true" };
  const before = translated([ingress("web", annotations, ["/"])]);
  const after = translated([ingress("web", annotations, TOO_MANY)], before);
  assert.deepEqual(after.snapshot.routes.map(({ host }) => host), [
    "a.example.com",
    "www.a.example.com",
  ]);
  assert.deepEqual(after.snapshot.routes, before.snapshot.routes);
});
