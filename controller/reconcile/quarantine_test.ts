import assert from "node:assert/strict";
import { type Translate, translateOrQuarantine } from "./quarantine.ts";
import type { Ingress, Resources } from "../kube/resources.ts";
import { translate, type TranslateOptions } from "../translate/translator.ts";
import { DEFAULT_GATEWAY_OPTIONS } from "../translate/gateway/gateway_translator.ts";
import { TRANSLATE_OPTIONS } from "../../tests/support/translate_options.ts";

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  controllerNames: [],
  version: { epoch: "a", seen: {} },
};

function ingress(name: string, path = "/"): Ingress {
  const backend = { service: { name: "web", port: { number: 80 } } };
  return {
    metadata: { namespace: "default", name, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      ingressClassName: "pingress",
      rules: [{
        host: `${name}.example.com`,
        http: { paths: [{ path, pathType: "Prefix", backend }] },
      }],
    },
  };
}

function resources(...ingresses: Ingress[]): Resources {
  const services = [{
    metadata: { namespace: "default", name: "web" },
    spec: { ports: [{ port: 80 }] },
  }];
  return { ingresses, ingressClasses: [], services, endpointSlices: [], secrets: [] };
}

/** Fails on objects of these names, as a mistake of ours would. */
function failingOn(...names: string[]): Translate {
  return (resources, ...rest) => {
    for (const { metadata } of resources.ingresses) {
      if (names.includes(metadata?.name ?? "")) throw new TypeError("cannot read of undefined");
    }
    return translate(resources, ...rest);
  };
}

Deno.test("an object that cannot be translated keeps its published routes, and affects no other", () => {
  const before = translate(resources(ingress("bad"), ingress("good")), null, OPTIONS, () => 0);
  const now = resources(ingress("bad", "/new"), ingress("good", "/new"), ingress("more"));
  const translated = translateOrQuarantine(
    failingOn("bad"),
    now,
    before.snapshot,
    OPTIONS,
    () => 0,
  )!;
  assert.deepEqual(translated.snapshot.routes.map(({ id }) => id), [
    "bad.example.com Prefix /",
    "good.example.com Prefix /new",
    "more.example.com Prefix /",
  ]);
  const problem = translated.problems.find(({ reason }) => reason === "Quarantined");
  assert.deepEqual(problem?.object, { kind: "Ingress", namespace: "default", name: "bad" });
  assert.match(problem?.message ?? "", /cannot read of undefined/);
});

Deno.test("upstreams that only a kept route uses stay with it", () => {
  const before = translate(resources(ingress("bad")), null, OPTIONS, () => 0);
  const translated = translateOrQuarantine(
    failingOn("bad"),
    resources(ingress("bad")),
    before.snapshot,
    OPTIONS,
    () => 0,
  )!;
  assert.deepEqual(translated.snapshot.routes, before.snapshot.routes);
  assert.deepEqual(translated.snapshot.upstreams, before.snapshot.upstreams);
});

Deno.test("kept routes keep their filter sets, also where nobody else has them", () => {
  const annotated = (name: string, networks: string): Ingress => {
    const annotations = { "nginx.ingress.kubernetes.io/allowlist-source-range": networks };
    const one = ingress(name);
    return { ...one, metadata: { ...one.metadata, annotations } };
  };
  const now = resources(
    annotated("bad", "10.0.0.0/8"),
    annotated("good", "192.0.2.0/24"),
  );
  const options = { ...OPTIONS, acceptUnsupported: ["allowlist-source-range"] };
  const before = translate(now, null, options, () => 0);
  const gone = { id: "gone", filters: [] };
  const published = {
    ...before.snapshot,
    filterSets: [...before.snapshot.filterSets!, gone],
    policies: [{ id: "gone" }],
  };
  const translated = translateOrQuarantine(failingOn("bad"), now, published, options, () => 0)!;
  assert.equal(translated.snapshot.filterSets?.length, 2);
  assert.deepEqual(translated.snapshot.filterSets, before.snapshot.filterSets);
  assert.equal(translated.snapshot.policies, undefined);
  assert.deepEqual(translated.snapshot.routes, before.snapshot.routes);
});

Deno.test("hosts of kept routes keep their settings, and other published settings go", () => {
  const before = translate(resources(ingress("bad"), ingress("good")), null, OPTIONS, () => 0);
  const [kept, gone] = ["bad", "good"].map((name) => {
    return { id: `${name}.example.com`, httpsRedirect: false };
  });
  const translated = translateOrQuarantine(
    failingOn("bad"),
    resources(ingress("bad"), ingress("good")),
    { ...before.snapshot, hostSettings: [kept, gone] },
    OPTIONS,
    () => 0,
  )!;
  assert.deepEqual(translated.snapshot.hostSettings, [kept]);
});

Deno.test("an object that was never published is left out", () => {
  const translated = translateOrQuarantine(
    failingOn("bad"),
    resources(ingress("bad"), ingress("good")),
    null,
    OPTIONS,
    () => 0,
  )!;
  assert.deepEqual(translated.snapshot.routes.map(({ host }) => host), ["good.example.com"]);
});

Deno.test("if translation fails with every object, nothing is translated and the published configuration stays", () => {
  const broken: Translate = () => {
    throw new TypeError("always");
  };
  assert.equal(
    translateOrQuarantine(broken, resources(ingress("a")), null, OPTIONS, () => 0),
    null,
  );
});

Deno.test("without a failure the result equals a plain translation", () => {
  const all = resources(ingress("a"), ingress("b"));
  assert.deepEqual(
    translateOrQuarantine(translate, all, null, OPTIONS, () => 0),
    translate(all, null, OPTIONS, () => 0),
  );
});

