/**
 * The rights of `manifests/hostport.yaml`: enough for all that the controller does, none that it
 * does not use.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import { eventually } from "./support/condition.ts";
import { countOf, gone, rollOut, serve } from "./support/installation.ts";
import { NAMESPACE, OLD_SECRET, PROXY } from "./support/predecessor.ts";
import { covers, grantsOf, needsOf, readRules, textOf } from "./support/rbac.ts";
import {
  HOST_PORT_ARGS,
  LOAD_BALANCER_ARGS,
  LOAD_BALANCER_KINDS,
  RbacScene,
} from "./support/rbac_scene.ts";
import { connectProxy } from "./support/stream_scene.ts";

/** For all namespaces, and for one. */
const FILES = ["hostport.yaml", "namespaced/rights.yaml"];

Deno.test("no permission is granted twice", async () => {
  for (const file of FILES) {
    const grants = grantsOf(await readRules(file));
    const twice = grants.filter((grant, i) =>
      grants.some((other, j) =>
        i !== j && other.group === grant.group && other.resource === grant.resource &&
        other.verb === grant.verb &&
        (other.namespace === null || other.namespace === grant.namespace) &&
        (other.names === null || grant.names?.some((name) => other.names!.includes(name)))
      )
    );
    deepEqual(twice.map(textOf), [], file);
  }
});

Deno.test("no permission is a wildcard, or allows privilege escalation", async () => {
  const grants = (await Promise.all(FILES.map(readRules))).flatMap(grantsOf);
  for (const { group, resource, verb } of grants) {
    for (const part of [group, resource, verb]) equal(part.includes("*"), false, part);
    // https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks
    equal(["escalate", "bind", "impersonate", "approve", "sign"].includes(verb), false, verb);
    equal(/^(pods\/exec|nodes\/proxy|serviceaccounts\/token)$/.test(resource), false, resource);
    equal(group === "rbac.authorization.k8s.io", false, group);
  }
});

