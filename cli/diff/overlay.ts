/**
 * A cluster with new manifests in it, as `kubectl apply` leaves it. In: the objects of the cluster, and those of
 * the manifests. Out: all of them, the new ones in place of those with the same name, and of their age. Pure.
 */
import type { ObjectMeta, Resources } from "../../controller/kube/resources.ts";

interface Named {
  readonly metadata?: ObjectMeta & { readonly uid?: string };
}

export function overlay(cluster: Resources, added: Resources): Resources {
  return {
    ...cluster,
    ingresses: merged(cluster.ingresses, added.ingresses),
    ingressClasses: merged(cluster.ingressClasses, added.ingressClasses),
    services: merged(cluster.services, added.services),
    endpointSlices: merged(cluster.endpointSlices, added.endpointSlices),
    secrets: merged(cluster.secrets, added.secrets),
    configMaps: mergedOptional(cluster.configMaps, added.configMaps),
    namespaces: mergedOptional(cluster.namespaces, added.namespaces),
    gatewayClasses: mergedOptional(cluster.gatewayClasses, added.gatewayClasses),
    gateways: mergedOptional(cluster.gateways, added.gateways),
    httpRoutes: mergedOptional(cluster.httpRoutes, added.httpRoutes),
    referenceGrants: mergedOptional(cluster.referenceGrants, added.referenceGrants),
    backendTlsPolicies: mergedOptional(cluster.backendTlsPolicies, added.backendTlsPolicies),
    listenerSets: mergedOptional(cluster.listenerSets, added.listenerSets),
    gatewayConfigMaps: merged(cluster.gatewayConfigMaps ?? [], added.gatewayConfigMaps ?? []),
  };
}

/** What cannot be read stays so: a part of it would look like all. */
function mergedOptional<T extends Named>(
  old: readonly T[] | null | undefined,
  added: readonly T[] | null | undefined,
): readonly T[] | null | undefined {
  return old === null || old === undefined ? old : merged(old, added ?? []);
}

function merged<T extends Named>(old: readonly T[], added: readonly T[]): readonly T[] {
  const objects = new Map(old.map((object) => [keyOf(object), object]));
  for (const object of added) {
    const before = objects.get(keyOf(object));
    objects.set(keyOf(object), before === undefined ? object : aged(object, before));
  }
  return [...objects.values()];
}

/** An object that is changed stays the same one: of two that name a host, the older one has it. */
function aged<T extends Named>(object: T, before: T): T {
  const { uid, creationTimestamp } = before.metadata ?? {};
  return { ...object, metadata: { ...object.metadata, uid, creationTimestamp } };
}

function keyOf({ metadata }: Named): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}
