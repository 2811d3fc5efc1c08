/**
 * What the proxy workload is called in Kubernetes. In: nothing. Out: names, labels and ports that
 * stay for good: selectors cannot be changed, and people write them into their own objects.
 */
import { STREAM_AUDIENCE, STREAM_PORT } from "../../../shared/stream/protocol.ts";

/** Of the DaemonSet or Deployment, its container, the Service and what goes with them. */
export const PROXY_NAME = "pingress-proxy-server";

const NAME_LABEL = "app.kubernetes.io/name";

/** Says whose an object is; the Pingress Controller in Rust writes the same. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";

/** On every proxy pod, and the DaemonSet's selector: the Pingress Controller in Rust has it too. */
export const PROXY_SELECTOR = { [NAME_LABEL]: PROXY_NAME } as const;

/** On pods of the Deployment alone. */
export const WORKLOAD_LABEL = "pingress.io/workload";

/**
 * The Deployment's selector is narrower than the DaemonSet's, so that disruption budget, autoscaler
 * and spreading count its pods alone while both are there.
 */
export const DEPLOYMENT_SELECTOR = {
  ...PROXY_SELECTOR,
  [WORKLOAD_LABEL]: "deployment",
} as const;

/** On everything that the controller owns. */
export const OWNER_LABELS = {
  [MANAGED_BY_LABEL]: "pingress-controller",
  "app.kubernetes.io/part-of": "pingress",
} as const;

/** What clients dial, on nodes and on the Service. */
export const PUBLIC_PORTS = { http: 80, https: 443 } as const;

/** Where the published configuration is mounted. */
export const CONFIG_FOLDER = "/etc/pingress";

/** How proxies reach the controller's stream, and know each other. */
export const STREAM = {
  /** Before the controller's replicas, in its namespace. */
  service: "pingress-controller",
  port: STREAM_PORT,
  /** Proxies' own, which may do nothing: its name is what their tokens say. */
  serviceAccount: PROXY_NAME,
  /** Of their tokens, which are good for nothing else. */
  audience: STREAM_AUDIENCE,
  /** Seconds; the kubelet renews a token at four fifths of its life. */
  tokenLife: 3600,
  /** The Secret and the ConfigMap of the authority that signs the controller's certificates. */
  authority: "pingress-stream-ca",
  /** The ConfigMap's key: certificates in PEM. */
  bundleKey: "ca.crt",
  /** Below the folder of the configuration. */
  bundleFile: "stream/ca.crt",
  tokenFile: "stream/token",
} as const;

/** What the Pingress Controller in Rust leaves behind. */
export const PREDECESSOR = {
  fieldManager: "kinorca.com/pingress-controller",
  /** Mounted by its proxies, so it must stay until the last of them has gone. */
  secret: "pingress-tls-secret",
} as const;
