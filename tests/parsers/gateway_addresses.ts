/**
 * Addresses and parameters of Gateways with long texts, and many of one thing. In: nothing. Out: rows of the
 * table.
 */
import { isQualifiedName } from "../../controller/base/names.ts";
import { proxyEndpoints } from "../../controller/outputs/addresses/proxy_endpoints.ts";
import { refusalOf } from "../../controller/outputs/addresses/refusal.ts";
import { readInfrastructure } from "../../controller/translate/gateway/objects/infrastructure.ts";
import { readParameters } from "../../controller/translate/gateway/objects/parameters.ts";
import { isPodReady, podAddresses } from "../../controller/outputs/workload/pod_status.ts";
import { proxyPod } from "../support/gateway_plan.ts";
import { listParser, type Parser, textParser } from "./parser.ts";
import { listOf } from "./tenant_objects.ts";

/** As much of a ConfigMap's value as shows what is quadratic. */
const VALUE_BYTES = 64 * 1024;

const KEYS = [
  "allowedSourceRanges",
  "annotations",
  "externalTrafficPolicy",
  "loadBalancerClass",
  "serviceType",
];

function fieldsOf(count: number): Readonly<Record<string, string>> {
  return Object.fromEntries(listOf(count, (i) => [`k-${i}`, "v"]));
}

function infrastructure(spec: unknown): () => void {
  return () => void readInfrastructure(spec);
}

export const GATEWAY_ADDRESS_PARSERS: readonly Parser[] = [
  textParser({
    name: "parameters of Gateways",
    functions: ["controller/translate/gateway/objects/parameters.ts readParameters"],
    bytes: VALUE_BYTES,
    frames: [["a: b\n", '"'], ['a: "', '"'], ["192.0.2.0/24,", "/32"]],
    pumps: ["a: b\n", "192.0.2.0/24,", "\n", " ", "#\n", "\\\\"],
    read: (text) => () => {
      for (const key of KEYS) {
        readParameters({ name: "a" }, "spec", "a", {
          find: () => ({ kind: "found", data: { [key]: text } }),
        });
      }
    },
  }),
  textParser({
    name: "qualified names",
    functions: ["controller/base/names.ts isLabelName", "controller/base/names.ts isQualifiedName"],
    bytes: 317,
    frames: [["a.", "/b"]],
    read: (text) => () => void isQualifiedName(text),
  }),
  textParser({
    name: "what the API server says of Services of Gateways",
    functions: ["controller/outputs/addresses/refusal.ts refusalOf"],
    bytes: 128 * 1024,
    pumps: [
      "endpoint address ",
      "exceeded ",
      "ValidatingAdmissionPolicy ",
      "cannot create ",
      "spec.",
    ],
    read: (message) => () => {
      for (const code of [403, 422]) {
        refusalOf("Service", "a/a", { code, reason: "", message, retryAfter: null });
      }
    },
  }),
  listParser({
    name: "infrastructure of Gateways",
    functions: ["controller/translate/gateway/objects/infrastructure.ts readInfrastructure"],
    count: 4096,
    read: {
      addresses: (count) =>
        infrastructure({ addresses: listOf(count, (i) => ({ value: `10.0.0.${i}` })) }),
      labels: (count) => infrastructure({ infrastructure: { labels: fieldsOf(count) } }),
      annotations: (count) => infrastructure({ infrastructure: { annotations: fieldsOf(count) } }),
    },
  }),
  listParser({
    name: "pods of proxies",
    functions: [
      "controller/outputs/addresses/proxy_endpoints.ts proxyEndpoints",
      "controller/outputs/workload/pod_status.ts isPodReady",
      "controller/outputs/workload/pod_status.ts podAddresses",
      "controller/outputs/workload/pod_status.ts readyCondition",
    ],
    count: 4096,
    read: {
      pods: (count) => {
        const pods = listOf(count, (i) => proxyPod(`p-${i}`));
        return () => void proxyEndpoints(pods, () => null);
      },
      addresses: (count) => {
        const podIPs = listOf(count, (i) => ({ ip: `10.0.0.${i}` }));
        return () => podAddresses({ status: { podIPs } });
      },
      conditions: (count) => {
        const conditions = listOf(count, (i) => ({ type: `T${i}`, status: "True" }));
        return () => isPodReady({ status: { conditions } });
      },
    },
  }),
];
