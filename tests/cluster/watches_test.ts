/** Kinds that are watched and not watched while everything else goes on, as their API comes and goes. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { excessOf } from "../../controller/kube/excess.ts";
import { DEFAULT_OBJECT_BOUNDS, type ObjectBounds } from "../../controller/kube/object_bounds.ts";
import type { KubeObject } from "../../controller/kube/types.ts";
import { Watches } from "../../controller/watch/watches.ts";
import { type ApiGateway, startGateway } from "./support/api_gateway.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { failure, heldUntil } from "./support/gateway_answers.ts";
import { clientOf, FAST, recordingLog } from "./support/informer_scene.ts";

const OF_CIDRS = { resource: "servicecidrs" } as const;

/** Watches of a whole cluster, not started, and how often they told of a change. */
class WatchesScene implements AsyncDisposable {
  readonly gateway: ApiGateway;
  readonly watches: Watches;
  readonly client: ReturnType<typeof clientOf>;
  /** Whether all was known at each change. */
  readonly changes: boolean[] = [];
  /** Of the ServiceCIDRs' store. */
  updates = 0;

  private constructor(gateway: ApiGateway, kubeconfig: string, objectBounds: ObjectBounds) {
    this.gateway = gateway;
    this.client = clientOf(kubeconfig);
    this.watches = new Watches({
      client: this.client,
      log: recordingLog().log,
      watchNamespaces: null,
      namespace: "default",
      secrets: { mode: "named", bounds: { count: 1000, bytes: 8 << 20 } },
      nodeAddresses: true,
      configMap: null,
      gateway: false,
      objectBounds,
      timing: FAST,
    });
  }

  static async create(
    cluster: TestCluster,
    objectBounds = DEFAULT_OBJECT_BOUNDS,
  ): Promise<WatchesScene> {
    const gateway = await startGateway(cluster);
    return new WatchesScene(gateway, await gateway.kubeconfigFor(cluster.adminToken), objectBounds);
  }

  /** Starts; changes and updates are counted from when all is listed. */
  async started(): Promise<void> {
    const { watches } = this;
    watches.start();
    await eventually("lists of all kinds", () => watches.areKnown && watches.unlisted.length === 0);
    watches.onChange(() => void this.changes.push(watches.areKnown));
    watches.informer("serviceCidrs").store.onUpdate(() => this.updates++);
  }

  /** Requests about ServiceCIDRs. */
  get requests() {
    return this.gateway.recorded(OF_CIDRS);
  }

  get openWatches(): string[] {
    return this.gateway.recorded({ verb: "watch" }).filter(({ isOpen }) => isOpen)
      .map(({ resource }) => resource).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.watches.stop();
    this.client.close();
    await this.gateway.close();
  }
}

clusterTest(
  "a stopped kind has no objects, by one change, and is no longer watched",
  async (cluster) => {
    await using scene = await WatchesScene.create(cluster);
    const { watches } = scene;
    await scene.started();
    await eventually(
      "all watches",
      () => watches.stats().every(({ stats }) => stats.state === "watching"),
    );
    ok((watches.resources().serviceCidrs?.length ?? 0) > 0);
    const before = scene.openWatches;
    const count = scene.requests.length;
    scene.changes.length = 0;
    const stopped = watches.stopKind("serviceCidrs");
    // At once, and not only when the watch has ended.
    deepEqual(scene.changes, [true]);
    equal(watches.resources().serviceCidrs, null);
    equal(watches.informer("serviceCidrs").store.size, 0);
    deepEqual(watches.unlisted, []);
    await stopped;
    await eventually("end of the watch", () => !scene.openWatches.includes("servicecidrs"));
    const others = before.filter((plural) => plural !== "servicecidrs");
    for (const plural of others) ok(scene.openWatches.includes(plural), plural);
    equal(scene.requests.length, count);
    deepEqual(scene.changes, [true]);
    equal(
      watches.stats().find(({ resource }) => resource === "servicecidrs")?.stats.state,
      "stopped",
    );
  },
);

clusterTest(
  "a restarted kind is listed again, and nothing waits for it",
  async (cluster) => {
    await using scene = await WatchesScene.create(cluster);
    const { watches } = scene;
    await scene.started();
    await watches.stopKind("serviceCidrs");
    await cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "ServiceCIDR",
      metadata: { name: "while-stopped" },
      spec: { cidrs: ["10.99.0.0/16"] },
    });
    scene.changes.length = 0;
    const released = Promise.withResolvers<void>();
    const held = scene.gateway.inject({ ...OF_CIDRS, verb: "list" }, heldUntil(released.promise));
    watches.startKind("serviceCidrs");
    watches.startKind("serviceCidrs");
    await eventually("a list", () => held.hits > 0);
    // Readiness and translations go on without it until all of it is there.
    equal(watches.areKnown, true);
    equal(watches.resources().serviceCidrs, null);
    deepEqual(watches.unlisted, ["servicecidrs"]);
    released.resolve();
    await eventually("the list", () => watches.unlisted.length === 0);
    const names = (watches.resources().serviceCidrs as readonly KubeObject[])
      .map(({ metadata }) => metadata.name).sort();
    deepEqual(names, ["kubernetes", "while-stopped"]);
    deepEqual(scene.changes, [true]);
    equal(held.hits, 1);
    await cluster.delete("networking.k8s.io/v1", "ServiceCIDR", "while-stopped");
    await eventually("what is deleted then", () => watches.resources().serviceCidrs?.length === 1);
    // Also where the watch of before has not ended yet.
    const ended = watches.stopKind("serviceCidrs");
    watches.startKind("serviceCidrs");
    equal(watches.resources().serviceCidrs, null);
    await ended;
    await eventually("one more list", () => watches.resources().serviceCidrs?.length === 1);
  },
);

