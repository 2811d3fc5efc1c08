/**
 * Three replicas that are started, killed and frozen while users change their Ingresses: only the
 * leader writes, and in the end everything is as if nothing had happened.
 *
 * PINGRESS_FULL=1: two minutes of it, with the default timings of the lease.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import { IS_FULL } from "./support/fault_scene.ts";
import { ownEvents } from "./support/own_events.ts";
import { type Replica, Replicas } from "./support/replicas.ts";

/** How long replicas come and go, in ms. */
const TIME = IS_FULL ? 120_000 : 20_000;

const ADDRESS = "192.0.2.10";

interface Event extends KubeObject {
  readonly reason: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

clusterTest("replicas that start and stop leave everything correct", async (cluster) => {
  await using scene = await ControllerScene.prepare(cluster, {
    args: [`--publish-address=${ADDRESS}`, ...(IS_FULL ? [] : FAST_ELECTION)],
  });
  await using replicas = await Replicas.prepare(scene, 3);
  await scene.service("web");
  await scene.ingress("first");
  await scene.ingress("broken", { rules: [rule("broken.example.com", "/", "missing")] });
  await Promise.all(replicas.all.map((replica) => replica.start()));
  const { loopMark } = await eventually("a configuration", () => scene.published());
  assert.match(loopMark ?? "", /^pingress-[0-9a-f]{16}$/);
  // One change of leaders is no matter of chance.
  await (await replicas.leader()).kill();
  await eventually("another leader", () => replicas.terms > 1);
  const stop = new AbortController();
  const told: string[] = [];
  const [hosts] = await Promise.all([
    useIngresses(scene, stop.signal),
    disturb(replicas.all, stop.signal, (what) => told.push(what)),
    sleep(TIME).then(() => stop.abort()),
  ]);
  for (const replica of replicas.all) {
    replica.resume();
    if (replica.process === null) await replica.spawn();
  }
  await Promise.all(replicas.running.map((process) => process.ready()));

  const wanted = [...hosts.values(), "first.example.com", "broken.example.com"].sort();
  const isEqual = (routes: readonly { readonly host: string }[]) =>
    JSON.stringify(routes.map(({ host }) => host).sort()) === JSON.stringify(wanted);
  await eventually("exact routes", async () => isEqual((await scene.published())?.routes ?? []));
  await eventually("exact statuses", async () => {
    const ingresses = await cluster.list("networking.k8s.io/v1", "Ingress", {
      namespace: scene.app,
    });
    return ingresses.length === wanted.length &&
      ingresses.every(({ metadata: { name }, status }) =>
        JSON.stringify((status as Status).loadBalancer) ===
          // It reaches no backend.
          JSON.stringify(name === "broken" ? {} : { ingress: [{ ip: ADDRESS }] })
      );
  });
  const events = await eventually("Events", async () => {
    const all = await ownEvents<Event>(cluster, scene.app);
    return all.length > 0 ? all : null;
  });
  assert.deepEqual(
    events.map(({ reason, involvedObject: { kind, name } }) => `${reason} of ${kind} ${name}`),
    ["ServiceNotFound of Ingress broken"],
  );

  await eventually("equal snapshots", async () => {
    const shown = await Promise.all(replicas.running.map((process) => process.admin("/snapshot")));
    const contents = shown.map(({ text }) => JSON.stringify({ ...JSON.parse(text), version: 0 }));
    return new Set(contents).size === 1;
  });
  assert.equal((await scene.whole()).loopMark, loopMark, "not the first leader's loop mark");
  assert.deepEqual(await replicas.violations(), []);
  assert.deepEqual(replicas.steps(), []);
  for (const process of replicas.running) assert.deepEqual(process.noise, []);
  console.log(
    `${told.length} disturbances, ${replicas.terms} terms, ${replicas.writes.length} writes by ` +
      `${new Set(replicas.writes.map(({ replica }) => replica)).size} replicas, none without the ` +
      `lease; ${wanted.length} routes`,
  );
});

interface Status {
  readonly loadBalancer: unknown;
}

/** Makes, changes and deletes Ingresses. Out: hosts by name, as they are in the end. */
async function useIngresses(
  scene: ControllerScene,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const hosts = new Map<string, string>();
  for (let i = 0; !signal.aborted; i++) {
    const name = `app-${Math.floor(Math.random() * 10)}`;
    if (hosts.has(name) && Math.random() < 0.3) {
      await scene.remove("Ingress", name);
      hosts.delete(name);
    } else {
      const host = `host-${i}.example.com`;
      await scene.ingress(name, { rules: [rule(host, "/", "web")] });
      hosts.set(name, host);
    }
    await sleep(Math.random() * 600);
  }
  return hosts;
}

/** Starts, kills, stops and freezes replicas at random. */
async function disturb(
  replicas: readonly Replica[],
  signal: AbortSignal,
  tell: (what: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(Math.random() * 1500, undefined, { signal }).catch(() => {});
    const replica = replicas[Math.floor(Math.random() * replicas.length)];
    const luck = Math.random();
    replica.assertAlive();
    if (replica.process === null) {
      tell(`start ${replica.name}`);
      await replica.spawn();
    } else if (replica.isPaused) {
      tell(`resume ${replica.name}`);
      replica.resume();
    } else if (luck < 0.5) {
      tell(`pause ${replica.name}`);
      replica.pause();
    } else if (luck < 0.8) {
      tell(`kill ${replica.name}`);
      await replica.kill();
    } else {
      tell(`stop ${replica.name}`);
      await replica.stop();
    }
  }
}
