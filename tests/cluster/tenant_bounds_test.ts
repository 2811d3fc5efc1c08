/** One tenant that fills its namespace: what was published stays, others are served, and it ends. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { connectProxy } from "./support/stream_scene.ts";

const HOST = "large.example.com";

function paths(count: number, length = 10) {
  return Array.from({ length: count }, (_, i) => ({
    path: `/${String(i).padStart(length - 1, "x")}`,
    pathType: "Prefix",
    backend: { service: { name: "web", port: { number: 80 } } },
  }));
}

/** Routes of a host that lead to a backend. */
async function routesOf(scene: ControllerScene, host: string): Promise<number> {
  const { routes } = await scene.whole();
  return routes.filter((route) => route.host === host && route.action.kind === "forward").length;
}

async function addressesOf(scene: ControllerScene): Promise<string[]> {
  return (await scene.whole()).upstreams.flatMap(({ addresses }) =>
    addresses.kind === "endpoints" ? addresses.endpoints.map(({ address }) => address) : []
  );
}

clusterTest(
  "an Ingress that grows over a bound keeps its published routes, with current endpoints",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster);
    await scene.service("web");
    const grow = (count: number) =>
      scene.ingress("large", { rules: [{ host: HOST, http: { paths: paths(count) } }] });
    await grow(3);
    await eventually("three routes", async () => await routesOf(scene, HOST) === 3);

    await grow(1_001);
    const problem = await scene.eventuallyProblem("ObjectTooLarge");
    equal(problem.object, `Ingress ${scene.app}/large`);
    match(problem.message, /more than 1000 paths, so its published configuration stays active/);
    await scene.ingress("small", { rules: [rule("small.example.com", "/", "web")] });
    await scene.endpoints("web", ["10.0.0.9"]);
    await eventually(
      "another Ingress and its endpoints are served",
      async () =>
        await routesOf(scene, "small.example.com") === 1 &&
        (await addressesOf(scene)).join() === "10.0.0.9",
    );
    equal(await routesOf(scene, HOST), 3);

    await scene.controller.stop();
    await scene.startController();
    await scene.eventuallyProblem("ObjectTooLarge");
    equal(await routesOf(scene, HOST), 3, "a controller that starts keeps it");

    await grow(4);
    await eventually("four routes", async () => await routesOf(scene, HOST) === 4);
  },
);

clusterTest(
  "objects that do not fit a namespace are served once others shrink or are deleted",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster, {
      args: ["--max-namespace-bytes=30KiB"],
    });
    await scene.service("web");
    const write = (name: string, count: number, length: number) =>
      scene.ingress(name, {
        rules: [{ host: `${name}.example.com`, http: { paths: paths(count, length) } }],
      });
    const has = (name: string, count: number) =>
      eventually(
        `${count} routes of ${name}`,
        async () => await routesOf(scene, `${name}.example.com`) === count,
      );
    // Most routes stay: a great loss makes the controller list everything anew by itself.
    await write("many", 100, 10);
    await has("many", 100);
    await write("long", 40, 250);
    await has("long", 40);
    await write("late", 40, 250);
    const problem = await scene.eventuallyProblem("ObjectTooLarge");
    equal(problem.object, `Ingress ${scene.app}/late`);
    match(problem.message, /more than 30720 bytes together, so it is not served/);
    equal(await routesOf(scene, "late.example.com"), 0);
    await write("long", 40, 50);
    await has("late", 40);
    await write("later", 40, 250);
    await scene.eventuallyProblem("ObjectTooLarge");
    equal(await routesOf(scene, "later.example.com"), 0);
    await scene.remove("Ingress", "late");
    await has("later", 40);
  },
);

clusterTest("a namespace over its bound of routes serves its oldest Ingresses", async (cluster) => {
  await using scene = await ControllerScene.start(cluster, { args: ["--max-namespace-routes=10"] });
  await scene.service("web");
  const three = (name: string) =>
    scene.ingress(name, { rules: [{ host: `${name}.example.com`, http: { paths: paths(3) } }] });
  for (const name of ["a", "b", "c", "d"]) {
    await three(name);
    if (name === "d") break;
    await eventually(name, async () => await routesOf(scene, `${name}.example.com`) === 3);
  }
  const problem = await scene.eventuallyProblem("NamespaceLimitExceeded");
  equal(problem.object, `Ingress ${scene.app}/d`);
  const refused = await cluster.get<KubeObject & { status?: { loadBalancer?: object } }>(
    "networking.k8s.io/v1",
    "Ingress",
    "d",
    scene.app,
  );
  deepEqual(refused?.status?.loadBalancer ?? {}, {}, "it has no address");
  await scene.remove("Ingress", "b");
  await eventually("it has room", async () => await routesOf(scene, "d.example.com") === 3);
});

/** A path that no compression makes much smaller. */
function randomPath(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length * 0.75));
  return `/${bytes.toBase64({ alphabet: "base64url" })}`;
}

clusterTest(
  "Ingresses beyond the proxies' memory are rejected, and the others are served",
  async (cluster) => {
    // The bounds of one namespace come first unless they are far above it.
    await using scene = await ControllerScene.start(cluster, {
      args: [
        "--max-object-bytes=2MiB",
        "--max-namespace-bytes=32MiB",
        "--max-namespace-routes=20000",
        "--max-namespace-host-bytes=32MiB",
      ],
    });
    await scene.service("web");
    await scene.ingress("shop");
    await scene.eventuallyRouted("shop.example.com Prefix /");
    const backend = { service: { name: "web", port: { number: 80 } } };
    const names = Array.from({ length: 12 }, (_, i) => `large-${i}`);
    for (const name of names) {
      const paths = Array.from(
        { length: 900 },
        () => ({ path: randomPath(1000), pathType: "Prefix", backend }),
      );
      await scene.ingress(name, { rules: [{ host: `${name}.example.com`, http: { paths } }] });
    }
    const { message, object } = await scene.eventuallyProblem("ClusterLimitExceeded");
    match(String(object), new RegExp(`^Ingress ${scene.app}/large-`));
    match(message, /more than proxies with 1024 MiB of memory and 4 workers hold/);
    await using streamed = await connectProxy(scene);
    const { hosts } = await streamed.line("snapshot") as unknown as {
      hosts: readonly { readonly host: string }[];
    };
    const connected = hosts.map(({ host }) => host);
    equal(connected.includes("shop.example.com"), true, connected.join());
    equal(connected.length < 1 + names.length, true, connected.join());
    const served = (await scene.whole()).routes.map(({ host }) => host);
    equal(served.includes("shop.example.com"), true);
    for (const name of names.slice(1)) await scene.remove("Ingress", name);
    await scene.eventuallyPublished(
      "what fits",
      ({ routes }) => new Set(routes.map(({ host }) => host)).size === 2,
    );
    await eventually("end of the problem", async () => {
      const reasons = (await scene.problems()).map(({ reason }) => reason);
      return !reasons.includes("ClusterLimitExceeded");
    });
  },
);
