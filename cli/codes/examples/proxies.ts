/** Examples of problems of the proxies' workload and of the published configuration. In: nothing. Out: by reason, YAML with the mistake, or a situation in a sentence. */

export const PROXY_EXAMPLES: Readonly<Record<string, string>> = {
  ProxyAccountMissing: "The ServiceAccount of the proxies was deleted.",
  ConfigurationRejected:
    "A proxy of an older version that does not know a field of the configuration.",
  NoNodeForProxies:
    "--backend HostPort with --node-selector edge=true, and no node has that label.",
  ProxyPodRejected:
    "Pod Security admission of level restricted in a namespace whose proxies use host ports.",
  ProxyNotScheduled: "No node has as much memory left as the pod requests.",
  HostPortConflict: "Another ingress controller holds port 443 of the node.",
  ImagePullFailed: "--proxy-server-image registry.example.com/proxy:1.0, which needs a login.",
  ProxyNotCreated: "A pod template that mounts a ConfigMap that does not exist.",
  ProxyCrashes: "A --proxy-arg that the proxy does not know.",
  ProxiesNotReady: "A proxy whose readiness probe has failed for five minutes.",
  InvalidProxyArgument: "--proxy-arg=listen-http=:80",
  InvalidPodTemplate: "A --proxy-pod-template that changes a label of the selector.",
  InvalidWorkload: "A pod template with a negative CPU request.",
  ImmutableField: "A DaemonSet of an older version with another selector.",
  QuotaExceeded: "A ResourceQuota of the namespace that allows no further pod.",
  AdmissionRejected: "A policy that requires a label on every pod.",
  AdmissionUnavailable: "A webhook with failurePolicy: Fail whose Service has no endpoint.",
  NotPermitted: "The Role of the controller lacks patch on deployments.",
  NamespaceNotFound: "--namespace names a namespace that was deleted.",
  NamespaceTerminating: "Somebody deletes the namespace pingress-system while the controller runs.",
  ApiMissing: "A cluster older than Kubernetes 1.27.",
  ConfigurationNearlyTooLarge: "More than 85 % of the space in the published objects is used.",
  ConfigurationTooLarge: "So many routes that they do not fit into the published objects.",
  ConfigurationNotPublished: "The Role of the controller lacks patch on secrets of its namespace.",
  ConfigurationTooLargeForStream: "A configuration beyond the limit of the stream.",
  StreamCaNotStored: "The Role of the controller lacks create on secrets.",
  ClaimsNotRecorded: "The Role of the controller lacks patch on the ConfigMap pingress-claims.",
  ClaimsTooLarge: "Tens of thousands of hosts of different namespaces.",
  KeysTooLarge: "More private keys than fit into the Secrets of the proxies.",
};
