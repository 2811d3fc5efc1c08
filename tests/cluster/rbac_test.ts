/**
 * The rights of `manifests/hostport.yaml`: enough for all that the controller does, none that it
 * does not use.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { eventually } from "./support/condition.ts";
import { countOf, gone, rollOut } from "./support/installation.ts";
import { NAMESPACE, OLD_SECRET, PROXY } from "./support/predecessor.ts";
import { covers, grantsOf, needsOf, readRules, textOf } from "./support/rbac.ts";
import {
  HOST_PORT_ARGS,
  LOAD_BALANCER_ARGS,
  LOAD_BALANCER_KINDS,
  RbacScene,
} from "./support/rbac_scene.ts";

Deno.test("no right is given twice", async () => {
  const grants = grantsOf(await readRules());
  const twice = grants.filter((grant, i) =>
    grants.some((other, j) =>
      i !== j && other.group === grant.group && other.resource === grant.resource &&
      other.verb === grant.verb && (other.namespace === null || grant.namespace !== null) &&
      (other.names === null || grant.names?.some((name) => other.names!.includes(name)))
    )
  );
  deepEqual(twice.map(textOf), []);
});

Deno.test("no right is a wildcard, or one by which others can be had", async () => {
  for (const { group, resource, verb } of grantsOf(await readRules())) {
    for (const part of [group, resource, verb]) equal(part.includes("*"), false, part);
    // https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks
    equal(["escalate", "bind", "impersonate", "approve", "sign"].includes(verb), false, verb);
    equal(/^(pods\/exec|nodes\/proxy|serviceaccounts\/token)$/.test(resource), false, resource);
    equal(group === "rbac.authorization.k8s.io", false, group);
  }
});

Deno.test("with the manifests' rights nothing is refused, and each of them is used", async (test) => {
  const scene = await RbacScene.create("the rights of the manifests");
  if (scene === null) return;
  await using _ = scene;
  const { cluster, way, namespace, rules } = scene;
  const refusals: number[] = [];

  await using first = await way.start(...HOST_PORT_ARGS);
  await test.step("HostPort: configuration, proxies, status, Events, the old controller's rest", async () => {
    await scene.has("v1", "ConfigMap", "pingress-config");
    await scene.has("v1", "Secret", "pingress-keys");
    await eventually("address", async () => await scene.addressesOf("web") === "192.0.2.1");
    await scene.writeBad("bad");
    await eventually("Event", async () => {
      const events = await cluster.list("v1", "Event", { namespace });
      return events.length > 0;
    });
    await rollOut(cluster, "DaemonSet", 1);
    await gone(cluster, "v1", "Secret", OLD_SECRET);
    const ingress = await cluster.get("networking.k8s.io/v1", "Ingress", "web", namespace);
    deepEqual(ingress?.metadata.finalizers ?? [], []);
  });

  await test.step("what others change or delete is put back", async () => {
    const own = [
      ["apps/v1", "DaemonSet", PROXY],
      ["v1", "ConfigMap", "pingress-config"],
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
    await scene.has("v1", "ConfigMap", "pingress-config-1");
    for (const name of names) {
      await cluster.delete("networking.k8s.io/v1", "Ingress", name, namespace);
    }
  });

  await using second = await way.start(...LOAD_BALANCER_ARGS);
  await test.step("another replica takes over, with LoadBalancer", async () => {
    refusals.push(await countOf(first, 403));
    equal(await first.stop(), 0);
    for (const [apiVersion, kind] of LOAD_BALANCER_KINDS) await scene.has(apiVersion, kind);
    await scene.giveAddress("192.0.2.2");
    await eventually("address", async () => await scene.addressesOf("web") === "192.0.2.2");
    await rollOut(cluster, "Deployment", 1);
    await gone(cluster, "apps/v1", "DaemonSet", PROXY);
  });

  await using third = await way.start(...HOST_PORT_ARGS);
  await test.step("another one goes back to HostPort", async () => {
    refusals.push(await countOf(second, 403));
    equal(await second.stop(), 0);
    await scene.has("apps/v1", "DaemonSet");
    await rollOut(cluster, "DaemonSet", 1);
    for (const [apiVersion, kind] of LOAD_BALANCER_KINDS) {
      await gone(cluster, apiVersion, kind, PROXY);
    }
  });

  await test.step("without an Ingress everything is taken away", async () => {
    await scene.deleteIngresses();
    await gone(cluster, "apps/v1", "DaemonSet", PROXY);
    await gone(cluster, "v1", "ConfigMap", "pingress-config");
    await gone(cluster, "v1", "Secret", "pingress-keys");
    refusals.push(await countOf(third, 403));
    equal(await third.stop(), 0);
  });

  await test.step("nothing was refused", () => {
    deepEqual(way.refused(), []);
    deepEqual(refusals, [0, 0, 0]);
  });

  await test.step("each right was used", () => {
    const needs = way.gateway.requests.flatMap(needsOf);
    const unused = grantsOf(rules).filter((grant) => !needs.some((need) => covers(grant, need)));
    deepEqual(unused.map(textOf), []);
  });

  await test.step("nothing but these objects was asked for", () => {
    for (const { path } of way.gateway.recorded({ verb: "none" })) match(path, /^\/(api|apis)\b/);
    equal(way.gateway.recorded({ verb: "deletecollection" }).length, 0);
  });
});
