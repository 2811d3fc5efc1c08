/** Installations with fewer rights than the manifests give, as docs/install.md describes them. */
import { deepEqual, equal, match } from "node:assert/strict";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "./support/api_client.ts";
import { eventually } from "./support/condition.ts";
import { serve } from "./support/installation.ts";
import { MANIFESTS } from "./support/kubectl.ts";
import { NAMESPACE } from "./support/predecessor.ts";
import { grantsOf, type PolicyRule, type Rules, without } from "./support/rbac.ts";
import { HOST_PORT_ARGS, RbacScene } from "./support/rbac_scene.ts";

/** The rules that stand in docs/install.md below a heading, with their role's kind. */
async function documentedRules(heading: string): Promise<Rules[]> {
  const text = await Deno.readTextFile(join(MANIFESTS, "..", "docs", "install.md"));
  const section = text.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const block = /^```yaml\n(.*?)^```/ms.exec(section)?.[1] ?? "";
  return parseAllDocuments(block).map((document) => document.toJS() as Rules);
}

Deno.test("with only get on Secrets the referenced ones are still read", async () => {
  const documented = await documentedRules("Without listing Secrets");
  deepEqual(documented.map(({ kind }) => kind), ["ClusterRole", "Role"]);
  const scene = await RbacScene.create("get alone on Secrets", {
    rights: "hostport.yaml",
    // The documentation shows what stands in the place of all rules about reading Secrets.
    change: (rules) =>
      rules.map((role) => ({
        ...role,
        rules: [
          ...role.rules.filter(({ resources, verbs }: PolicyRule) =>
            !(resources.includes("secrets") && verbs.includes("list"))
          ),
          ...documented.find(({ kind }) => kind === role.kind)!.rules,
        ],
      })),
  });
  if (scene === null) return;
  await using _ = scene;
  const { cluster, way, namespace } = scene;
  await using controller = await way.start(...HOST_PORT_ARGS);
  await controller.line("Cannot watch Secrets, reading each by name");
  await scene.has("v1", "Secret", "pingress-keys");
  // One more, which nothing but its name tells of.
  await scene.writeCertificate("more");
  await serve(cluster, namespace, "more", {
    tls: [{ hosts: ["more.example.com"], secretName: "more" }],
  });
  await eventually("second key", async () => {
    const keys = await scene.own<KubeObject & { data?: object }>("v1", "Secret", "pingress-keys");
    return Object.keys(keys?.data ?? {}).length === 2;
  });
  deepEqual([...new Set(way.refused())], ["list secrets /"]);
  deepEqual(
    way.gateway.recorded({ verb: ["list", "watch"], resource: "secrets" })
      .filter(({ status, namespace }) => status === 200 && namespace !== NAMESPACE),
    [],
  );
  equal(await controller.stop(), 0);
});

Deno.test("without access to nodes, everything works except new addresses, and old ones stay", async () => {
  const scene = await RbacScene.create("no right to nodes");
  if (scene === null) return;
  await using _ = scene;
  {
    await using before = await scene.way.start(...HOST_PORT_ARGS);
    await eventually("address", async () => await scene.addressesOf("web") === "192.0.2.1");
    equal(await before.stop(), 0);
  }
  const nodes = grantsOf(scene.rules).filter(({ resource }) => resource === "nodes");
  await scene.setRules(without(scene.rules, nodes));
  await using controller = await scene.way.start(...HOST_PORT_ARGS);
  await serve(scene.cluster, scene.namespace, "more");
  await eventually("configuration", async () => {
    const configMap = await scene.own<KubeObject & { data: Record<string, string> }>(
      "v1",
      "ConfigMap",
      "pingress-config-v2",
    );
    return configMap?.data["proxy-v2.json"].includes("more.example.com");
  });
  equal(await scene.addressesOf("web"), "192.0.2.1");
  equal(await controller.stop(), 0);
});

Deno.test("without access to IngressClasses nothing changes, and the log names the missing permission", async () => {
  const scene = await RbacScene.create("no right to IngressClasses");
  if (scene === null) return;
  await using _ = scene;
  const classes = grantsOf(scene.rules).filter(({ resource }) => resource === "ingressclasses");
  await scene.setRules(without(scene.rules, classes));
  await using controller = await scene.way.spawn(...HOST_PORT_ARGS);
  await controller.line("Leading");
  const { reason } = await controller.line("Cannot watch");
  match(String(reason), /cannot list resource "ingressclasses"/);
  const { status, text } = await controller.admin("/readyz");
  equal(status, 503, text);
  // The stream's authority is made of nothing that is watched.
  const written = scene.way.gateway.recorded({ verb: ["create", "patch", "delete"] })
    .filter(({ resource }) => !["leases", "daemonsets", "ingresses"].includes(resource))
    .filter(({ path }) => !path.endsWith("/pingress-stream-ca"));
  deepEqual(written.map(({ path }) => path), []);
  await scene.setRules(scene.rules);
  await controller.ready();
  await scene.has("v1", "Secret", "pingress-keys");
  equal(await controller.stop(), 0);
});

Deno.test("with the previous version's permissions everything is served, and a problem names the manifests to apply", async () => {
  const scene = await RbacScene.create("no right to claims and Namespaces", {
    rights: "hostport.yaml",
    change: (rules) =>
      rules.map((role) => ({
        ...role,
        rules: role.rules.flatMap((rule: PolicyRule) => {
          const { resources, verbs, resourceNames } = rule;
          if (resources.includes("namespaces") && verbs.includes("list")) return [];
          const names = resourceNames?.filter((name) => name !== "pingress-claims");
          return [names === undefined ? rule : { ...rule, resourceNames: names }];
        }),
      })),
  });
  if (scene === null) return;
  await using _ = scene;
  await using controller = await scene.way.start(...HOST_PORT_ARGS);
  await scene.has("v1", "Secret", "pingress-keys");
  await scene.has("apps/v1", "DaemonSet");
  await eventually("problem", async () => {
    const { text } = await controller.admin("/problems");
    return text.includes('"ClaimsNotRecorded"');
  });
  await serve(scene.cluster, scene.namespace, "more");
  await eventually("configuration", async () => {
    const configMap = await scene.own<KubeObject & { data: Record<string, string> }>(
      "v1",
      "ConfigMap",
      "pingress-config-v2",
    );
    return configMap?.data["proxy-v2.json"].includes("more.example.com");
  });
  equal(await scene.own("v1", "ConfigMap", "pingress-claims"), null);
  equal(await controller.stop(), 0);
});