/** Has replicas do all that they can do: none is refused anything, and no right is left unused. */
async function doEverything(
  test: Deno.TestContext,
  scene: RbacScene,
  { args, addresses }: {
    readonly args: readonly string[];
    /** Of Ingresses, for either backend. */
    readonly addresses: { readonly hostPort: string; readonly loadBalancer: string };
  },
): Promise<void> {
  const { cluster, way, namespace, rules } = scene;
  const refusals: number[] = [];

  const toldOf = (kind: string, where: string) =>
    eventually(`Event about ${kind}`, async () => {
      const events = await cluster.list<KubeObject & { involvedObject: { kind: string } }>(
        "v1",
        "Event",
        { namespace: where },
      );
      return events.some(({ involvedObject }) => involvedObject.kind === kind);
    });

  await using first = await way.start(...HOST_PORT_ARGS, ...args);
  await test.step("HostPort: configuration, proxies, status, Events, leftovers of the old controller", async () => {
    await scene.has("v1", "ConfigMap", "pingress-config-v2");
    await scene.has("v1", "Secret", "pingress-keys");
    await eventually("address", async () => await scene.addressesOf("web") === addresses.hostPort);
    await scene.writeBad("bad");
    await toldOf("Ingress", namespace);
    await eventually(
      "adopted DaemonSet",
      async () => !await scene.isSpoilt("apps/v1", "DaemonSet"),
    );
    // No node, which is an Event; then one.
    await rollOut(cluster, "DaemonSet", 0);
    await toldOf("DaemonSet", NAMESPACE);
    await rollOut(cluster, "DaemonSet", 1);
    await gone(cluster, "v1", "Secret", OLD_SECRET);
    const ingress = await cluster.get("networking.k8s.io/v1", "Ingress", "web", namespace);
    deepEqual(ingress?.metadata.finalizers ?? [], []);
  });

  await test.step("a proxy's token is reviewed, and it gets its configuration", async () => {
    await using proxy = await connectProxy({ cluster, system: NAMESPACE, controller: first });
    await proxy.line("snapshot");
  });

  await test.step("objects changed or deleted by others are restored", async () => {
    const own = [
      ["apps/v1", "DaemonSet", PROXY],
      ["v1", "ConfigMap", "pingress-config-v2"],
      ["v1", "Secret", "pingress-keys"],
    ] as const;
    for (const [apiVersion, kind, name] of own) {
      await scene.spoil(apiVersion, kind, name);
      await eventually(
        `${kind} as it was`,
        async () => !await scene.isSpoilt(apiVersion, kind, name),
      );
      await cluster.delete(apiVersion, kind, name, NAMESPACE);
      await scene.has(apiVersion, kind, name);
    }
  });

  await test.step("a configuration that needs more than one ConfigMap", async () => {
    const names = await scene.writeMany();
    await scene.has("v1", "ConfigMap", "pingress-config-v2-1");
    for (const name of names) {
      await cluster.delete("networking.k8s.io/v1", "Ingress", name, namespace);
    }
  });

  await using second = await way.start(...LOAD_BALANCER_ARGS, ...args);
  await test.step("another replica takes over, with LoadBalancer", async () => {
    refusals.push(await countOf(first, 403));
    equal(await first.stop(), 0);
    for (const [apiVersion, kind] of LOAD_BALANCER_KINDS) await scene.has(apiVersion, kind);
    await scene.refusePods();
    await toldOf("Deployment", NAMESPACE);
    await scene.giveAddress("192.0.2.2");
    await eventually(
      "address",
      async () => await scene.addressesOf("web") === addresses.loadBalancer,
    );
  });

  await using third = await way.start(...LOAD_BALANCER_ARGS, ...args);
  await test.step("another replica takes over, and finds the previous one's Events", async () => {
    refusals.push(await countOf(second, 403));
    const from = way.gateway.requests.length;
    equal(await second.stop(), 0);
    for (const where of [namespace, NAMESPACE]) {
      await eventually(
        "patch of an Event",
        () =>
          way.gateway.recorded({ verb: "patch", resource: "events", namespace: where }, from)
            .some(({ status }) => status === 200),
      );
    }
    await rollOut(cluster, "Deployment", 2);
    await gone(cluster, "apps/v1", "DaemonSet", PROXY);
  });

  await using fourth = await way.start(...HOST_PORT_ARGS, ...args);
  await test.step("another replica returns to HostPort", async () => {
    refusals.push(await countOf(third, 403));
    equal(await third.stop(), 0);
    await scene.has("apps/v1", "DaemonSet");
    await rollOut(cluster, "DaemonSet", 1);
    for (const [apiVersion, kind] of LOAD_BALANCER_KINDS) {
      await gone(cluster, apiVersion, kind, PROXY);
    }
  });

  await test.step("without an Ingress everything is removed", async () => {
    await scene.deleteIngresses();
    await gone(cluster, "apps/v1", "DaemonSet", PROXY);
    await gone(cluster, "v1", "ConfigMap", "pingress-config-v2");
    await gone(cluster, "v1", "Secret", "pingress-keys");
    refusals.push(await countOf(fourth, 403));
    equal(await fourth.stop(), 0);
  });

  await test.step("no call was denied", () => {
    deepEqual(way.refused(), []);
    deepEqual(refusals, [0, 0, 0, 0]);
  });

  await test.step("each permission was used", () => {
    const needs = way.gateway.requests.flatMap(needsOf);
    const unused = grantsOf(rules).filter((grant) => !needs.some((need) => covers(grant, need)));
    deepEqual(unused.map(textOf), []);
  });

  await test.step("no other objects were requested", () => {
    for (const { path } of way.gateway.recorded({ verb: "none" })) match(path, /^\/(api|apis)\b/);
    equal(way.gateway.recorded({ verb: "deletecollection" }).length, 0);
  });
}

Deno.test("with the manifests' permissions no call is denied, and each permission is used", async (test) => {
  const scene = await RbacScene.create("the rights of the manifests");
  if (scene === null) return;
  await using _ = scene;
  const addresses = { hostPort: "192.0.2.1", loadBalancer: "192.0.2.2" };
  await doEverything(test, scene, { args: [], addresses });
});

Deno.test("with permissions for one namespace no call is denied, and each permission is used", async (test) => {
  const scene = await RbacScene.create("the rights for one namespace", {
    rights: "namespaced/rights.yaml",
    namespace: "default",
  });
  if (scene === null) return;
  await using _ = scene;
  const elsewhere = await scene.cluster.newNamespace();
  await serve(scene.cluster, elsewhere, "other");
  await doEverything(test, scene, {
    args: ["--watch-namespace=default", "--publish-address=192.0.2.9"],
    addresses: { hostPort: "192.0.2.9", loadBalancer: "192.0.2.9" },
  });
  const asked = scene.way.gateway.recorded({ namespace: elsewhere });
  deepEqual(asked.map(({ path }) => path), []);
});
