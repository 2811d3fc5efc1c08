/**
 * Gateway API. In: its CRDs, its classes and what the controller may do. Out: whether Gateways are served, and what
 * their addresses take.
 */
import { asList, asText, fieldOf } from "../../../controller/base/json.ts";
import { GATEWAY_API, type KubeObject } from "../../../controller/kube/types.ts";
import { GATEWAY_NAME_LABEL } from "../../../controller/outputs/addresses/names.ts";
import { isSupportedBundle } from "../../../controller/outputs/gateway_status/class_status.ts";
import { readGatewayClasses } from "../../../controller/translate/gateway/objects/gateway_class.ts";
import type { CheckFacts, GatewayApi } from "../facts.ts";
import { type CheckResult, failed, ok, skipped, unchecked, warning } from "../result.ts";

/** Kinds without which no route of a Gateway is served. */
export const NEEDED_KINDS = ["gatewayclasses", "gateways", "httproutes"];

/** Kinds that are served where they are there. */
export const OPTIONAL_KINDS = ["backendtlspolicies", "listenersets", "referencegrants"];

const INSTALL =
  "Apply standard-install.yaml of a release of Gateway API, v1.0 to v1.6, and then overlays/gateway";

export function checkGatewayApi(
  { gatewayApi, installation: { options } }: CheckFacts,
): readonly CheckResult[] {
  if (options !== null && options.gateway === null) {
    return [skipped("gateway-crds", "Gateway API is turned off by --gateway=false")];
  }
  if (!gatewayApi.ok) return [unchecked("gateway-crds", gatewayApi.unread)];
  if (gatewayApi.value === null) {
    return [skipped(
      "gateway-crds",
      "the CRDs of Gateway API are not installed, so no Gateway is served",
      `${INSTALL}; without Gateways there is nothing to do`,
    )];
  }
  const api = gatewayApi.value;
  const missing = NEEDED_KINDS.filter((kind) => !api.served.has(kind));
  if (missing.length > 0) {
    return [failed(
      "gateway-crds",
      `CRDs of Gateway API are missing: ${
        missing.map((kind) => `${kind}.${GATEWAY_API}`).join(", ")
      }`,
      INSTALL,
    )];
  }
  return [crds(api), ...classes(api)];
}

function crds({ crds, served }: GatewayApi): CheckResult {
  const kinds = [...NEEDED_KINDS, ...OPTIONAL_KINDS].filter((kind) => served.has(kind)).length;
  if (crds === null) {
    return ok(
      "gateway-crds",
      `installed kinds of Gateway API: ${kinds}; you may not read their version`,
    );
  }
  const ending = crds.find(({ isTerminating }) => isTerminating);
  if (ending !== undefined) {
    return failed(
      "gateway-crds",
      `the CRD ${ending.name} is being deleted, with its objects`,
      INSTALL,
    );
  }
  const other = crds.find(({ bundleVersion }) =>
    bundleVersion === null || !isSupportedBundle(bundleVersion)
  );
  if (other !== undefined) {
    return warning(
      "gateway-crds",
      `the CRD ${other.name} is of ${
        other.bundleVersion === null ? "no release" : `release ${other.bundleVersion}`
      } of Gateway API, and v1.0 to v1.6 are supported`,
      INSTALL,
    );
  }
  const versions = [...new Set(crds.map(({ bundleVersion }) => bundleVersion))];
  return ok("gateway-crds", `installed kinds of Gateway API ${versions.join(", ")}: ${kinds}`);
}

