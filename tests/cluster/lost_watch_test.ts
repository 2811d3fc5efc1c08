/** What the controller has written, and others delete while it cannot watch it. */
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { failure, gone } from "./support/gateway_answers.ts";

clusterTest(
  "ConfigMaps that are deleted while they cannot be watched are written again",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster, { gateway: true });
    const gateway = scene.gateway!;
    const { system: namespace } = scene;
    const match = { resource: "configmaps", namespace } as const;
    const lost = gateway.inject({ ...match, verb: ["list", "watch"] }, failure(500));
    gateway.endStreams({ ...match, verb: "watch" });
    await eventually("a lost watch", () => lost.hits > 0);
    await scene.service("web");
    await scene.ingress("shop");
    await scene.eventuallyRouted("shop.example.com");
    const names = ["pingress-claims", "pingress-config-v2"];
    for (const name of names) {
      await eventually(name, () => cluster.get("v1", "ConfigMap", name, namespace));
      await cluster.delete("v1", "ConfigMap", name, namespace);
    }
    const expired = gateway.inject({ ...match, verb: "watch" }, gone(), 1);
    lost.remove();
    const from = gateway.requests.length;
    await eventually(
      "a list",
      () =>
        expired.hits > 0 && gateway.recorded({ ...match, verb: "list" }, from)
          .some(({ status, query }) => status === 200 && query.get("limit") !== "1"),
      60_000,
    );
    // Nothing that these hold is new.
    await scene.endpoints("web", ["10.0.0.7"]);
    for (const name of names) {
      await eventually(`${name} again`, () => cluster.get("v1", "ConfigMap", name, namespace));
    }
  },
);
