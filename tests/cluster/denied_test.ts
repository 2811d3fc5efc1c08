/** Endpoints that lead into the cluster itself are left out, as nodes and networks come and go. */
import { deepEqual, match } from "node:assert/strict";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";

clusterTest(
  "endpoints on nodes and ClusterIPs are removed as soon as these are known",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster, { watchesAll: true });
    const addresses = async () => {
      const { upstreams = [] } = await scene.published() ?? {};
      return upstreams.flatMap(({ addresses }) =>
        addresses.kind === "endpoints" ? addresses.endpoints.map(({ address }) => address) : []
      );
    };
    await scene.service("web", ["192.0.2.7", "192.0.2.8", "10.96.0.9"]);
    await scene.ingress("web", { rules: [rule("web.example.com", "/", "web")] });
    await eventually(
      "ClusterIPs are refused",
      async () => JSON.stringify(await addresses()) === JSON.stringify(["192.0.2.7", "192.0.2.8"]),
    );
    match((await scene.eventuallyProblem("EndpointNotAllowed")).message, /address of a Service/);

    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "worker" } };
    await cluster.apply(node);
    const status = { addresses: [{ type: "InternalIP", address: "192.0.2.8" }] };
    await cluster.apply({ ...node, status }, { subresource: "status" });
    await eventually(
      "the node is refused",
      async () => JSON.stringify(await addresses()) === JSON.stringify(["192.0.2.7"]),
    );
    const denied = (await scene.published())?.denied ?? [];
    deepEqual(
      ["192.0.2.8", "10.96.0.0/16"].filter((one) => !denied.includes(one)),
      [],
    );

    await cluster.delete("v1", "Node", "worker");
    await eventually(
      "it is a machine like others",
      async () => JSON.stringify(await addresses()) === JSON.stringify(["192.0.2.7", "192.0.2.8"]),
    );
  },
);
