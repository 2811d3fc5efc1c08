/** ConfigMaps of classes and Gateways that come, change and go. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { boundedConfigMap } from "../../kube/reduce.ts";
import type { Resources } from "../../kube/resources.ts";
import { DEFAULT_GATEWAY_OPTIONS, Translator } from "../translator.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";
import { parameterReferences } from "./gateway_parameters.ts";
import { GatewayReaders } from "./gateway_readers.ts";
import { PARAMETER_KEYS } from "./objects/parameters.ts";

const OPTIONS = { ...TRANSLATE_OPTIONS, gateway: DEFAULT_GATEWAY_OPTIONS };

const REF = { group: "", kind: "ConfigMap", name: "gateway" };

function classOf(name: string, parametersRef?: unknown, controller = "pingress.io") {
  const controllerName = `${controller}/gateway-controller`;
  return { metadata: { name }, spec: { controllerName, parametersRef } };
}

function gatewayOf(name: string, parametersRef: unknown, gatewayClassName = "pingress") {
  const infrastructure = { parametersRef };
  const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];
  return {
    metadata: { name, namespace: "shop" },
    spec: { gatewayClassName, infrastructure, listeners },
  };
}

function configMap(data: Readonly<Record<string, string>>, namespace = "shop") {
  return { metadata: { namespace, name: "gateway", uid: "1", resourceVersion: "1" }, data };
}

const BASE: Resources = {
  ingresses: [],
  ingressClasses: [],
  services: [],
  endpointSlices: [],
  secrets: [],
  gatewayClasses: [classOf("pingress")],
  gateways: [gatewayOf("web", REF)],
  httpRoutes: [],
  referenceGrants: [],
};

/** Of the one Gateway: its condition, the type of its Service, and how many listeners are served. */
function translate(
  change: Partial<Resources>,
  published: Snapshot | null = null,
  translator = new Translator(),
) {
  const resources = { ...BASE, ...change };
  const { gateway, snapshot } = translator.translate(resources, published, OPTIONS, () => 0);
  const [{ conditions: [{ reason, message }], service, ports }] = gateway!.gateways;
  equal(ports.length, snapshot.listeners?.length ?? 0);
  return { reason, message, type: service?.type ?? null, served: ports.length, snapshot };
}

const CLUSTER_IP = [configMap({ serviceType: "ClusterIP" })];
const BROKEN = [configMap({ serviceType: "clusterip" })];

Deno.test("a change of a ConfigMap changes the Service of the Gateway that names it", () => {
  const translator = new Translator();
  const types = [CLUSTER_IP, [configMap({ serviceType: "NodePort" })], [configMap({})]].map(
    (gatewayConfigMaps) => translate({ gatewayConfigMaps }, null, translator).type,
  );
  deepEqual(types, ["ClusterIP", "NodePort", "LoadBalancer"]);
});

/** As it is kept where its namespace has no room. */
function stub(bound: string, limit: number) {
  return { metadata: CLUSTER_IP[0].metadata, excess: { bound, limit } };
}

