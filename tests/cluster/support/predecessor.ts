/**
 * A cluster as the Pingress Controller in Rust leaves it. In: a cluster. Out: the objects that its
 * users applied by kubectl, those that it made itself, and its finalizer on Ingresses.
 */
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";

export const NAMESPACE = "pingress-system";
export const OLD_MANAGER = "kinorca.com/pingress-controller";
export const OLD_FINALIZER = "kinorca.com/pingress-controller";
export const OLD_SECRET = "pingress-tls-secret";
export const PROXY = "pingress-proxy-server";

const rbac = (kind: string) => ({ apiVersion: "rbac.authorization.k8s.io/v1", kind });
const SUBJECT = { kind: "ServiceAccount", namespace: NAMESPACE, name: "pingress-controller-user" };
const OWNED = {
  "app.kubernetes.io/managed-by": "pingress-controller",
  "kinorca.com/pingress-controller-type": "host-port",
};

/** What its users applied, as a text for `kubectl apply -f -`. */
export function oldManifests(): string {
  const objects = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
    {
      ...rbac("Role"),
      metadata: { name: "pingress-controller-role", namespace: NAMESPACE },
      rules: [
        {
          apiGroups: ["apps"],
          resources: ["daemonsets"],
          verbs: ["get", "watch", "patch", "delete", "list", "create"],
        },
        {
          apiGroups: [""],
          resources: ["secrets", "configmaps"],
          verbs: ["get", "patch", "delete", "create"],
        },
      ],
    },
    {
      ...rbac("ClusterRole"),
      metadata: { name: "pingress-controller-cluster-role", namespace: NAMESPACE },
      rules: [
        { apiGroups: [""], resources: ["secrets", "services"], verbs: ["watch", "get", "list"] },
        {
          apiGroups: ["networking.k8s.io"],
          resources: ["ingresses"],
          verbs: ["watch", "get", "list", "patch"],
        },
      ],
    },
    {
      ...rbac("RoleBinding"),
      metadata: { name: "pingress-controller-role-binding", namespace: NAMESPACE },
      subjects: [SUBJECT],
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "Role",
        name: "pingress-controller-role",
      },
    },
    {
      ...rbac("ClusterRoleBinding"),
      metadata: { name: "pingress-controller-cluster-role-binding", namespace: NAMESPACE },
      subjects: [SUBJECT],
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "pingress-controller-cluster-role",
      },
    },
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "pingress-controller-user", namespace: NAMESPACE },
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name: "pingress" },
      spec: { controller: "networking.kinorca.com/pingress-controller" },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        name: "pingress-controller",
        namespace: NAMESPACE,
        labels: { "app.kubernetes.io/name": "pingress-controller" },
      },
      spec: {
        replicas: 1,
        selector: { matchLabels: { "app.kubernetes.io/name": "pingress-controller" } },
        template: {
          metadata: { labels: { "app.kubernetes.io/name": "pingress-controller" } },
          spec: {
            serviceAccountName: "pingress-controller-user",
            containers: [{
              name: "pingress-controller",
              image: "example.com/pingress-controller:old",
              command: ["/usr/local/bin/pingress-controller", "--backend=HostPort"],
              env: [{ name: "RUST_LOG", value: "debug" }],
              imagePullPolicy: "Always",
            }],
          },
        },
      },
    },
  ];
  return objects.map((object) => JSON.stringify(object)).join("\n---\n");
}

/** Makes what it made itself: proxies, their configuration and keys. */
export async function makeOldWorkload(cluster: TestCluster): Promise<void> {
  const options = { fieldManager: OLD_MANAGER, namespace: NAMESPACE };
  const labels = { "app.kubernetes.io/name": PROXY };
  const rule = {
    host: "old.example.com",
    tls: { key: "/etc/pingress/keys/old.example.com.key", cert: "/etc/pingress/keys/x.cert" },
    path: { type: "Prefix", path: "/" },
    backend: { type: "Service", name: "web", namespace: "default", port: 80 },
  };
  await cluster.apply([
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "pingress-config", labels: OWNED },
      data: { "proxy.json": JSON.stringify({ rules: [rule] }) },
    },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: OLD_SECRET, labels: OWNED },
      type: "Opaque",
      data: { "old.example.com.key": btoa("a key") },
    },
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: PROXY, labels: OWNED },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [{
              name: PROXY,
              image: "example.com/pingress-proxy-server:old",
              command: [
                "/usr/local/bin/pingress-proxy-server",
                "--config=/etc/pingress/config/proxy.json",
                "--listen-http=0.0.0.0:8080",
                "--listen-https=0.0.0.0:8443",
              ],
              ports: [
                { containerPort: 8080, hostPort: 80, name: "http", protocol: "TCP" },
                { containerPort: 8443, hostPort: 443, name: "https", protocol: "TCP" },
              ],
              securityContext: { readOnlyRootFilesystem: true },
              volumeMounts: [
                { mountPath: "/etc/pingress/config", name: "pingress-config", readOnly: true },
                { mountPath: "/etc/pingress/keys", name: OLD_SECRET, readOnly: true },
              ],
            }],
            nodeSelector: {},
            volumes: [
              { name: OLD_SECRET, secret: { defaultMode: 0o700, secretName: OLD_SECRET } },
              { name: "pingress-config", configMap: { name: "pingress-config" } },
            ],
          },
        },
      },
    },
  ], options);
}

/**
 * Puts its finalizer on an Ingress as it did, by a JSON patch under no manager of its own, beside
 * those that are there.
 */
export async function addOldFinalizer(
  cluster: TestCluster,
  namespace: string,
  name: string,
): Promise<void> {
  const path = await cluster.pathOf("networking.k8s.io/v1", "Ingress", name, namespace);
  const { metadata: { finalizers } } = (await cluster.request("GET", path)).body as KubeObject;
  const patch = finalizers === undefined
    ? [{ op: "add", path: "/metadata/finalizers", value: [OLD_FINALIZER] }]
    : [{ op: "add", path: "/metadata/finalizers/-", value: OLD_FINALIZER }];
  const answer = await cluster.request("PATCH", path, patch, "application/json-patch+json");
  if (answer.status !== 200) throw new Error(answer.text);
}
