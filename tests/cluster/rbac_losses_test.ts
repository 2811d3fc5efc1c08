/**
 * Each right of `manifests/hostport.yaml`, taken away from a controller that runs: it fails visibly,
 * names the right, and goes on when it has it again.
 */
import { deepEqual, equal } from "node:assert/strict";
import type { ControllerProcess } from "./support/controller_process.ts";
import { eventually } from "./support/condition.ts";
import { gone } from "./support/gateway_answers.ts";
import { rollOut } from "./support/installation.ts";
import { NAMESPACE, OLD_SECRET, PROXY } from "./support/predecessor.ts";
import { Losses } from "./support/rbac_losses.ts";
import { connectProxy } from "./support/stream_scene.ts";
import {
  HOST_PORT_ARGS,
  LOAD_BALANCER_ARGS,
  LOAD_BALANCER_KINDS,
  RbacScene,
} from "./support/rbac_scene.ts";

const PLURALS = LOAD_BALANCER_KINDS.map(([, , plural]) => plural);

Deno.test("without any one permission the controller names it, and continues when it is restored", async (test) => {
  const scene = await RbacScene.create("rights that are taken away");
  if (scene === null) return;
  await using _ = scene;
  const { cluster, way } = scene;
  const losses = new Losses(scene);
  const { gateway } = way;
  const spoilAll = async () => {
    for (const [apiVersion, kind] of LOAD_BALANCER_KINDS) await scene.spoil(apiVersion, kind);
  };

  // Its replacement is tried last.
  await cluster.delete("apps/v1", "DaemonSet", PROXY, NAMESPACE);
  const start = [
    ...losses.pick("get", ["namespaces", "leases"]),
    ...losses.pick("create", ["leases"]),
  ];
  const toLook = [
    ...losses.pick("get", ["serviceaccounts"]),
    ...losses.pick("get", ["configmaps"]),
  ];
  const ofAuthority = (verb: string, plural: string) =>
    losses.pick(verb, [plural], "pingress-stream-ca");
  const toMake = ["secrets", "configmaps"].map((plural) => ({
    patch: ofAuthority("patch", plural),
    create: ofAuthority("create", plural),
  }));
  const all = toMake.flatMap(({ patch, create }) => [...patch, ...create]);
  await losses.take([...start, ...toLook, ...all]);
  await using first = await way.spawn(...LOAD_BALANCER_ARGS);
  await test.step("starting and leading", async () => {
    for (const grant of start) {
      await losses.missed(first, [grant]);
      await losses.giveBack([grant]);
    }
    await first.ready();
  });

  await test.step("token reviews and the stream's CA", async () => {
    for (const grant of toLook) {
      await losses.missed(first, [grant]);
      await losses.giveBack([grant]);
    }
    for (const [index, { patch, create }] of toMake.entries()) {
      const later = toMake.slice(index + 1).flatMap((one) => [...one.patch, ...one.create]);
      // To apply what is not there takes both, and the API server asks for one after the other.
      await losses.missed(first, patch);
      await losses.take([...create, ...later]);
      await losses.missed(first, create);
      await losses.giveBack(create);
    }
    const connect = (answer: number) => async () => {
      await using proxy = await connectProxy({ cluster, system: NAMESPACE, controller: first });
      equal(await proxy.answered(), answer);
    };
    await losses.lose(
      first,
      losses.pick("create", ["tokenreviews"]),
      connect(503),
      connect(200),
    );
  });

  await test.step("continuing to lead", async () => {
    await losses.lose(first, losses.pick("update", ["leases"]), () => Promise.resolve());
    for (const [apiVersion, kind] of LOAD_BALANCER_KINDS) await scene.has(apiVersion, kind);
  });

  await test.step("Deployment, Service, disruption budget and autoscaler", async () => {
    await losses.lose(first, losses.pick("create", PLURALS), async () => {
      for (const [apiVersion, kind] of LOAD_BALANCER_KINDS) {
        await cluster.delete(apiVersion, kind, PROXY, NAMESPACE);
      }
    });
    await losses.lose(first, losses.pick("get", PLURALS), spoilAll);
    // A repair that is still on its way would put right the next fault, and be allowed to.
    for (const [apiVersion, kind] of LOAD_BALANCER_KINDS) await scene.repaired(apiVersion, kind);
    await losses.lose(first, losses.pick("patch", PLURALS), spoilAll);
  });

  await test.step("publishing", async () => {
    for (
      const [kind, name, plural] of [
        ["ConfigMap", "pingress-config-v2", "configmaps"],
        ["Secret", "pingress-keys", "secrets"],
      ]
    ) {
      await losses.lose(
        first,
        losses.pick("patch", [plural], name),
        () => scene.spoil("v1", kind, name),
      );
      await losses.lose(
        first,
        losses.pick("create", [plural], name),
        () => cluster.delete("v1", kind, name, NAMESPACE),
      );
    }
    await losses.lose(first, losses.pick("get", ["secrets"]), () => scene.writeCertificate());
  });

  await test.step("status, Events and cleanup after the Rust controller", async () => {
    const status = losses.pick("patch", ["ingresses/status"]);
    await losses.lose(first, status, () => scene.giveAddress("192.0.2.3"));
    await losses.lose(first, losses.pick("create", ["events"]), () => scene.writeBad("bad"));
    const secret = losses.pick("delete", ["secrets"], OLD_SECRET);
    await losses.take(secret);
    await rollOut(cluster, "Deployment", 2);
    await losses.missed(first, secret);
    // Tried again in a minute, or by the next leader.
    await losses.take([]);
  });

  await using second = await way.start(...HOST_PORT_ARGS);
  await test.step("taking over, and a DaemonSet", async () => {
    await losses.lose(second, losses.pick("patch", ["events"]), () => first.stop());
    await scene.has("apps/v1", "DaemonSet");
    const spoil = () => scene.spoil("apps/v1", "DaemonSet");
    await losses.lose(second, losses.pick("get", ["daemonsets"]), spoil);
    await scene.repaired("apps/v1", "DaemonSet");
    await losses.lose(second, losses.pick("patch", ["daemonsets"]), spoil);
    await losses.lose(
      second,
      losses.pick("create", ["daemonsets"]),
      () => cluster.delete("apps/v1", "DaemonSet", PROXY, NAMESPACE),
    );
    await losses.lose(
      second,
      losses.pick("delete", PLURALS),
      () => rollOut(cluster, "DaemonSet", 1),
    );
    await eventually(
      "end of the old Secret",
      async () => await scene.own("v1", "Secret", OLD_SECRET) === null,
    );
  });

  await test.step("watching", async () => {
    const from = second.lines.length;
    await losses.lose(second, losses.all("watch"), () => endWatches());
    await watchedAgain(second, from);
  });

  await test.step("listing", async () => {
    // The API server has forgotten where the watches were.
    const forgotten = gateway.inject({ verb: "watch" }, gone());
    await losses.lose(second, losses.all("list"), () => endWatches(), () => {
      forgotten.remove();
      return Promise.resolve();
    });
    forgotten.remove();
  });

  await test.step("removing everything", async () => {
    const all = [
      ...losses.pick("delete", ["daemonsets"]),
      ...losses.pick("delete", ["configmaps"]),
      ...losses.pick("delete", ["secrets"], "pingress-keys"),
    ];
    await losses.take(all);
    await scene.deleteIngresses();
    for (const grant of all) {
      await losses.missed(second, [grant]);
      await losses.giveBack([grant]);
    }
  });

  await test.step("no permission was left out", async () => {
    deepEqual(losses.untried, []);
    equal(await second.stop(), 0);
  });

  function endWatches(): Promise<void> {
    gateway.endStreams({ verb: "watch" });
    return Promise.resolve();
  }

  /** Until the next failure is told of anew. */
  async function watchedAgain(controller: ControllerProcess, from: number): Promise<void> {
    const about = ({ resource, namespace }: Record<string, unknown>) => `${resource} ${namespace}`;
    const said = (message: string) =>
      controller.lines.slice(from).filter((line) => line.message === message).map(about);
    await eventually("watches", () => {
      const again = said("Watching again");
      return said("Cannot watch").every((one) => again.includes(one));
    });
  }
});