const FAULTS: readonly (readonly [string, Partial<Resources>, RegExp])[] = [
  [
    "it is deleted",
    { gatewayConfigMaps: [] },
    /shop\/gateway, which .* does not exist\. Create it\.$/,
  ],
  [
    "it cannot be read",
    { gatewayConfigMaps: [], unreadConfigMaps: ["shop/gateway"] },
    /cannot be read\. Give the controller the rights of overlays\/gateway\.$/,
  ],
  [
    "a value is wrong",
    { gatewayConfigMaps: BROKEN },
    /^key serviceType of ConfigMap shop\/gateway/,
  ],
  [
    "its class's has a wrong value",
    {
      gatewayClasses: [classOf("pingress", { ...REF, namespace: "pingress-system" })],
      gatewayConfigMaps: [...CLUSTER_IP, configMap({ address: "none" }, "pingress-system")],
    },
    /^GatewayClass pingress is not accepted: key address of ConfigMap pingress-system\/gateway/,
  ],
  [
    "it is too large",
    { gatewayConfigMaps: [boundedConfigMap(20, PARAMETER_KEYS)(CLUSTER_IP[0])] },
    /has more than 20 bytes\. Remove what is no parameter/,
  ],
  [
    "it has another key than parameters",
    {
      gatewayConfigMaps: [
        boundedConfigMap(100, PARAMETER_KEYS)(
          configMap({ serviceType: "ClusterIP", junk: "x", more: "x" }),
        ),
      ],
    },
    /^ConfigMap shop\/gateway has the unknown key "junk"\. Remove it; /,
  ],
  [
    "Gateways of the namespace reference too many",
    { gatewayConfigMaps: [stub("configMaps", 1000)] },
    /is not used, as the Gateways of the namespace reference more than 1000 ConfigMaps\. .* or raise --max-namespace-certificates of the controller\.$/,
  ],
  [
    "those of the namespace have too many bytes",
    { gatewayConfigMaps: [stub("configMapBytes", 20)] },
    /have more than 20 bytes together\. .* or raise --max-namespace-bytes of the controller\.$/,
  ],
];

for (const [what, change, says] of FAULTS) {
  Deno.test(`a Gateway whose ConfigMap cannot be used is not accepted: ${what}`, () => {
    const { reason, message, served } = translate(change);
    equal(reason, "InvalidParameters");
    match(message, says);
    equal(served, 0);
  });

  Deno.test(`a Gateway that is served continues, with its Service as it is, when ${what}`, () => {
    const before = translate({ gatewayConfigMaps: CLUSTER_IP });
    deepEqual([before.reason, before.served], ["Accepted", 1]);
    const after = translate(change, before.snapshot);
    deepEqual([after.reason, after.type, after.served], ["InvalidParameters", null, 1]);
    deepEqual(after.snapshot.listeners, before.snapshot.listeners);
    // Also a generation later.
    deepEqual(translate(change, after.snapshot).snapshot.listeners, before.snapshot.listeners);
    const mended = translate({ gatewayConfigMaps: CLUSTER_IP }, after.snapshot);
    deepEqual([mended.reason, mended.type, mended.served], ["Accepted", "ClusterIP", 1]);
  });
}

Deno.test("a Gateway with an invalid address is not served, whatever its parameters", () => {
  const before = translate({ gatewayConfigMaps: CLUSTER_IP });
  const [gateway] = BASE.gateways!;
  const addresses = [{ type: "example.com/zone", value: "a" }];
  const wrong = { ...gateway, spec: { ...gateway.spec as object, addresses } };
  const after = translate({ gateways: [wrong], gatewayConfigMaps: BROKEN }, before.snapshot);
  deepEqual([after.reason, after.served], ["UnsupportedAddress", 0]);
});

Deno.test("only ConfigMaps are read that classes and Gateways of ours may name", () => {
  const named = parameterReferences(
    {
      gatewayClasses: [
        classOf("pingress", { ...REF, name: "class", namespace: "pingress-system" }),
        classOf("elsewhere", { ...REF, name: "elsewhere", namespace: "kube-system" }),
        classOf(
          "foreign",
          { ...REF, name: "foreign", namespace: "pingress-system" },
          "example.com",
        ),
      ],
      gateways: [
        gatewayOf("a", REF),
        gatewayOf("b", { ...REF, name: "of-b" }, "elsewhere"),
        gatewayOf("c", { ...REF, name: "of-foreign" }, "foreign"),
        gatewayOf("d", { ...REF, name: "of-another", namespace: "other" }),
        gatewayOf("e", { ...REF, name: "../secrets/x" }),
        gatewayOf("f", { ...REF, name: "secret", kind: "Secret" }),
        gatewayOf("g", undefined),
      ],
    },
    "pingress-system",
    new GatewayReaders(),
  );
  deepEqual([...named].sort(), ["pingress-system/class", "shop/gateway", "shop/of-b"]);
});
