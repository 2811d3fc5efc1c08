/** What stays protected when an Ingress comes to exceed a bound, from the object as it is read to routes. */
import assert from "node:assert/strict";
import { ObjectLedger } from "../../kube/object_bounds.ts";
import { reduceIngress } from "../../kube/reduce.ts";
import type { Ingress } from "../../kube/resources.ts";
import type { KubeObject } from "../../kube/types.ts";
import { translate, type TranslateOptions, type Translation } from "../translator.ts";
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
  { day = 2, host = "a.example.com" } = {},
): Ingress {
  const written = Object.entries(annotations).map(([name, value]) =>
    [name.includes("/") ? name : PREFIX + name, value] as const
  );
  const backend = { service: { name: "web", port: { number: 80 } } };
  const object = {
    metadata: {
      name,
      namespace: "shop",
      creationTimestamp: `2026-01-0${day}T00:00:00Z`,
      annotations: Object.fromEntries(written),
    },
    spec: {
      ingressClassName: "pingress",
      rules: [{
        host,
        http: { paths: paths.map((path) => ({ path, pathType: "Prefix", backend })) },
      }],
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
): Translation {
  const services = [{
    metadata: { namespace: "shop", name: "web" },
    spec: { ports: [{ port: 80 }] },
  }];
  const resources = { ingresses, ingressClasses: [], services, endpointSlices: [], secrets: [] };
  return translate(resources, before?.snapshot ?? null, { ...OPTIONS, ...options }, () => 0);
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
