/** How many endpoints the Services have that HTTPRoutes name. */
import assert from "node:assert/strict";
import { gateway, ingress, route, Scene } from "../../../tests/support/shared_address_scene.ts";
import type { EndpointSlice, Service } from "../../kube/resources.ts";
import type { Translation } from "../translator.ts";

const COUNTS: Readonly<Record<string, number>> = { "evil/web": 30, "shop/web": 8, "infra/web": 3 };

const SERVICES = Object.keys(COUNTS).map((key): Service => {
  const [namespace, name] = key.split("/");
  return { metadata: { namespace, name }, spec: { ports: [{ port: 80 }, { port: 81 }] } };
});

const SLICES = Object.entries(COUNTS).map(([key, count], i): EndpointSlice => {
  const [namespace, name] = key.split("/");
  return {
    metadata: { namespace, name: `${name}-1`, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ port: 8080 }],
    endpoints: Array.from({ length: count }, (_, j) => ({ addresses: [`10.${i}.0.${j + 1}`] })),
  };
});

/** By id of the upstream. */
function endpointsOf({ snapshot }: Translation): Record<string, number> {
  return Object.fromEntries(
    snapshot.upstreams.map(({ id, addresses }) => [
      id,
      addresses.kind === "endpoints" ? addresses.endpoints.length : -1,
    ]),
  );
}

const BASE = {
  services: SERVICES,
  endpointSlices: SLICES,
  gateways: [gateway("evil", "web", 0, "*.evil.test"), gateway("infra", "web", 0, "*.infra.test")],
  ingresses: [ingress("shop", "app", 0, "shop.test")],
};

const HTTP_ROUTES = ["evil", "infra"].map((namespace) =>
  route(namespace, "app", 0, [`a.${namespace}.test`], [`${namespace}/web`])
);

Deno.test("Services that HTTPRoutes alone name have the bound of endpoints of their namespace", () => {
  const scene = new Scene({ namespaceEndpoints: 10 });
  const translation = scene.apply({ ...BASE, httpRoutes: HTTP_ROUTES });
  const wanted = { "evil/web:80": 10, "infra/web:80": 3, "shop/web:80": 8 };
  assert.deepEqual(endpointsOf(translation), wanted);
  const [problem] = translation.problems.filter(({ reason }) => reason === "EndpointLimitExceeded");
  assert.deepEqual(problem.object, { kind: "Service", namespace: "evil", name: "web" });
  assert.match(problem.remedy, /^Name fewer ports of the Service in Ingresses and HTTPRoutes, or /);
  // The same while it is not known which routes there are.
  const pending = scene.apply({
    ...{ ...BASE, gateways: null, httpRoutes: null },
    gatewayIsPending: true,
  });
  assert.deepEqual(endpointsOf(pending), wanted);
});

Deno.test("HTTPRoutes take no endpoints from a Service that they may not name, or by ports that it has not", () => {
  const naming = (port: number) => {
    const made = route("evil", "other", 1, ["b.evil.test"], ["evil/web"]);
    const backendRefs = [{ name: "web", namespace: "shop", port }];
    return { ...made, spec: { ...made.spec, rules: [{ backendRefs }] } };
  };
  const shopOf = (httpRoutes: readonly unknown[], referenceGrants: readonly object[] = []) => {
    const change = { ...BASE, httpRoutes, referenceGrants } as Parameters<Scene["apply"]>[0];
    return endpointsOf(new Scene({ namespaceEndpoints: 10 }).apply(change))["shop/web:80"];
  };
  const grant = {
    metadata: { name: "web", namespace: "shop" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "evil" }],
      to: [{ group: "", kind: "Service" }],
    },
  };
  assert.equal(shopOf([naming(81)]), 8);
  assert.equal(shopOf([naming(82)], [grant]), 8);
  // A port more is another upstream of the namespace.
  assert.equal(shopOf([naming(81)], [grant]), 5);
});
