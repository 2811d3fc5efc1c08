/**
 * What is served in a cluster, as a person may read it. In: a cluster. Out: the objects that are translated, the
 * configuration that the controller shows, and the flags that it runs with; and what of these could not be read.
 *
 * No Secret is read: certificates come from the configuration, which has no keys.
 */
import type { ControllerOptions } from "../../controller/cli/options.ts";
import type { Resources } from "../../controller/kube/resources.ts";
import {
  BACKEND_TLS_POLICIES,
  CONFIG_MAPS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  GATEWAY_CLASSES,
  GATEWAYS,
  HTTP_ROUTES,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  LISTENER_SETS,
  NAMESPACES,
  PODS,
  REFERENCE_GRANTS,
  type Resource,
  SERVICES,
} from "../../controller/kube/types.ts";
import {
  CLAIMS_NAME,
  type ClaimsConfigMap,
  readClaims,
} from "../../controller/outputs/publish/host_claims.ts";
import { isPodReady } from "../../controller/outputs/workload/pod_status.ts";
import { parameterReferences } from "../../controller/translate/gateway/gateway_parameters.ts";
import { GatewayReaders } from "../../controller/translate/gateway/gateway_readers.ts";
import type { HostClaims, TranslateOptions } from "../../controller/translate/translator.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { readList, readObject } from "../cluster/readings.ts";
import type { Unread } from "../cluster/unread.ts";
import { firstPage } from "../installation/certificate_reader.ts";
import {
  CONTROLLER_NAME,
  NAME_LABEL,
  optionsOf,
  readSnapshotPage,
} from "../installation/installation.ts";
import { readShownSnapshot } from "./shown_snapshot.ts";

export interface ClusterObjects {
  readonly resources: Resources;
  /** Whether EndpointSlices could be read. */
  readonly hasEndpoints: boolean;
  /** As the controller has published it; null where it cannot be read. */
  readonly snapshot: Snapshot | null;
  /** Why it cannot be read, which is among `unread`; null where it can. */
  readonly snapshotUnread: Unread | null;
  /** Of the controller; null where they cannot be read, or where it is of another version. */
  readonly options: TranslateOptions | null;
  /** That the controller gives to proxies besides its own; empty where they cannot be read. */
  readonly proxyArgs: readonly string[];
  readonly unread: readonly Unread[];
}

/** @param namespace Of the installation. */
export async function readClusterObjects(
  cluster: Cluster,
  namespace: string,
): Promise<ClusterObjects> {
  const unread: Unread[] = [];
  const failed = new Set<Resource>();
  const list = async <T>(resource: Resource, isOptional = false): Promise<readonly T[] | null> => {
    const selection = { namespace: null, metadataOnly: resource === NAMESPACES };
    const reading = await readList<KubeObject>(cluster, resource, selection);
    if (reading.ok) return reading.value as unknown as readonly T[];
    failed.add(resource);
    // Without the CRDs of Gateway API there is nothing to read.
    if (!(isOptional && reading.code === 404)) unread.push(reading.unread);
    return null;
  };
  const [options, published, claims, resources] = await Promise.all([
    readOptions(cluster, namespace, unread),
    readSnapshot(cluster, namespace),
    readRecordedClaims(cluster, namespace, unread),
    readResources(list),
  ]);
  const snapshotUnread = published.ok ? null : published.unread;
  if (snapshotUnread !== null) unread.push(snapshotUnread);
  const configMaps = await readConfigMap(cluster, options, unread);
  const parameters = await readParameters(cluster, resources, namespace, unread);
  const watchNamespaces = options?.watchNamespaces ?? null;
  return {
    resources: { ...watched(resources, watchNamespaces), configMaps, ...parameters },
    hasEndpoints: !failed.has(ENDPOINT_SLICES),
    snapshot: published.ok ? published.value : null,
    ...{ snapshotUnread, unread },
    proxyArgs: options?.proxyArgs ?? [],
    options: options === null ? null : { ...options, ...CLUSTER, claims },
  };
}

/** What no flag says. */
const CLUSTER = { allowLocalEndpoints: false, version: { epoch: "cluster", seen: {} } };

function watched(resources: Resources, namespaces: readonly string[] | null): Resources {
  if (namespaces === null) return resources;
  const ingresses = resources.ingresses.filter(({ metadata }) =>
    namespaces.includes(metadata?.namespace ?? "")
  );
  return { ...resources, ingresses };
}

type List = <T>(resource: Resource, isOptional?: boolean) => Promise<readonly T[] | null>;

