/**
 * The lease goes from one replica to another: in order, by a crash in the middle of a write, by a
 * freeze. Published is always what users wrote, and never an older version.
 *
 * PINGRESS_FULL=1: twenty crashes in place of four.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import { IS_FULL } from "./support/fault_scene.ts";
import { failure, heldUntil } from "./support/gateway_answers.ts";
import { type Replica, Replicas } from "./support/replicas.ts";

const CRASHES = IS_FULL ? 20 : 4;
const STOPS = IS_FULL ? 10 : 2;

clusterTest("a leader that is stopped hands over at once", async (cluster) => {
  await using pair = await Pair.start(cluster, []);
  const { scene, replicas } = pair;
  const took: number[] = [];
  for (let i = 0; i < STOPS; i++) {
    const leader = await replicas.leader();
    const other = pair.otherThan(leader);
    const from = replicas.writes.length;
    const stopping = leader.stop();
    await scene.ingress(`stop-${i}`);
    await stopping;
    await scene.eventuallyPublished(
      `stop-${i}`,
      ({ routes }) => routes.some(({ host }) => host === `stop-${i}.example.com`),
    );
    const released = replicas.renewals.findLast(({ replica }) => replica === null)!;
    const written = replicas.writes.slice(from).find(({ replica, version }) =>
      replica === other.name && version !== null
    );
    // The leader itself may still have been fast enough.
    if (written !== undefined) took.push(written.time - released.time);
    // A lease that was left to expire would have taken 15 s.
    assert.ok(took.every((ms) => ms < 10_000), `${took} ms`);
    await leader.start();
  }
  console.log(`from the release of the lease until another has published: ${took.join(", ")} ms`);
  assert.deepEqual(await replicas.violations(), []);
  assert.deepEqual(replicas.steps(), []);
});

clusterTest("a leader that dies during a write leaves nothing incomplete", async (cluster) => {
  await using pair = await Pair.start(cluster, FAST_ELECTION);
  const { scene, replicas } = pair;
  await scene.tlsSecret("web-tls", await newCertificate(cluster));
  await scene.ingress("shop", {
    rules: [rule("app.example.com", "/", "web")],
    tls: [{ hosts: ["app.example.com"], secretName: "web-tls" }],
  });
  await scene.eventuallyPublished("certificate", ({ certificates }) => certificates.length === 1);
  let late = 0;
  for (let i = 0; i < CRASHES; i++) {
    const resource = i % 2 === 0 ? "secrets" : "configmaps";
    const when = (["before", "after", "too late"] as const)[i % 3];
    await pair.ready();
    const leader = await replicas.leader();
    const held = replicas.hold(leader, resource, when === "after" ? "after" : "before");
    const host = `crash-${i}.example.com`;
    const certificate = await newCertificate(cluster);
    await scene.tlsSecret("web-tls", certificate);
    await scene.ingress(`crash-${i}`);
    await eventually(`held write of ${resource}`, () => held.isReached);
    await leader.kill();
    // A request that the network has kept for longer than the lease lasts.
    if (when !== "too late") held.release();
    const published = await scene.eventuallyPublished(
      host,
      ({ routes, certificates: [{ chain }] }) =>
        routes.some((route) => route.host === host) && chain.kind === "pem" &&
        chain.pem === certificate["tls.crt"],
    );
    assert.equal(published.routes.length, i + 2);
    if (when === "too late") {
      held.release();
      await eventually("answer to what came late", () => held.status !== null);
      assert.equal(held.status, 409, `${resource} ${host}`);
      late++;
      assert.deepEqual((await scene.whole()).routes, published.routes);
    }
    await leader.spawn();
  }
  await pair.ready();
  await pair.alike();
  assert.ok(late > 0);
  assert.deepEqual(await replicas.violations(), []);
  assert.deepEqual(replicas.steps(), []);
  console.log(`${CRASHES} crashes, ${late} writes that came too late and were refused`);
});

for (const when of ["after", "before"] as const) {
  const name =
    `a first configuration that comes too late does not stay, nor ${when} the answer to its successor`;
  clusterTest(name, async (cluster) => {
    const args = [...FAST_ELECTION, "--endpoint-interval=10m"];
    await using scene = await ControllerScene.prepare(cluster, { args });
    await using replicas = await Replicas.prepare(scene, 2);
    await Promise.all(replicas.all.map((replica) => replica.start()));
    const leader = await replicas.leader();
    const other = replicas.all.find((one) => one !== leader)!;
    const held = replicas.hold(leader, "configmaps", "before");
    const answer = when === "before" ? replicas.hold(other, "configmaps", "after") : null;
    await scene.service("web");
    await scene.ingress("one");
    await eventually("held write", () => held.isReached);
    await leader.kill();
    await scene.ingress("two");
    const hasBoth = async () => (await scene.published())?.routes.length === 2;
    await eventually("two routes", hasBoth);
    const translations = () =>
      other.process!.metric("pingress_controller_reconcile_duration_seconds_count");
    // The leader also looks at what the watch tells of its own writes.
    let before = await translations();
    await eventually("rest", async () => {
      await sleep(500);
      return before === (before = await translations());
    });
    held.release();
    await eventually("answer to what came late", () => held.status !== null);
    // There was no version to name, so the API server takes it, and the new leader puts its own back.
    assert.equal(held.status, 200);
    await eventually("look at what came late", async () => await translations() !== before);
    answer?.release();
    await eventually("two routes again", hasBoth);
  });
}

clusterTest("if a configuration is published, a missing lease is waited for", async (cluster) => {
  await using pair = await Pair.start(cluster, FAST_ELECTION);
  const { scene, replicas } = pair;
  await scene.ingress("before");
  await scene.eventuallyRouted("before.example.com");
  await Promise.all(replicas.all.map((replica) => replica.stop()));
  await cluster.delete("coordination.k8s.io/v1", "Lease", "pingress-controller", scene.system);
  const [one] = replicas.all;
  const process = await one.start();
  await process.line("The lease is missing, waiting in case its last holder still leads");
  await scene.ingress("after");
  await scene.eventuallyRouted("after.example.com");
  assert.equal(await replicas.leader(), one);
});

clusterTest("an older configuration that somebody restores does not stay", async (cluster) => {
  // However long endpoints may wait.
  await using scene = await ControllerScene.start(cluster, { args: ["--endpoint-interval=10m"] });
  await scene.service("web");
  await scene.ingress("old");
  await scene.eventuallyRouted("old.example.com");
  const read = () => cluster.get("v1", "ConfigMap", "pingress-config-v2", scene.system);
  const { data, binaryData } = (await read())!;
  await scene.ingress("new");
  await scene.eventuallyRouted("new.example.com");
  await cluster.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "pingress-config-v2" },
    data,
    binaryData,
  } as Partial<KubeObject>, { namespace: scene.system, fieldManager: "somebody" });
  await scene.eventuallyRouted("new.example.com");
});

clusterTest("a leader that was suspended writes nothing when it resumes", async (cluster) => {
  await using pair = await Pair.start(cluster, FAST_ELECTION);
  const { scene, replicas } = pair;
  const leader = await replicas.leader();
  leader.pause();
  const writesOf = () => replicas.writes.filter(({ replica }) => replica === leader.name).length;
  await scene.ingress("meanwhile");
  await scene.eventuallyRouted("meanwhile.example.com");
  // What was on its way when it was frozen has arrived by now.
  const before = writesOf();
  const from = leader.process!.lines.length;
  leader.resume();
  await leader.process!.line("Not leading any more", from);
  await leader.process!.line("Another replica leads", from);
  await scene.ingress("later");
  await scene.eventuallyRouted("later.example.com");
  await pair.alike();
  assert.equal(writesOf(), before);
  assert.deepEqual(await replicas.violations(), []);
  assert.deepEqual(replicas.steps(), []);
});

clusterTest("a leader that has seen less than the last one lists again", async (cluster) => {
  await using pair = await Pair.start(cluster, FAST_ELECTION);
  const { scene, replicas } = pair;
  const leader = await replicas.leader();
  const other = pair.otherThan(leader);
  const mute = Promise.withResolvers<void>();
  // Its watch is held by a server that is slower than all others, and its lists fail for a while.
  const watch = other.gateway.inject(
    { verb: "watch", resource: "ingresses" },
    heldUntil(mute.promise),
  );
  const lists = other.gateway.inject({ verb: "list", resource: "ingresses" }, failure(500));
  other.gateway.endStreams({ verb: "watch", resource: "ingresses" });
  await eventually("held watch", () => watch.hits > 0);
  const process = other.process!;
  const line = process.lines.length;
  const request = other.gateway.requests.length;
  await scene.ingress("unseen");
  await scene.eventuallyRouted("unseen.example.com");
  await process.line(isCatchUp, line);
  await leader.kill();
  await process.line("Leading", line);
  const published = await scene.indexVersion();
  await sleep(IS_FULL ? 60_000 : 6_000);
  assert.equal(await scene.indexVersion(), published, "written without having seen enough");
  const tries = other.gateway.recorded({ verb: "list", resource: "ingresses" }, request).length;
  lists.remove();
  const removed = performance.now();
  // What an Ingress says is known from the list; the watch is still held.
  await scene.service("web", ["10.0.0.9"]);
  await scene.eventuallyPublished(
    "endpoint beside the route that was not seen",
    ({ routes, upstreams }) =>
      JSON.stringify(upstreams).includes("10.0.0.9") &&
      routes.some(({ host }) => host === "unseen.example.com"),
  );
  console.log(
    `${tries} lists while they failed; published ${Math.round(performance.now() - removed)} ms ` +
      "after they did not",
  );
  assert.ok(process.lines.slice(line).filter(isCatchUp).length <= 2, "said again and again");
  assert.ok(tries <= 6 + (IS_FULL ? 4 : 0), `${tries} lists that fail`);
  watch.remove();
  mute.resolve();
  await leader.spawn();
  await pair.ready();
  await pair.alike();
  assert.deepEqual(await replicas.violations(), []);
  assert.deepEqual(replicas.steps(), []);
});

function isCatchUp({ message, kind }: Readonly<Record<string, unknown>>): boolean {
  return message === "Listing again to catch up with another replica" && kind === "Ingress";
}

/** With a key of its own, for which a Secret has to be written. */
async function newCertificate(cluster: TestCluster) {
  const { chain, key } = await cluster.authority.issue({ names: ["app.example.com"] });
  return { "tls.crt": chain, "tls.key": key.reveal() };
}

