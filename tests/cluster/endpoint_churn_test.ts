/**
 * From EndpointSlices to requests, all of it real: a controller, the API server, what it publishes in a
 * folder as a kubelet fills it, or says by its stream, a proxy, and pods that are replaced under load.
 *
 * PINGRESS_FULL=1: a hundred pods instead of twelve.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { ProxyProcess } from "../support/proxy_process.ts";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ClientLoad } from "./support/client_load.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { IS_FULL } from "./support/fault_scene.ts";
import { KubeletVolume } from "./support/kubelet_volume.ts";
import { hasPodAddress, Pod, type PodState } from "./support/pod.ts";
import { startStreamedProxy } from "./support/streamed_proxy.ts";

const SWAPS = IS_FULL ? 100 : 12;

for (const way of ["mounted files", "the stream"]) {
  clusterTest(
    `pods are replaced under load without a failed request, learned by ${way}`,
    async (cluster) => {
      if (!hasPodAddress("pods are replaced under load")) return;
      await using scene = await ControllerScene.start(cluster, {
        args: ["--endpoint-interval=0s", "--stream-name=127.0.0.1"],
      });
      const show = (pod: Pod, state: PodState) =>
        cluster.apply(pod.slice("web", state), { namespace: scene.app });
      let pods = [1, 2, 3].map((i) => new Pod(`pod-${i}`));
      const ended: Promise<void>[] = [];
      try {
        await cluster.apply({
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "web" },
          spec: { ports: [{ name: "http", port: 80 }] },
        } as Partial<KubeObject>, { namespace: scene.app });
        for (const pod of pods) await show(pod, "ready");
        const { http } = rule("", "/", "web");
        await scene.ingress("all", { rules: [{ http }] });
        const snapshot = await scene.eventuallyPublished(
          "three endpoints",
          ({ upstreams: [web] }) =>
            web?.addresses.kind === "endpoints" && web.addresses.endpoints.length === 3,
        );

        await using volume = new KubeletVolume(cluster, scene.system, "snapshot.json");
        const files = await volume.files();
        const isStreamed = way === "the stream";
        await using proxy = isStreamed
          ? await startStreamedProxy(scene, { snapshot })
          : await ProxyProcess.start({
            snapshot,
            publish: (folder) => volume.mount(folder, files),
          });
        if (!isStreamed) volume.start();
        const load = new ClientLoad(proxy.httpPort, 6);
        const took: number[] = [];
        for (let i = 0; i < SWAPS; i++) {
          const next = new Pod(`pod-${i + 4}`);
          const [old, ...rest] = pods;
          pods = [...rest, next];
          const started = performance.now();
          await show(next, "ready");
          await show(old, "terminating");
          await eventually(`requests of ${next.name}`, () => next.served > 0);
          took.push(performance.now() - started);
          // The pod ends when it likes: with proxies that know of it, and with some that do not yet.
          const isEarly = i % 3 === 2;
          if (isEarly) ended.push(pods[0].end());
          ended.push(old.end());
          await cluster.delete(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            `web-${old.name}`,
            scene.app,
          );
          if (isEarly) {
            const [gone] = pods.splice(0, 1, new Pod(`pod-early-${i}`));
            await show(pods[0], "ready");
            await sleep(200);
            await cluster.delete(
              "discovery.k8s.io/v1",
              "EndpointSlice",
              `web-${gone.name}`,
              scene.app,
            );
          }
        }
        await load.end();
        took.sort((a, b) => a - b);
        console.log(
          `By ${way}: ${SWAPS} pods replaced, ${load.answered} requests, ${load.failures.length} failed; from an ` +
            `EndpointSlice to its pod's first request ${
              Math.round(took[took.length >> 1])
            } ms (median)`,
        );
        assert.deepEqual(load.failures, []);
        assert.ok(load.answered > SWAPS);
      } finally {
        await Promise.all([...ended, ...pods.map((pod) => pod.end())]);
      }
    },
  );
}
