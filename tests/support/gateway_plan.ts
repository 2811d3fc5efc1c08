/** Plans of Gateways' addresses for tests. In: what differs. Out: a plan of Gateway `web`, and proxies' pods. */
import type { GatewayAddressPlan } from "../../controller/outputs/addresses/plan.ts";
import type { ServiceSettings } from "../../controller/translate/gateway/objects/parameters.ts";
import type { KubeObject } from "../../controller/kube/types.ts";

export const SETTINGS: ServiceSettings = {
  type: "ClusterIP",
  loadBalancerClass: null,
  externalTrafficPolicy: "Local",
  ipFamilyPolicy: "PreferDualStack",
  annotations: {},
  allowedSourceRanges: [],
};

export interface PlanChanges extends Partial<Omit<GatewayAddressPlan, "gateway" | "service">> {
  readonly gateway?: Partial<GatewayAddressPlan["gateway"]>;
  readonly service?: Partial<ServiceSettings>;
}

export function gatewayPlan(
  { gateway, service, ...rest }: PlanChanges = {},
): GatewayAddressPlan & { readonly service: ServiceSettings } {
  return {
    ports: [{ port: 80, containerPort: 10_007 }],
    labels: {},
    annotations: {},
    addresses: [],
    address: "own",
    ...rest,
    gateway: { namespace: "shop", name: "web", uid: "u1", className: "pingress", ...gateway },
    service: { ...SETTINGS, ...service },
  };
}

export interface PodChanges {
  readonly ips?: readonly string[];
  readonly node?: string;
  readonly ready?: boolean;
  readonly terminating?: boolean;
  readonly phase?: string;
}

/** As the watch of proxies' pods shows it. */
export function proxyPod(
  name: string,
  { ips = ["10.244.0.7"], node = "node-1", ready = true, terminating = false, phase = "Running" }:
    PodChanges = {},
): KubeObject {
  const pod = {
    metadata: {
      namespace: "pingress-system",
      name,
      uid: `uid-of-${name}`,
      ...(terminating ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { nodeName: node },
    status: {
      phase,
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      podIPs: ips.map((ip) => ({ ip })),
    },
  };
  return pod;
}
