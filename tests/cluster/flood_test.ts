/** A tenant that floods its namespace: nobody else notices, and all memory limits are kept. */
import assert from "node:assert/strict";
import { memoryOf } from "../../bench/controller/process_usage.ts";
import { MemoryCgroup } from "../support/memory_cgroup.ts";
import type { ProxyProcess } from "../support/proxy_process.ts";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { answerOf, startStreamedProxy } from "./support/streamed_proxy.ts";

const MIB = 1024 * 1024;

/** Of the containers in manifests/ and of the proxies that the controller makes. */
const LIMITS = { controller: 512 * MIB, proxy: 1024 * MIB };

/** Changes of others that are timed. */
const CHANGES = 20;

function flooding(namespace: string, name: string, count: number): Partial<KubeObject> {
  const backend = { service: { name: "web", port: { number: 80 } } };
  const paths = Array.from(
    { length: count },
    (_, i) => ({ path: `/${i}`, pathType: "Exact", backend }),
  );
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name, namespace },
    spec: {
      ingressClassName: "pingress",
      rules: [{ host: `${name}.example.com`, http: { paths } }],
    },
  } as Partial<KubeObject>;
}

/** A 503 of the proxy says that there is a route, and no endpoint. */
const ROUTED = 503;

/** Writes Ingresses of the other tenant one by one; milliseconds until a proxy serves each. */
async function timedChanges(
  scene: ControllerScene,
  proxy: ProxyProcess,
  prefix: string,
  count: number,
): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const host = `${prefix}${i}.example.com`;
    await scene.ingress("changing", { rules: [rule(host, "/", "web")] });
    const written = performance.now();
    await eventually(host, async () => await answerOf(proxy, host) === ROUTED);
    times.push(performance.now() - written);
  }
  return times.sort((a, b) => a - b);
}

function show(times: readonly number[]): string {
  const at = (share: number) => Math.round(times[Math.floor(share * (times.length - 1))]);
  return `median ${at(0.5)} ms, most ${at(1)} ms`;
}

clusterTest(
  "20 Ingresses of 1 MB and 12,000 paths of one tenant leave all others served",
  async (cluster) => {
    // They go last, when the processes in them have ended.
    using controllerGroup = MemoryCgroup.create(LIMITS.controller);
    using proxyGroup = MemoryCgroup.create(LIMITS.proxy);
    const flood = await cluster.newNamespace("flood");
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--stream-name=127.0.0.1", `--watch-namespace=${flood}`],
    });
    await scene.service("web", []);
    await scene.ingress("steady");
    if (controllerGroup === null) console.log("No cgroups can be made: VmHWM alone is looked at");
    const startController = async () => {
      const controller = await scene.spawnController();
      controllerGroup?.add(controller.pid);
      await controller.ready();
    };
    await startController();
    const startProxy = () =>
      startStreamedProxy(scene, {
        args: ["--workers=4", `--memory-limit=${LIMITS.proxy}`],
        wrapper: proxyGroup?.wrapper,
      });
    const isServed = (one: ProxyProcess) =>
      eventually(
        "the other tenant",
        async () => await answerOf(one, "steady.example.com") === ROUTED,
      );
    const [used, proxies]: [number[], number[]] = [[], []];
    let during: number[] = [];
    let after: number[] = [];
    {
      await using proxy = await startProxy();
      await isServed(proxy);

      const writing = (async () => {
        for (let i = 0; i < 20; i++) await cluster.create(flooding(flood, `huge-${i}`, 10_500));
        for (let i = 0; i < 12; i++) await cluster.create(flooding(flood, `large-${i}`, 1_000));
      })();
      const changing = timedChanges(scene, proxy, "during", CHANGES);
      [during] = await Promise.all([changing, writing]);
      const problem = await scene.eventuallyProblem("ObjectTooLarge");
      assert.match(String(problem.object), new RegExp(`^Ingress ${flood}/huge-`));
      await scene.eventuallyProblem("NamespaceLimitExceeded");
      after = await timedChanges(scene, proxy, "after", CHANGES);
      await isServed(proxy);
      const { routes } = await scene.whole();
      const own = routes.filter(({ origin }) => origin.namespace === flood);
      assert.equal(own.length, 10_000, "the tenant has what one namespace may have");

      used.push(memoryOf(scene.controller.pid).peak);
      proxies.push(await proxy.peakMemory());
    }

    // Whoever starts now finds all of it at once.
    await scene.controller.stop();
    await startController();
    await using second = await startProxy();
    await isServed(second);
    const restarted = await timedChanges(scene, second, "restarted", CHANGES);
    used.push(memoryOf(scene.controller.pid).peak);
    proxies.push(await second.peakMemory());
    assert.equal(await answerOf(second, "large-0.example.com", "/999"), ROUTED);

    console.log(
      `changes of others: during the flood ${show(during)}; after it ${show(after)}; ` +
        `after a restart ${show(restarted)}`,
    );
    console.log(
      `peaks in MiB: controllers ${used.map(mebibytes)}, of ${mebibytes(LIMITS.controller)}; ` +
        `proxies ${proxies.map(mebibytes)}, of ${mebibytes(LIMITS.proxy)}`,
    );
    for (const peak of used) assert.ok(peak < LIMITS.controller, `controller: ${peak}`);
    for (const peak of proxies) assert.ok(peak < LIMITS.proxy, `proxy: ${peak}`);
    assert.equal(controllerGroup?.kills ?? 0, 0);
    assert.equal(proxyGroup?.kills ?? 0, 0);
  },
);

function mebibytes(bytes: number): number {
  return Math.round(bytes / MIB);
}
