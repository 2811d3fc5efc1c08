/**
 * Under which addresses proxies can be reached from outside. In: what was given on the command line,
 * the proxies' Service, or their pods and nodes. Out: what stands in the status of Ingresses.
 *
 * As ingress-nginx does with --publish-status-address, --publish-service and nodes, but for two
 * things: what is not known leaves the status as it is, where ingress-nginx empties it, since DNS
 * records are made from it; and a node has all its addresses there, of both families.
 */
import { isIP } from "node:net";
import { PROXY_SELECTOR } from "../workload/names.ts";
import { isPodReady } from "../workload/pod_status.ts";
import { addressList, type IngressAddress } from "./address.ts";

/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/ */
export interface AddressService {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly externalIPs?: readonly string[];
  };
  readonly status?: {
    readonly loadBalancer?: {
      readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[];
    };
  };
}

/** https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/ */
export interface AddressPod {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly hostIP?: string;
    readonly hostIPs?: readonly { readonly ip?: string }[];
  };
}

/** https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/ */
export interface AddressNode {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  };
}

export interface AddressSource {
  /** `--publish-address`; wins over everything else where it is not empty. */
  readonly publishAddresses: readonly string[];
  readonly backend: "HostPort" | "LoadBalancer";
  /** The Service before the proxies; null where there is none. Read for `LoadBalancer` only. */
  readonly service: AddressService | null;
  /** Of the proxies' namespace. Read for `HostPort` only, like the nodes. */
  readonly pods: readonly AddressPod[];
  readonly nodes: readonly AddressNode[];
}

/** Sorted, each once; empty where there is none yet; null where it cannot be told. */
export function publishedAddresses(source: AddressSource): readonly IngressAddress[] | null {
  if (source.publishAddresses.length > 0) return addressList(source.publishAddresses);
  if (source.backend === "HostPort") return nodeAddresses(source.pods, source.nodes);
  return source.service === null ? null : serviceAddresses(source.service);
}

function serviceAddresses({ spec, status }: AddressService): IngressAddress[] {
  const external = spec?.externalIPs ?? [];
  if (spec?.type === "LoadBalancer") {
    const given = status?.loadBalancer?.ingress ?? [];
    // A load balancer that has both is reached by its address.
    return addressList([...given.map(({ ip, hostname }) => ip || hostname || ""), ...external]);
  }
  if (spec?.type === "NodePort" && external.length > 0) return addressList(external);
  const own = spec?.clusterIPs ?? [spec?.clusterIP ?? ""];
  // A headless one is called `None`.
  return addressList(own.filter((address) => isIP(address) !== 0));
}

/** Of nodes with a ready proxy. With none, an outage passes sooner than DNS forgets that of a name. */
function nodeAddresses(
  pods: readonly AddressPod[],
  nodes: readonly AddressNode[],
): IngressAddress[] | null {
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  const addresses = pods.filter(isReadyProxy).flatMap((pod) => {
    const node = byName.get(pod.spec?.nodeName ?? "");
    const own = node === undefined ? [] : addressesOf(node);
    return own.length > 0 ? own : hostAddresses(pod);
  });
  return addresses.length === 0 ? null : addressList(addresses);
}

function isReadyProxy(pod: AddressPod): boolean {
  const { metadata, status } = pod;
  return metadata.deletionTimestamp === undefined && status?.phase === "Running" &&
    Object.entries(PROXY_SELECTOR).every(([name, value]) => metadata.labels?.[name] === value) &&
    isPodReady(pod);
}

/** https://kubernetes.io/docs/reference/node/node-status/#addresses */
function addressesOf({ status }: AddressNode): string[] {
  const ofType = (wanted: string) =>
    (status?.addresses ?? []).flatMap(({ type, address }) => type === wanted ? [address] : []);
  const external = ofType("ExternalIP");
  return external.length > 0 ? external : ofType("InternalIP");
}

/** What the pod says of its node, which the controller may not be allowed to read. */
function hostAddresses({ status }: AddressPod): string[] {
  const all = (status?.hostIPs ?? []).flatMap(({ ip }) => ip ?? []);
  return all.length > 0 ? all : status?.hostIP === undefined ? [] : [status.hostIP];
}
