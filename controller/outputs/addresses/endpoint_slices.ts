/**
 * The EndpointSlices of a Gateway's Service. In: its ports, and the proxies as endpoints. Out: the objects as
 * they are created: at least one for each family, so that none comes and goes with the last proxy.
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/
 */
import { isIP } from "node:net";
import { apiVersionOf, ENDPOINT_SLICES, type KubeObject, PODS } from "../../kube/types.ts";
import {
  ownerReference,
  ownLabels,
  portName,
  SERVICE_NAME_LABEL,
  serviceName,
  SLICE_MANAGER,
  SLICE_MANAGER_LABEL,
  sliceName,
} from "./names.ts";
import type { GatewayPort } from "../../translate/gateway/gateway_translation.ts";
import type { GatewayAddressPlan } from "./plan.ts";
import type { ProxyEndpoint } from "./proxy_endpoints.ts";
import { byPort, type OwnedMeta } from "./service_object.ts";

export type IpFamily = "IPv4" | "IPv6";

export interface PlannedSlice extends KubeObject {
  readonly metadata: OwnedMeta;
  readonly addressType: IpFamily;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
}

export interface SlicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: "TCP";
}

interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly conditions: {
    readonly ready: boolean;
    readonly serving: boolean;
    readonly terminating: boolean;
  };
  readonly nodeName?: string;
  readonly zone?: string;
  readonly targetRef: {
    readonly kind: "Pod";
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
}

/** The API takes 1,000, of which the watch would keep only a stub (`kube/object_bounds.ts`). */
const MAX_ENDPOINTS = 500;

const DIGIT: Readonly<Record<IpFamily, number>> = { IPv4: 4, IPv6: 6 };

/**
 * None where there is no port: a slice without ports leads to all ports of its endpoints.
 * @param families Of the Service.
 */
export function plannedSlices(
  { gateway, labels, annotations }: GatewayAddressPlan,
  ports: readonly GatewayPort[],
  families: readonly IpFamily[],
  endpoints: readonly ProxyEndpoint[],
): readonly PlannedSlice[] {
  if (ports.length === 0) return [];
  const service = serviceName(gateway);
  const slicePorts = byPort(ports).map(({ port, containerPort }): SlicePort => ({
    name: portName(port),
    port: containerPort,
    protocol: "TCP",
  }));
  return families.flatMap((family) =>
    chunks(endpoints.flatMap((endpoint) => sliceEndpoint(endpoint, family) ?? [])).map(
      (members, i): PlannedSlice => ({
        apiVersion: apiVersionOf(ENDPOINT_SLICES),
        kind: ENDPOINT_SLICES.kind,
        metadata: {
          namespace: gateway.namespace,
          name: sliceName(service, family, i),
          labels: {
            ...labels,
            ...ownLabels(gateway),
            [SERVICE_NAME_LABEL]: service,
            [SLICE_MANAGER_LABEL]: SLICE_MANAGER,
          },
          annotations,
          ownerReferences: [ownerReference(gateway)],
        },
        addressType: family,
        ports: slicePorts,
        endpoints: members,
      }),
    )
  );
}

/** Null for a proxy without an address of the family. */
function sliceEndpoint(endpoint: ProxyEndpoint, family: IpFamily): SliceEndpoint | null {
  const address = endpoint.ips.find((ip) => isIP(ip) === DIGIT[family]);
  if (address === undefined) return null;
  const { namespace, name, uid, node, zone, ready, serving, terminating } = endpoint;
  return {
    addresses: [address],
    conditions: { ready, serving, terminating },
    ...(node === null ? {} : { nodeName: node }),
    ...(zone === null ? {} : { zone }),
    targetRef: { kind: PODS.kind as "Pod", namespace, name, uid },
  };
}

/** At least one, be it empty. */
function chunks<T>(all: readonly T[]): readonly (readonly T[])[] {
  const count = Math.max(1, Math.ceil(all.length / MAX_ENDPOINTS));
  return Array.from(
    { length: count },
    (_, i) => all.slice(i * MAX_ENDPOINTS, (i + 1) * MAX_ENDPOINTS),
  );
}