/** Two replicas that have published one route, `shop`. */
class Pair {
  private constructor(readonly scene: ControllerScene, readonly replicas: Replicas) {}

  static async start(cluster: TestCluster, args: readonly string[]): Promise<Pair> {
    const scene = await ControllerScene.prepare(cluster, { args });
    const replicas = await Replicas.prepare(scene, 2);
    const pair = new Pair(scene, replicas);
    try {
      await scene.service("web");
      await scene.ingress("shop");
      await Promise.all(replicas.all.map((replica) => replica.start()));
      await scene.eventuallyRouted("shop.example.com");
      return pair;
    } catch (error) {
      await pair[Symbol.asyncDispose]();
      throw error;
    }
  }

  otherThan(replica: Replica): Replica {
    return this.replicas.all.find((one) => one !== replica)!;
  }

  async ready(): Promise<void> {
    await Promise.all(this.replicas.running.map((process) => process.ready()));
  }

  /** Waits until all show the same but for the version, and that is what is published. */
  async alike(): Promise<void> {
    await eventually("equal snapshots", async () => {
      const published = (await this.scene.published())?.routes.map(({ id }) => id);
      const shown = await Promise.all(
        this.replicas.running.map((process) => process.admin("/snapshot")),
      );
      const snapshots = shown.map(({ text }) => ({ ...JSON.parse(text), version: null }));
      return new Set(snapshots.map((one) => JSON.stringify(one))).size === 1 &&
        JSON.stringify(snapshots[0].routes.map(({ id }: { id: string }) => id)) ===
          JSON.stringify(published);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.replicas[Symbol.asyncDispose]();
    await this.scene[Symbol.asyncDispose]();
  }
}
