/** Acknowledgements of proxies that are connected to a replica that does not lead. */
import { equal, notEqual } from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import type { ControllerProcess } from "./support/controller_process.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import { installGatewayCrds } from "./support/gateway_crds.ts";
import { replicasKubeconfig } from "./support/gateway_proxies.ts";
import { connectProxy, streamPort, streamTrust } from "./support/stream_scene.ts";
import { StreamClient } from "../support/stream_client.ts";

const ACCOUNT = "controller";

async function relayed(controller: ControllerProcess): Promise<number | null> {
  return await controller.metric('pingress_controller_stream_proxies{state="relayed"}');
}

async function leads(controller: ControllerProcess): Promise<boolean> {
  return await controller.metric("pingress_controller_leader ") === 1;
}

interface Lease extends KubeObject {
  readonly spec?: { readonly renewTime?: string };
}

async function leaseOf(cluster: TestCluster, namespace: string): Promise<Lease | null> {
  return await cluster.get("coordination.k8s.io/v1", "Lease", "pingress-controller", namespace);
}

/** Relaying takes Gateway API. */
async function prepareScene(cluster: TestCluster): Promise<ControllerScene> {
  await installGatewayCrds(cluster);
  const kubeconfig = await replicasKubeconfig(cluster, ACCOUNT);
  return await ControllerScene.prepare(cluster, { args: FAST_ELECTION, kubeconfig });
}

clusterTest("without the CRDs nothing is relayed, until they are installed", async (cluster) => {
  const kubeconfig = await replicasKubeconfig(cluster, ACCOUNT);
  await using scene = await ControllerScene.prepare(cluster, { args: FAST_ELECTION, kubeconfig });
  await using leader = await scene.startController();
  await eventually("a leader", () => leads(leader));
  await streamTrust(cluster, scene.system);
  await using second = await scene.startController();
  const renewed = async () => (await leaseOf(cluster, scene.system))?.spec?.renewTime;
  const before = await renewed();
  await eventually("a renewal", async () => await renewed() !== before);
  equal((await leaseOf(cluster, scene.system))?.metadata.annotations, undefined);
  await installGatewayCrds(cluster);
  await second.line("Relaying acknowledgements to the leader");
  equal(second.lines.some(({ message }) => String(message).startsWith("Cannot relay")), false);
});

clusterTest(
  "the leader learns what proxies of the other replica have, also a new leader",
  async (cluster) => {
    await using scene = await prepareScene(cluster);
    await scene.service("web");
    await scene.ingress("web");
    await using first = await scene.startController();
    await eventually("a leader", () => leads(first));
    await streamTrust(cluster, scene.system);
    await using second = await scene.startController();
    await second.line("Relaying acknowledgements to the leader");
    equal(await relayed(first), 0);
    {
      await using proxy = await connectProxy(scene, {}, second);
      await proxy.line("snapshot");
      await eventually("its acknowledgement", async () => await relayed(first) === 1);
      equal(await relayed(second), 0);
    }
    await eventually("its end", async () => await relayed(first) === 0);
    await using proxy = await connectProxy(scene, {}, second);
    await eventually("another one", async () => await relayed(first) === 1);
    equal(proxy.isEnded, false);
    await using third = await scene.startController();
    await third.line("Relaying acknowledgements to the leader");
    await first.kill();
    const leader = await eventually("another leader", async () => {
      for (const each of [second, third]) if (await leads(each)) return each;
      return null;
    });
    const follower = leader === second ? third : second;
    await follower.line("Relaying acknowledgements to the leader", follower.lines.length - 1);
    await using last = await connectProxy(scene, {}, follower);
    await last.line("snapshot");
    // That of the second too, if the third leads.
    await eventually(
      "the acknowledgements",
      async () => await relayed(leader) === (leader === second ? 1 : 2),
    );
  },
);

clusterTest("only the controllers' own account may relay", async (cluster) => {
  await using scene = await prepareScene(cluster);
  await using leader = await scene.startController();
  await eventually("a leader", () => leads(leader));
  const port = await streamPort(leader);
  const caPem = await streamTrust(cluster, scene.system);
  const tokens = [
    [await cluster.serviceAccountToken("kube-system", ACCOUNT), 200],
    [await cluster.serviceAccountToken("kube-system", "another"), 403],
    [await cluster.serviceAccountToken(scene.system, ACCOUNT), 403],
    [cluster.adminToken, 401],
  ] as const;
  for (const [token, status] of tokens) {
    await using client = new StreamClient({
      ...{ port, caPem, token, path: "/v1/acks", hello: null },
      servername: `pingress-controller.${scene.system}.svc`,
    });
    equal(await client.answered(), status);
  }
  // A forged one of the same account.
  const [head, claims] = tokens[0][0].split(".");
  await using forged = new StreamClient({
    ...{ port, caPem, token: `${head}.${claims}.AAAA`, path: "/v1/acks", hello: null },
    servername: `pingress-controller.${scene.system}.svc`,
  });
  equal(await forged.answered(), 401);
});

clusterTest(
  "with --gateway=false nothing is relayed, and the Lease has no address",
  async (cluster) => {
    const kubeconfig = await replicasKubeconfig(cluster, ACCOUNT);
    const args = [...FAST_ELECTION, "--gateway=false"];
    await using scene = await ControllerScene.prepare(cluster, { args, kubeconfig });
    await using leader = await scene.startController();
    await eventually("a leader", () => leads(leader));
    const lease = await leaseOf(cluster, scene.system);
    notEqual(lease, null);
    equal(lease!.metadata.annotations, undefined);
    const token = await cluster.serviceAccountToken("kube-system", ACCOUNT);
    await using client = new StreamClient({
      port: await streamPort(leader),
      caPem: await streamTrust(cluster, scene.system),
      servername: `pingress-controller.${scene.system}.svc`,
      ...{ token, path: "/v1/acks", hello: null },
    });
    equal(await client.answered(), 404);
  },
);
