/**
 * The network around proxies. In: NetworkPolicies, DaemonSets and the DNS of the cluster. Out: what is open, what has
 * the ports of nodes, and whether names are resolved.
 */
import { asList, asText, fieldOf } from "../../../controller/base/json.ts";
import type { KubeObject } from "../../../controller/kube/types.ts";
import { PROXY_NAME, PUBLIC_PORTS } from "../../../controller/outputs/workload/names.ts";
import { CONTROLLER_NAME } from "../../installation/installation.ts";
import type { CheckFacts } from "../facts.ts";
import { type CheckResult, failed, ok, skipped, unchecked, warning } from "../result.ts";

export function checkNetworkPolicies(
  { networkPolicies, installation: { namespace } }: CheckFacts,
): readonly CheckResult[] {
  if (!networkPolicies.ok) return [unchecked("network-policies", networkPolicies.unread)];
  const there = new Set(networkPolicies.value.map(({ metadata }) => metadata.name));
  const missing = [CONTROLLER_NAME, PROXY_NAME].filter((name) => !there.has(name));
  return [
    missing.length === 0
      ? ok("network-policies", "the NetworkPolicies of controller and proxies are there")
      : warning(
        "network-policies",
        `there is no NetworkPolicy ${
          missing.join(" and ")
        } in namespace ${namespace}, so every pod ` +
          "may connect to all of its ports",
        "Apply manifests/network-policies.yaml",
      ),
  ];
}

/** Of HostPort only: two programs cannot have the same port of a node. */
export function checkHostPorts(
  { daemonSets, installation: { options, namespace, workload } }: CheckFacts,
): readonly CheckResult[] {
  const isHostPort = options === null
    ? workload.ok && workload.value?.kind === "DaemonSet"
    : options.backend === "HostPort";
  if (options === null && !workload.ok) return [unchecked("host-ports", workload.unread)];
  if (options === null && workload.ok && workload.value === null) {
    return [skipped("host-ports", "not checked: there are no proxies")];
  }
  if (!isHostPort) {
    const because = options === null ? "they are a Deployment" : "--backend=LoadBalancer";
    return [skipped("host-ports", `proxies take no ports of nodes (${because})`)];
  }
  if (!daemonSets.ok) return [unchecked("host-ports", daemonSets.unread)];
  const others = daemonSets.value.filter(({ metadata }) =>
    metadata.namespace !== namespace || metadata.name !== PROXY_NAME
  );
  const clashes = others.flatMap((daemonSet) => {
    const ports = hostPortsOf(daemonSet).filter((port) => OWN_PORTS.includes(port));
    return ports.length === 0 ? [] : [{ daemonSet, ports }];
  });
  if (clashes.length === 0) {
    return [
      ok("host-ports", `no other DaemonSet takes the ports ${OWN_PORTS.join(" and ")} of nodes`),
    ];
  }
  return clashes.map(({ daemonSet: { metadata }, ports }) =>
    failed(
      "host-ports",
      `DaemonSet ${metadata.namespace}/${metadata.name} takes port ${
        ports.join(" and ")
      } of its nodes as well, so only one of both runs on a node`,
      "Remove it, or keep both apart by --node-selector, or use --backend=LoadBalancer",
    )
  );
}

const OWN_PORTS: readonly number[] = Object.values(PUBLIC_PORTS);

/** A pod in the network of its node has every port that it names. */
function hostPortsOf(daemonSet: KubeObject): readonly number[] {
  const pod = fieldOf(fieldOf(fieldOf(daemonSet, "spec"), "template"), "spec");
  const field = fieldOf(pod, "hostNetwork") === true ? "containerPort" : "hostPort";
  const ports = (asList(fieldOf(pod, "containers")) ?? [])
    .flatMap((container) => asList(fieldOf(container, "ports")) ?? [])
    .filter((port) => (asText(fieldOf(port, "protocol")) ?? "TCP") === "TCP")
    .map((port) => fieldOf(port, field))
    .filter((port) => typeof port === "number");
  return [...new Set(ports)].sort((a, b) => a - b);
}

/** By which proxies find the controller, and Services of type ExternalName. */
export function checkDns({ dnsSlices }: CheckFacts): readonly CheckResult[] {
  if (!dnsSlices.ok) return [unchecked("dns", dnsSlices.unread)];
  if (dnsSlices.value.length === 0) {
    return [skipped(
      "dns",
      "not checked: there is no Service kube-dns in namespace kube-system, by which most clusters " +
        "resolve names",
    )];
  }
  const endpoints = dnsSlices.value.flatMap((slice) => asList(fieldOf(slice, "endpoints")) ?? []);
  const ready =
    endpoints.filter((endpoint) => fieldOf(fieldOf(endpoint, "conditions"), "ready") !== false)
      .length;
  return [
    ready > 0 ? ok("dns", `ready endpoints of the cluster's DNS: ${ready}`) : failed(
      "dns",
      "the DNS of the cluster has no ready endpoint, so proxies find neither the controller nor " +
        "external names",
      "Look at its pods: kubectl -n kube-system get pods -l k8s-app=kube-dns",
    ),
  ];
}