async function readResources(list: List): Promise<Resources> {
  const [ingresses, ingressClasses, services, endpointSlices, namespaces, ...gatewayKinds] =
    await Promise.all([
      list<Resources["ingresses"][number]>(INGRESSES),
      list<Resources["ingressClasses"][number]>(INGRESS_CLASSES),
      list<Resources["services"][number]>(SERVICES),
      list<Resources["endpointSlices"][number]>(ENDPOINT_SLICES),
      list<NonNullable<Resources["namespaces"]>[number]>(NAMESPACES),
      ...[
        GATEWAY_CLASSES,
        GATEWAYS,
        HTTP_ROUTES,
        REFERENCE_GRANTS,
        BACKEND_TLS_POLICIES,
        LISTENER_SETS,
      ].map((kind) => list<NonNullable<Resources["gateways"]>[number]>(kind, true)),
    ]);
  const [gatewayClasses, gateways, httpRoutes, referenceGrants, backendTlsPolicies, listenerSets] =
    gatewayKinds;
  return {
    ingresses: ingresses ?? [],
    ingressClasses: ingressClasses ?? [],
    services: services ?? [],
    endpointSlices: endpointSlices ?? [],
    secrets: [],
    namespaces,
    ...{ gatewayClasses, gateways, httpRoutes, referenceGrants, backendTlsPolicies, listenerSets },
  };
}

async function readOptions(
  cluster: Cluster,
  namespace: string,
  unread: Unread[],
): Promise<ControllerOptions | null> {
  const list = await readList<KubeObject>(cluster, DEPLOYMENTS, { namespace });
  if (!list.ok) {
    unread.push(list.unread);
    return null;
  }
  const deployment = list.value.find(({ metadata }) => metadata.name === CONTROLLER_NAME);
  const options = deployment === undefined ? null : optionsOf(deployment);
  if (options === null) {
    unread.push({
      message: deployment === undefined
        ? `there is no Deployment ${namespace}/${CONTROLLER_NAME}, so its flags are not known`
        : `the flags of Deployment ${namespace}/${CONTROLLER_NAME} are of another version`,
      remedy:
        "Name the namespace of Pingress by --system-namespace, or use its version of this program",
    });
  }
  return options;
}

/** Of any replica: all of them translate. */
async function readSnapshot(
  cluster: Cluster,
  namespace: string,
): Promise<Published> {
  const labelSelector = `${NAME_LABEL}=${CONTROLLER_NAME}`;
  const pods = await readList<KubeObject>(cluster, PODS, { namespace, labelSelector });
  if (!pods.ok) return pods;
  const page = await firstPage(
    pods.value.filter(isPodReady).map((pod) => readSnapshotPage(cluster, pod)),
  );
  if (page === null) {
    return {
      ok: false,
      unread: {
        message: `no pod of the controller is ready in namespace ${namespace}`,
        remedy: "Run pingress check",
      },
    };
  }
  if (!page.ok) return page;
  const value = readShownSnapshot(page.value);
  return value !== null ? { ok: true, value } : {
    ok: false,
    unread: {
      message: "the configuration of the controller is of another version",
      remedy: "Use the version of this program that the controller has",
    },
  };
}

type Published =
  | { readonly ok: true; readonly value: Snapshot }
  | { readonly ok: false; readonly unread: Unread };

async function readRecordedClaims(
  cluster: Cluster,
  namespace: string,
  unread: Unread[],
): Promise<HostClaims | null> {
  const reading = await readObject<KubeObject>(cluster, CONFIG_MAPS, namespace, CLAIMS_NAME);
  if (!reading.ok) {
    unread.push(reading.unread);
    return null;
  }
  if (reading.value === null) return null;
  const claims = readClaims(reading.value as ClaimsConfigMap);
  return claims.ok ? claims.claims : null;
}

/** That of ingress-nginx, where the controller reads one. */
async function readConfigMap(
  cluster: Cluster,
  options: ControllerOptions | null,
  unread: Unread[],
): Promise<Resources["configMaps"]> {
  const named = options?.configMap ?? null;
  if (named === null) return [];
  const reading = await readObject<KubeObject>(cluster, CONFIG_MAPS, named.namespace, named.name);
  if (reading.ok) return reading.value === null ? [] : [reading.value];
  unread.push(reading.unread);
  return null;
}

/** Those that GatewayClasses and Gateways name; what could not be read is said once. */
async function readParameters(
  cluster: Cluster,
  resources: Resources,
  namespace: string,
  unread: Unread[],
): Promise<Pick<Resources, "gatewayConfigMaps" | "unreadConfigMaps">> {
  const names = [...parameterReferences(resources, namespace, new GatewayReaders())];
  const readings = await Promise.all(names.map(async (key) => {
    const [namespace, name] = key.split("/");
    return { key, reading: await readObject(cluster, CONFIG_MAPS, namespace, name) };
  }));
  const failed = readings.flatMap(({ key, reading }) => reading.ok ? [] : [{ key, ...reading }]);
  if (failed.length > 0) unread.push(failed[0].unread);
  return {
    gatewayConfigMaps: readings.flatMap(({ reading }) => reading.ok ? reading.value ?? [] : []),
    unreadConfigMaps: failed.map(({ key }) => key),
  };
}

/** Whether Ingresses or Services are among what could not be read. */
export function isUnusable({ resources, snapshot, unread }: ClusterObjects): boolean {
  return snapshot === null &&
    resources.ingresses.length + (resources.gateways ?? []).length === 0 &&
    unread.length > 0;
}
