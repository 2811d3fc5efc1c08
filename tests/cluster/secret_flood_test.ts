/** A tenant that names more and larger Secrets than the controller can hold: nobody else notices, also at a start. */
import assert from "node:assert/strict";
import { memoryOf } from "../../bench/controller/process_usage.ts";
import { MemoryCgroup } from "../support/memory_cgroup.ts";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { PATIENCE } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";

const MIB = 1024 * 1024;

/**
 * For a controller to be ready, in ms: it reads 330 MB of Secrets first, and on a host half as fast as others took
 * over 30 s for them.
 */
const START_PATIENCE = 4 * PATIENCE;

/** Of the container in manifests/. */
const LIMIT = 512 * MIB;

/** Secrets of each size. */
const COUNT = 150;

/** Values that nobody reads, that are too large, and that are as large as they may be. */
const VALUES = {
  junk: { junk: btoa("x".repeat(1_000_000)) },
  oversize: { "tls.crt": btoa("x".repeat(1_000_000)) },
  large: { "tls.crt": btoa("x".repeat(200_000)) },
};

clusterTest(
  `${3 * COUNT} Secrets of up to 1 MB of one tenant leave all others served`,
  async (cluster) => {
    using group = MemoryCgroup.create(LIMIT);
    const flood = await cluster.newNamespace("flood");
    await using scene = await ControllerScene.prepare(cluster, {
      args: [`--watch-namespace=${flood}`],
    });
    await scene.service("web", []);
    const tls: object[] = [];
    for (const [kind, data] of Object.entries(VALUES)) {
      for (let i = 0; i < COUNT; i++) {
        const metadata = { namespace: flood, name: `${kind}-${i}` };
        const secret = { apiVersion: "v1", kind: "Secret", metadata, data };
        await cluster.create(secret as Partial<KubeObject>);
        tls.push({ hosts: [`${metadata.name}.example.com`], secretName: metadata.name });
      }
    }
    const start = async () => {
      const controller = await scene.spawnController();
      group?.add(controller.pid);
      await controller.ready(START_PATIENCE);
    };
    const published = async (host: string) => {
      await scene.ingress("changing", { rules: [rule(host, "/", "web")] });
      await scene.eventuallyPublished(
        host,
        ({ routes }) => routes.some((route) => route.host === host),
      );
    };
    await start();
    await cluster.create({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "huge", namespace: flood },
      spec: { ingressClassName: "pingress", tls, rules: [{ host: "huge.example.com" }] },
    } as Partial<KubeObject>);
    await published("before.example.com");
    const peaks = [memoryOf(scene.controller.pid).peak];

    await scene.controller.stop();
    await start();
    await published("after.example.com");
    peaks.push(memoryOf(scene.controller.pid).peak);
    const problems = await scene.problems();
    const ofHuge = problems.filter(({ object }) => object === `Ingress ${flood}/huge`)
      .map(({ message }) => message).join("\n");
    assert.match(ofHuge, /tls\.crt is too large: it has more than 204800 bytes/);
    assert.match(ofHuge, /the Secrets that the namespace references have more than 8388608 bytes/);
    console.log(`peaks of controllers in MiB: ${peaks.map((peak) => Math.round(peak / MIB))}`);
    for (const peak of peaks) assert.ok(peak < LIMIT, `controller: ${peak}`);
    assert.equal(group?.kills ?? 0, 0);
  },
);