Deno.test("the failing object of thousands is found in few translations, and if all fail the search ends", () => {
  const all = Array.from({ length: 4096 }, (_, i) => ingress(`i${i}`));
  for (const bad of [["i0"], ["i17", "i4095"], all.map(({ metadata }) => metadata!.name!)]) {
    const names = new Set(bad);
    let tries = 0;
    const failing: Translate = ({ ingresses }) => {
      tries++;
      if (ingresses.some(({ metadata }) => names.has(metadata!.name!))) throw new TypeError("no");
      return translate(resources(), null, OPTIONS, () => 0);
    };
    const result = translateOrQuarantine(failing, resources(...all), null, OPTIONS, () => 0);
    const found = result?.problems.map(({ object }) => object!.name);
    assert.deepEqual(found?.sort(), bad.toSorted());
    assert.ok(tries < 400, `${tries} tries`);
  }
});

Deno.test("a namespace with hundreds of failing objects holds up no other", () => {
  const evil = Array.from({ length: 300 }, (_, i) => {
    const one = ingress(`evil-${i}`);
    return { ...one, metadata: { ...one.metadata, namespace: "evil" } };
  });
  const before = translate(resources(ingress("good"), ...evil), null, OPTIONS, () => 0);
  const failing: Translate = (resources, ...rest) => {
    const isFailing = resources.ingresses.some(({ metadata }) => metadata!.namespace === "evil");
    if (isFailing) throw new TypeError("no");
    return translate(resources, ...rest);
  };
  const translated = translateOrQuarantine(
    failing,
    resources(...evil.slice(0, 150), ingress("good", "/new"), ...evil.slice(150)),
    before.snapshot,
    OPTIONS,
    () => 0,
  )!;
  const { routes } = translated.snapshot;
  assert.ok(routes.some(({ id }) => id === "good.example.com Prefix /new"));
  assert.equal(routes.length, 301);
  const left = translated.problems.filter(({ reason }) => reason === "Quarantined");
  assert.ok(left.every(({ object }) => object!.namespace === "evil"));
  assert.equal(left.length, 300);
});

const GATEWAY_OPTIONS = { ...OPTIONS, gateway: DEFAULT_GATEWAY_OPTIONS };

function withGateways(...names: string[]): Resources {
  return {
    ...resources(ingress("good", "/new")),
    gatewayClasses: [{
      metadata: { name: "pingress" },
      spec: { controllerName: "pingress.io/gateway-controller" },
    }],
    gateways: names.map((name) => ({
      metadata: { namespace: name, name, uid: name },
      spec: {
        gatewayClassName: "pingress",
        listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
      },
    })),
    httpRoutes: [],
  };
}

/** Fails on a Gateway called `bad`, unless what is published of Gateways stays. */
const failingOnGateway: Translate = (resources, ...rest) => {
  const isRead = resources.gatewayIsPending !== true;
  if (isRead && resources.gateways?.some(({ metadata }) => metadata?.name === "bad")) {
    throw new TypeError("modulus too large");
  }
  return translate(resources, ...rest);
};

Deno.test("a Gateway that cannot be translated and was never served is left out alone", () => {
  const now = withGateways("bad", "other");
  const translated = translateOrQuarantine(failingOnGateway, now, null, GATEWAY_OPTIONS, () => 0)!;
  const { routes, listeners } = translated.snapshot;
  assert.deepEqual(routes.map(({ id }) => id), ["good.example.com Prefix /new"]);
  assert.deepEqual(listeners?.map(({ id }) => id), ["other/other/http"]);
  const problem = translated.problems.find(({ reason }) => reason === "Quarantined");
  assert.deepEqual(problem?.object, { kind: "Gateway", namespace: "bad", name: "bad" });
  assert.match(problem?.message ?? "", /modulus too large/);
});

Deno.test("if a Gateway that is served cannot be translated any more, all Gateways stay as published", () => {
  const before = translate(withGateways("bad"), null, GATEWAY_OPTIONS, () => 0).snapshot;
  const now = withGateways("bad", "other");
  const translated = translateOrQuarantine(
    failingOnGateway,
    now,
    before,
    GATEWAY_OPTIONS,
    () => 0,
  )!;
  assert.deepEqual(translated.snapshot.listeners, before.listeners);
  assert.equal(translated.snapshot.listeners?.length, 1);
  assert.ok(translated.snapshot.routes.some(({ id }) => id === "good.example.com Prefix /new"));
  const problem = translated.problems.find(({ reason }) => reason === "Quarantined");
  assert.match(problem?.message ?? "", /so the Gateways' published configuration stays active/);
});

Deno.test("a kept route that rejects blocked clients keeps a list, though none is configured now", () => {
  const configMap = { namespace: "ingress-nginx", name: "conf" };
  const options = { ...OPTIONS, nginxClasses: ["pingress"], configMap };
  const objects = (data: Record<string, string>, ...ingresses: Ingress[]) => ({
    ...resources(...ingresses),
    configMaps: [{ metadata: configMap, data }],
  });
  const blocking = objects({ "block-cidrs": "192.0.2.0/24" }, ingress("bad"), ingress("good"));
  const before = translate(blocking, null, options, () => 0).snapshot;
  assert.deepEqual(before.blockedClients, { networks: ["192.0.2.0/24"] });
  const [kept, none] = [failingOn("bad"), failingOn()].map((translate) =>
    translateOrQuarantine(
      translate,
      objects({}, ingress("bad"), ingress("good")),
      before,
      options,
      () => 0,
    )!.snapshot
  );
  assert.deepEqual(kept.blockedClients, {});
  assert.equal(none.blockedClients, undefined);
  const kinds = kept.filterSets?.flatMap(({ filters }) => filters.map(({ kind }) => kind));
  assert.ok(kinds?.includes("blocked-clients"));
});
