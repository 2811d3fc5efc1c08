/**
 * What Gateways need in a cluster without kubelets. In: a cluster or a scene. Out: a kubeconfig by which
 * replicas of the controller know each other, and pods of proxies that are ready.
 */
import type { TestCluster } from "./cluster.ts";
import type { ControllerScene } from "./controller_scene.ts";
import { proxyToken } from "./stream_scene.ts";

/** A kubeconfig of a service account that may do everything: replicas know each other by it. */
export async function replicasKubeconfig(
  cluster: TestCluster,
  name = "replicas",
): Promise<string> {
  const namespace = "kube-system";
  await cluster.apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  });
  return await cluster.serviceAccountKubeconfig(namespace, name);
}

/** A pod of the proxies that is ready. @returns its token for the stream. */
export async function readyProxy(
  { cluster, system }: Pick<ControllerScene, "cluster" | "system">,
  name: string,
  ip: string,
): Promise<string> {
  const labels = { "app.kubernetes.io/name": "pingress-proxy-server" };
  const token = await proxyToken(cluster, system, { pod: { name, node: "node" }, labels });
  const status = {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True" }],
    podIPs: [{ ip }],
  };
  await cluster.request(
    "PATCH",
    `${await cluster.pathOf("v1", "Pod", name, system)}/status`,
    { status },
    "application/merge-patch+json",
  );
  return token;
}
