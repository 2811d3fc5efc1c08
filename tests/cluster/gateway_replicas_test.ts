/**
 * Two replicas of the controller that do not see the same of Gateway API: one is late, or its CRDs come and
 * go. Published routes of Gateways are never older than before, and Ingresses do not wait for them.
 */
import assert from "node:assert/strict";
import { compareVersions } from "../../shared/snapshot/version_order.ts";
import type { SnapshotVersion } from "../../shared/snapshot/types.ts";
import { clusterTest } from "./support/cluster_case.ts";
import type { TestCluster } from "./support/cluster.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import { failure, heldUntil } from "./support/gateway_answers.ts";
import { applyOfCrd, gatewayCrd, installCrd, removeCrd } from "./support/gateway_crds.ts";
import { V1 } from "./support/gateway_status_scene.ts";
import { type Replica, Replicas } from "./support/replicas.ts";
import { connectProxy } from "./support/stream_scene.ts";
import { gatewayClass, gatewayOf } from "./support/gateway_objects.ts";

const ROUTES = gatewayCrd("HTTPRoute", ["v1"]);
const CRDS = [gatewayCrd("GatewayClass", ["v1"]), gatewayCrd("Gateway", ["v1"]), ROUTES];

/** Milliseconds; a kind must have been missing for ten seconds. */
const DISCOVERY_PATIENCE = 60_000;

/** Two replicas that have published one route of a Gateway, `first`. */
class Pair implements AsyncDisposable {
  private constructor(readonly scene: ControllerScene, readonly replicas: Replicas) {}

  static async start(cluster: TestCluster): Promise<Pair> {
    for (const crd of CRDS) await installCrd(cluster, crd);
    const scene = await ControllerScene.prepare(cluster, {
      args: [...FAST_ELECTION, "--service-type=ClusterIP"],
    });
    const pair = new Pair(scene, await Replicas.prepare(scene, 2));
    try {
      await applyOfCrd(cluster, gatewayClass());
      await applyOfCrd(cluster, gatewayOf(), scene.app);
      await scene.service("web");
      await pair.route("first");
      await Promise.all(pair.replicas.all.map((replica) => replica.start()));
      await pair.publishes("first");
      return pair;
    } catch (error) {
      await pair[Symbol.asyncDispose]();
      throw error;
    }
  }

  otherThan(replica: Replica): Replica {
    return this.replicas.all.find((one) => one !== replica)!;
  }

  /** A route of one host. */
  async route(name: string): Promise<void> {
    await applyOfCrd(this.scene.cluster, {
      apiVersion: V1,
      kind: "HTTPRoute",
      metadata: { name },
      spec: {
        parentRefs: [{ name: "web" }],
        hostnames: [`${name}.example.com`],
        rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
      },
    }, this.scene.app);
  }

  /** Hosts of the published routes, sorted. */
  async hosts(): Promise<string[]> {
    const { routes } = (await this.scene.published()) ?? { routes: [] };
    return [...new Set(routes.map(({ host }) => host.split(".")[0]))].sort();
  }

  async publishes(...names: readonly string[]): Promise<void> {
    await eventually(
      `hosts ${names.join()}`,
      async () => (await this.hosts()).join() === names.join(),
      DISCOVERY_PATIENCE,
    );
  }

  async seen(kind: string): Promise<bigint> {
    return BigInt((await this.scene.whole()).version.seen[kind]);
  }

