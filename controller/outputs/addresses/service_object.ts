/**
 * The Service of a Gateway. In: the plan. Out: the object as it is created. It has no selector: proxies are in
 * another namespace, so its EndpointSlices are ours (`endpoint_slices.ts`).
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/
 */
import { apiVersionOf, type KubeMeta, type KubeObject, SERVICES } from "../../kube/types.ts";
import type { ServiceSettings, TrafficPolicy } from "../../translate/gateway/objects/parameters.ts";
import { type OwnerReference, ownerReference, ownLabels, portName, serviceName } from "./names.ts";
import type { GatewayPort } from "../../translate/gateway/gateway_translation.ts";
import type { GatewayAddressPlan } from "./plan.ts";
import type { AddressFields } from "./requested_addresses.ts";

export interface OwnedMeta extends KubeMeta {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ownerReferences: readonly OwnerReference[];
}

export interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: "TCP";
  readonly targetPort: number;
}

export interface PlannedService extends KubeObject {
  readonly metadata: OwnedMeta;
  readonly spec: AddressFields & {
    readonly type: string;
    readonly ports: readonly ServicePort[];
    readonly ipFamilyPolicy: string;
    readonly externalTrafficPolicy?: TrafficPolicy;
    readonly loadBalancerClass?: string;
    readonly loadBalancerSourceRanges?: readonly string[];
  };
}

/** A plan with parameters that can be used. */
type PlannedAddress = GatewayAddressPlan & { readonly service: ServiceSettings };

/** @param ports At least one. @param addresses Fields that `spec.addresses` sets. */
export function plannedService(
  { gateway, labels, annotations, service }: PlannedAddress,
  ports: readonly GatewayPort[],
  addresses: AddressFields,
): PlannedService {
  const { type, externalTrafficPolicy, loadBalancerClass, allowedSourceRanges } = service;
  return {
    apiVersion: apiVersionOf(SERVICES),
    kind: SERVICES.kind,
    metadata: {
      namespace: gateway.namespace,
      name: serviceName(gateway),
      labels: { ...labels, ...ownLabels(gateway) },
      annotations: { ...service.annotations, ...annotations },
      ownerReferences: [ownerReference(gateway)],
    },
    spec: {
      ...addresses,
      type,
      ipFamilyPolicy: service.ipFamilyPolicy,
      // The API takes it only where traffic comes from outside.
      ...(type === "ClusterIP" ? {} : { externalTrafficPolicy }),
      ...(loadBalancerClass === null ? {} : { loadBalancerClass }),
      ...(allowedSourceRanges.length === 0
        ? {}
        : { loadBalancerSourceRanges: allowedSourceRanges }),
      ports: byPort(ports).map(({ port, containerPort }) => ({
        name: portName(port),
        port,
        protocol: "TCP",
        targetPort: containerPort,
      })),
    },
  };
}

/** Sorted by public port. */
export function byPort(ports: readonly GatewayPort[]): readonly GatewayPort[] {
  return [...ports].sort((a, b) => a.port - b.port);
}
