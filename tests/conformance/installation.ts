/**
 * What the suite needs in a cluster. In: a cluster with nodes, and the suite's parts. Out: images of the
 * suite's backends, the CRDs of one channel, and Pingress with Gateway API and its class.
 */
import { join } from "node:path";
import { MANIFESTS } from "../cluster/support/kubectl.ts";
import { buildPingress, Pingress } from "../e2e/cluster/installation.ts";
import type { NodeCluster } from "../e2e/cluster/node_cluster.ts";
import type { SuiteParts } from "./suite.ts";

const HERE = import.meta.dirname!;

/** Names of images in the base manifests of the suite, and how each is built. */
const IMAGES: readonly (readonly [tag: string, file: string])[] = [
  ["registry.k8s.io/gateway-api/echo-basic:v1.5.1", "echo-basic.Dockerfile"],
  // The same program: tests of retries need what is new in it.
  ["registry.k8s.io/gateway-api/echo-basic:v1.6.0-dev.3", "echo-basic.Dockerfile"],
  ["registry.k8s.io/coredns/coredns:v1.12.2", "coredns.Dockerfile"],
];

export async function buildImages(cluster: NodeCluster, { echo }: SuiteParts): Promise<void> {
  await buildPingress(cluster);
  for (const [tag, file] of IMAGES) {
    await cluster.buildImage({ context: echo, file: join(HERE, "images", file), tag });
  }
}

/** @param channel Of the CRDs. */
export async function install(
  cluster: NodeCluster,
  { crds }: SuiteParts,
  channel: string,
): Promise<void> {
  // A CRD is larger than the annotation of a client-side apply may be.
  const apply = ["apply", "--server-side"];
  const files = [...Deno.readDirSync(join(crds, channel))].map(({ name }) => name)
    .filter((name) => name.includes("gateway.networking"))
    .sort();
  await cluster.kubectl([
    ...apply,
    ...files.map((name) => `--filename=${join(crds, channel, name)}`),
  ]);
  const pingress = new Pingress(cluster, "LoadBalancer");
  // Nothing in the cluster assigns addresses of load balancers; those of Services are reachable.
  const args = ["--service-type=ClusterIP"];
  await pingress.apply({ backend: "LoadBalancer", args });
  // With the class of the suite; some of it is in the namespace of Pingress.
  await cluster.kubectl([...apply, "--kustomize", join(MANIFESTS, "..", "overlays", "gateway")]);
  await pingress.waitForControllers();
}