function classes({ classes, gateways, services }: GatewayApi): readonly CheckResult[] {
  if (!classes.ok) return [unchecked("gateway-class", classes.unread)];
  const ours = readGatewayClasses(classes.value);
  if (ours.size === 0) {
    return [skipped(
      "gateway-class",
      "there is no GatewayClass of Pingress, so no Gateway is served",
      "Apply overlays/gateway, which has one and the rights that it takes",
    )];
  }
  const results = classes.value.filter(({ metadata }) => ours.has(metadata.name)).map(accepted);
  if (!gateways.ok) return [...results, unchecked("gateways", gateways.unread)];
  const own = gateways.value.filter((gateway) =>
    ours.has(asText(fieldOf(fieldOf(gateway, "spec"), "gatewayClassName")) ?? "")
  );
  return [
    ...results,
    programmed(own),
    services.ok ? loadBalancers(services.value) : unchecked("gateway-addresses", services.unread),
  ];
}

function accepted(gatewayClass: KubeObject): CheckResult {
  const { name } = gatewayClass.metadata;
  const condition = conditionOf(gatewayClass, "Accepted");
  const message = asText(fieldOf(condition, "message")) ?? "";
  switch (fieldOf(condition, "status")) {
    case "True":
      return ok("gateway-class", `GatewayClass ${name} is accepted`);
    case "False":
      return failed(
        "gateway-class",
        `GatewayClass ${name} is not accepted: ${withoutStop(message)}`,
        "Correct spec.parametersRef of the class",
      );
    default:
      return failed(
        "gateway-class",
        `the controller has not looked at GatewayClass ${name}`,
        "Apply overlays/gateway, which has the rights that it takes, and check that a replica leads",
      );
  }
}

function programmed(gateways: readonly KubeObject[]): CheckResult {
  const waiting = gateways.filter((gateway) =>
    fieldOf(conditionOf(gateway, "Programmed"), "status") !== "True"
  );
  if (waiting.length === 0) {
    return ok("gateways", `programmed Gateways: ${gateways.length} of ${gateways.length}`);
  }
  const [{ metadata }] = waiting;
  const condition = conditionOf(waiting[0], "Programmed");
  const why = asText(fieldOf(condition, "message"));
  const more = waiting.length === 1 ? "" : ` and ${waiting.length - 1} more`;
  return warning(
    "gateways",
    `Gateways are not programmed: ${metadata.namespace}/${metadata.name}${more}` +
      (why === null ? "" : `: ${withoutStop(why)}`),
    `Look at its conditions: kubectl -n ${metadata.namespace} describe gateway ${metadata.name}`,
  );
}

/** Each is one that the cloud charges for. */
function loadBalancers(services: readonly KubeObject[]): CheckResult {
  const own = services.filter(({ metadata, ...service }) =>
    metadata.labels?.[GATEWAY_NAME_LABEL] !== undefined &&
    fieldOf(fieldOf(service, "spec"), "type") === "LoadBalancer"
  );
  if (own.length === 0) {
    return ok("gateway-addresses", "no Gateway has a load balancer of its own");
  }
  const pending = own.filter((service) => {
    const status = fieldOf(fieldOf(service, "status"), "loadBalancer");
    return (asList(fieldOf(status, "ingress")) ?? []).length === 0;
  });
  if (pending.length > 0) {
    const [{ metadata }] = pending;
    return warning(
      "gateway-addresses",
      `${pending.length} of ${own.length} load balancers of Gateways have no address, such as that ` +
        `of Service ${metadata.namespace}/${metadata.name}`,
      "Install a load balancer such as MetalLB, or set serviceType: NodePort or ClusterIP in the " +
        "parameters of the GatewayClass",
    );
  }
  return own.length === 1
    ? ok("gateway-addresses", "1 Gateway has a load balancer of its own")
    : warning(
      "gateway-addresses",
      `${own.length} Gateways have a load balancer each, and clouds charge for each`,
      "Merge Gateways, or set serviceType: ClusterIP in the parameters of the GatewayClass for those " +
        "that need no address outside the cluster",
    );
}

function conditionOf(object: KubeObject, type: string): unknown {
  return (asList(fieldOf(fieldOf(object, "status"), "conditions")) ?? [])
    .find((condition) => fieldOf(condition, "type") === type);
}

function withoutStop(message: string): string {
  return message.trim().replace(/\.$/, "");
}
