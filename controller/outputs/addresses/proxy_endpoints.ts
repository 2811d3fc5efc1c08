/**
 * Pods of proxies as endpoints. In: the pods, and zones of nodes. Out: addresses and conditions of each, as the
 * EndpointSlice controller of Kubernetes would write them: proxies that drain go on to serve what they have.
 *
 * https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#conditions
 */
import { asText, fieldOf } from "../../base/json.ts";
import { compareText } from "../../base/text_order.ts";
import type { KubeObject } from "../../kube/types.ts";
import { isPodReady, podAddresses } from "../workload/pod_status.ts";

export interface ProxyEndpoint {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Null while it is not known. */
  readonly node: string | null;
  readonly zone: string | null;
  /** At most one of each family. */
  readonly ips: readonly string[];
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

const ENDED: ReadonlySet<unknown> = new Set(["Failed", "Succeeded"]);

/**
 * Those that have an address and have not ended, sorted by name.
 * @param zoneOf The zone of a node; null where it is not known.
 */
export function proxyEndpoints(
  pods: readonly KubeObject[],
  zoneOf: (node: string) => string | null,
): readonly ProxyEndpoint[] {
  return pods.flatMap((pod) => endpointOf(pod, zoneOf) ?? [])
    .sort((a, b) => compareText(a.name, b.name));
}

function endpointOf(
  pod: KubeObject,
  zoneOf: (node: string) => string | null,
): ProxyEndpoint | null {
  const { namespace = "", name, uid = "", deletionTimestamp } = pod.metadata;
  const ips = podAddresses(pod);
  if (ips.length === 0 || ENDED.has(fieldOf(fieldOf(pod, "status"), "phase"))) return null;
  const node = asText(fieldOf(fieldOf(pod, "spec"), "nodeName"));
  const terminating = deletionTimestamp !== undefined;
  const serving = isPodReady(pod);
  const ready = serving && !terminating;
  const zone = node === null ? null : zoneOf(node);
  return { namespace, name, uid, node, zone, ips, ready, serving, terminating };
}