  /** Waits until all show the routes that are published. */
  async alike(): Promise<void> {
    await eventually("equal snapshots", async () => {
      const published = (await this.scene.published())?.routes.map(({ id }) => id);
      const shown = await Promise.all(
        this.replicas.running.map((process) => process.admin("/snapshot")),
      );
      return shown.every(({ status, text }) =>
        status === 200 &&
        JSON.stringify(JSON.parse(text).routes.map(({ id }: { id: string }) => id)) ===
          JSON.stringify(published)
      );
    }, DISCOVERY_PATIENCE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.replicas[Symbol.asyncDispose]();
    await this.scene[Symbol.asyncDispose]();
    const { cluster } = this.scene;
    await cluster.request(
      "PATCH",
      await cluster.pathOf(V1, "GatewayClass", "pingress"),
      { metadata: { finalizers: null } },
      "application/merge-patch+json",
    );
    for (const crd of CRDS) await removeCrd(cluster, crd);
  }
}

clusterTest(
  "a replica that is late in HTTPRoutes serves the published ones, and publishes Ingresses",
  async (cluster) => {
    await using pair = await Pair.start(cluster);
    const { scene, replicas } = pair;
    const leader = await replicas.leader();
    const other = pair.otherThan(leader);
    await pair.alike();
    const mute = Promise.withResolvers<void>();
    const call = { verb: "watch", resource: "httproutes" } as const;
    const watch = other.gateway.inject(call, heldUntil(mute.promise));
    other.gateway.endStreams(call);
    await eventually("held watch", () => watch.hits > 0, 120_000);
    // Before, it may be listing, and would not watch without an answer.
    const lists = other.gateway.inject({ verb: "list", resource: "httproutes" }, failure(500));
    const process = other.process!;
    const line = process.lines.length;
    await pair.route("unseen");
    await pair.publishes("first", "unseen");
    const published = await pair.seen("HTTPRoute");
    // It may have been listing since its start, and then logs no second time that it does.
    const failures = lists.hits;
    await eventually("list of HTTPRoutes", () => lists.hits > failures, 60_000);
    {
      await using proxy = await connectProxy(scene, {}, process);
      const { version, hosts } = await proxy.line("snapshot") as unknown as {
        readonly version: SnapshotVersion;
        readonly hosts: readonly { readonly host: string }[];
      };
      assert.ok(hosts.some(({ host }) => host === "unseen.example.com"));
      assert.ok(BigInt(version.seen.HTTPRoute) >= published);
    }
    await leader.kill();
    await process.line("Leading", line);
    await scene.ingress("shop");
    await pair.publishes("first", "shop", "unseen");
    assert.ok(await pair.seen("HTTPRoute") >= published);
    // What a late replica deletes and makes is not known before it is listed.
    await scene.remove("HTTPRoute", "first", V1);
    await scene.ingress("later");
    await pair.publishes("first", "later", "shop", "unseen");
    lists.remove();
    await pair.publishes("later", "shop", "unseen");
    watch.remove();
    mute.resolve();
    await leader.spawn();
    await Promise.all(replicas.running.map((each) => each.ready()));
    await pair.alike();
    assert.deepEqual(await replicas.violations(), []);
    assert.deepEqual(replicas.steps(), []);
  },
);

clusterTest(
  "a kind whose CRD is removed and installed again is never older, and blocks no Ingress",
  async (cluster) => {
    await using pair = await Pair.start(cluster);
    const { scene, replicas } = pair;
    const before = (await scene.whole()).version;
    await removeCrd(cluster, ROUTES);
    await scene.ingress("shop");
    await pair.publishes("shop");
    const without = (await scene.whole()).version;
    assert.ok(BigInt(without.seen.HTTPRoute) >= BigInt(before.seen.HTTPRoute));
    assert.equal(compareVersions(without, before), "newer");
    await pair.alike();
    const leader = await replicas.leader();
    await leader.kill();
    await pair.otherThan(leader).process!.line("Leading");
    // It has never listed the kind.
    await leader.start();
    await scene.ingress("second");
    await pair.publishes("second", "shop");
    await pair.alike();
    await pair.otherThan(leader).kill();
    await eventually("its lease", async () => await replicas.leader() === leader);
    await scene.ingress("third");
    await pair.publishes("second", "shop", "third");
    assert.ok(await pair.seen("HTTPRoute") >= BigInt(without.seen.HTTPRoute));
    await installCrd(cluster, ROUTES);
    await pair.route("again");
    await pair.publishes("again", "second", "shop", "third");
    assert.ok(await pair.seen("HTTPRoute") > BigInt(without.seen.HTTPRoute));
    await pair.otherThan(leader).start();
    await pair.alike();
    assert.deepEqual(await replicas.violations(), []);
    assert.deepEqual(replicas.steps(), []);
  },
);