clusterTest(
  "a kind with a missing API is not requested any more once it is stopped",
  async (cluster) => {
    await using scene = await WatchesScene.create(cluster);
    const { watches } = scene;
    const missing = scene.gateway.inject(OF_CIDRS, failure(404, "NotFound"));
    watches.start();
    await eventually("the other kinds", () => watches.areKnown);
    await eventually("the others' lists", () => watches.unlisted.join() === "servicecidrs");
    equal(watches.resources().serviceCidrs, null);
    await watches.stopKind("serviceCidrs");
    deepEqual(watches.unlisted, []);
    deepEqual(watches.informer("serviceCidrs").failures, []);
    const { hits } = missing;
    missing.remove();
    // Longer than any pause of the informer would have lasted: other kinds are watched anew meanwhile.
    const from = scene.gateway.requests.length;
    await eventually(
      "watches that begin anew",
      () => scene.gateway.recorded({ verb: "watch", resource: "ingresses" }, from).length > 1,
    );
    equal(missing.hits, hits);
    deepEqual(scene.gateway.recorded(OF_CIDRS, from), []);
    watches.startKind("serviceCidrs");
    await eventually("its list", () => (watches.resources().serviceCidrs?.length ?? 0) > 0);
  },
);

clusterTest(
  "an address added to a node is a change, its heartbeat is not",
  async (cluster) => {
    await using scene = await WatchesScene.create(cluster);
    const { watches } = scene;
    await scene.started();
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "late" } };
    const write = (lastHeartbeatTime: string) => {
      const addresses = [{ type: "InternalIP", address: "192.0.2.8" }];
      const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime }];
      const status = { addresses, conditions };
      return cluster.apply({ ...node, status }, { subresource: "status" });
    };
    const seen = () => watches.resources().nodes as readonly KubeObject[];
    await cluster.create(node);
    await eventually("the node", () => seen().length === 1);
    scene.changes.length = 0;
    await write("2026-01-01T00:00:00Z");
    await eventually("its address", () => JSON.stringify(seen()).includes("192.0.2.8"));
    deepEqual(scene.changes, [true]);
    await write("2026-01-01T00:00:10Z");
    // Comes behind the heartbeat.
    await cluster.delete("v1", "Node", "late");
    await eventually("its end", () => seen().length === 0);
    deepEqual(scene.changes, [true, true]);
  },
);

clusterTest(
  "deleted objects that only a failed list has shown take no room of their namespace",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    const large = (name: string) => ({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name, namespace },
      spec: {
        rules: Array.from({ length: 15 }, (_, i) => ({
          host: `${i}.${name}.${"x".repeat(50)}.example.com`,
          http: {
            paths: [{
              path: "/",
              pathType: "Prefix",
              backend: { service: { name: "web", port: { number: 80 } } },
            }],
          },
        })),
      },
    });
    for (const name of ["old-a", "old-b"]) await cluster.create(large(name));
    await using scene = await WatchesScene.create(cluster, {
      ...DEFAULT_OBJECT_BOUNDS,
      namespaceBytes: 8192,
    });
    const { watches, gateway } = scene;
    const ofList = { verb: "list", resource: "ingresses" } as const;
    // Two pages, of which the second does not come.
    const failing = gateway.inject(ofList, async (request, forward) => {
      if (request.query.has("continue")) {
        return Response.json({ code: 500, reason: "InternalError" }, { status: 500 });
      }
      const list = await (await forward()).json();
      return Response.json({ ...list, metadata: { ...list.metadata, continue: "second" } });
    });
    watches.start();
    await eventually("a list that fails", () => failing.hits >= 2);
    for (const name of ["old-a", "old-b"]) {
      await cluster.delete("networking.k8s.io/v1", "Ingress", name, namespace);
    }
    failing.remove();
    await eventually("all lists", () => watches.areKnown);
    for (const name of ["new-a", "new-b"]) await cluster.create(large(name));
    const { store } = watches.informer("ingresses");
    const stored = await eventually("new Ingresses", () => {
      const found = store.list().filter(({ metadata }) => metadata.namespace === namespace);
      return found.length === 2 ? found : null;
    });
    deepEqual(stored.map(excessOf), [null, null]);
  },
);
