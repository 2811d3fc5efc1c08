/** A cluster of the Pingress Controller in Rust, after one `kubectl apply -f manifests/`. */
import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { readPublishedSet } from "../../controller/outputs/publish/published.ts";
import type { LiveConfigMap, LiveSecret } from "../../controller/outputs/publish/objects.ts";
import type { KubeObject } from "./support/api_client.ts";
import { startCluster, type TestCluster } from "./support/cluster.ts";
import { eventually } from "./support/condition.ts";
import { ACCOUNT, countOf, gone, install, rollOut, serve, Way } from "./support/installation.ts";
import { kubectl, manifest, MANIFESTS } from "./support/kubectl.ts";
import {
  addOldFinalizer,
  makeOldWorkload,
  NAMESPACE,
  OLD_FINALIZER,
  OLD_MANAGER,
  OLD_SECRET,
  oldManifests,
  PROXY,
} from "./support/predecessor.ts";

const NETWORKING = "networking.k8s.io/v1";

interface DaemonSet extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly volumes: readonly { readonly name: string; readonly projected?: unknown }[];
        readonly containers: readonly {
          readonly name: string;
          readonly command?: readonly string[];
          readonly args: readonly string[];
          readonly image: string;
          readonly volumeMounts: readonly { readonly mountPath: string }[];
        }[];
      };
    };
  };
}

/** The cluster before: its manifests by kubectl, its objects, its finalizer on Ingresses. */
async function oldCluster(cluster: TestCluster, namespace: string): Promise<void> {
  const applied = await kubectl(cluster, ["apply", "-f", "-"], oldManifests());
  if (applied === null) await cluster.apply(oldManifests());
  else equal(applied.code, 0, applied.stderr);
  await makeOldWorkload(cluster);
  const foreign = {
    apiVersion: NETWORKING,
    kind: "Ingress",
    spec: {
      ingressClassName: "of-somebody-else",
      defaultBackend: { service: { name: "web", port: { number: 80 } } },
    },
  };
  await serve(cluster, namespace, "web");
  await serve(cluster, namespace, "doomed");
  await cluster.apply([
    { ...foreign, metadata: { name: "foreign" } },
    { ...foreign, metadata: { name: "shared", finalizers: ["example.com/theirs"] } },
  ], { namespace });
  for (const name of ["web", "doomed", "foreign", "shared"]) {
    await addOldFinalizer(cluster, namespace, name);
  }
  // It waits for a controller that does not run any more.
  await cluster.delete(NETWORKING, "Ingress", "doomed", namespace);
  notEqual(await cluster.get(NETWORKING, "Ingress", "doomed", namespace), null);
}

async function applyManifests(cluster: TestCluster): Promise<void> {
  const applied = await kubectl(cluster, ["apply", "-f", MANIFESTS]);
  if (applied === null) await install(cluster);
  else deepEqual([applied.code, applied.stderr], [0, ""]);
}

Deno.test("kubectl apply -f manifests/ takes over from the Rust controller", async (test) => {
  const cluster = await startCluster({ name: "taking over" });
  if (cluster === null) return;
  await using _ = cluster;
  const namespace = await cluster.newNamespace();
  await oldCluster(cluster, namespace);
  const get = <T = KubeObject>(apiVersion: string, kind: string, name: string) =>
    cluster.get<T>(apiVersion, kind, name, NAMESPACE);
  const before = await get("apps/v1", "DaemonSet", PROXY);
  await rollOut(cluster, "DaemonSet", 2);
  await applyManifests(cluster);

  await test.step("the old controller, if still running, cannot set its finalizer on Ingresses", async () => {
    const old = cluster.as(await cluster.serviceAccountToken(NAMESPACE, ACCOUNT));
    const path = await cluster.pathOf(NETWORKING, "Ingress", "web", namespace);
    const patch = { metadata: { finalizers: [OLD_FINALIZER] } };
    const answer = await old.request("PATCH", path, patch, "application/merge-patch+json");
    equal(answer.status, 403, answer.text);
  });

  await using way = await Way.open(cluster);
  // As the manifests start it.
  const [{ spec }] = await manifest<
    KubeObject & { spec: { template: { spec: { containers: { args: string[] }[] } } } }
  >("pingress-controller.yaml");
  const args = spec.template.spec.containers[0].args.filter((arg) => !arg.startsWith("--admin"));
  await using controller = await way.start(...args);

  await test.step("its finalizer is removed from Ingresses of all classes, others stay", async () => {
    const left = { web: [], foreign: [], shared: ["example.com/theirs"] };
    for (const [name, finalizers] of Object.entries(left)) {
      const found = async (): Promise<readonly string[]> => {
        const ingress = await cluster.get(NETWORKING, "Ingress", name, namespace);
        return ingress?.metadata.finalizers ?? [];
      };
      await eventually("removal", async () => !(await found()).includes(OLD_FINALIZER));
      deepEqual(await found(), finalizers, name);
    }
  });

  await test.step("an Ingress whose deletion it blocked is gone", async () => {
    await gone(cluster, NETWORKING, "Ingress", "doomed", namespace);
  });

  await test.step("the new configuration is published beside the old one, with the old class served", async () => {
    await eventually("configuration of what is there", async () => {
      const configMap = await get<LiveConfigMap>("v1", "ConfigMap", "pingress-config-v2");
      const secrets = await cluster.list<LiveSecret>("v1", "Secret", { namespace: NAMESPACE });
      const { digest, snapshot } = readPublishedSet(configMap === null ? [] : [configMap], secrets);
      const hosts = snapshot?.routes.map(({ host }) => host);
      return digest !== null && String(hosts) === "web.example.com";
    });
    const configMap = await get<KubeObject & LiveConfigMap>(
      "v1",
      "ConfigMap",
      "pingress-config-v2",
    );
    deepEqual(Object.keys(configMap!.data!), ["proxy-v2.json"]);
    equal(configMap!.metadata.labels?.["pingress.io/published"], "snapshot");
    // Old proxies may restart from it until they are replaced.
    const old = await get<LiveConfigMap>("v1", "ConfigMap", "pingress-config");
    equal(Object.hasOwn(JSON.parse(old!.data!["proxy.json"]), "rules"), true);
  });

  await test.step("the DaemonSet is the same object, with nothing left of the old template", async () => {
    const after = await eventually("adopted DaemonSet", async () => {
      const there = await get<DaemonSet>("apps/v1", "DaemonSet", PROXY);
      return there!.spec.template.spec.containers[0].args?.length > 0 ? there : null;
    });
    equal(after.metadata.uid, before?.metadata.uid);
    const { containers, volumes } = after.spec.template.spec;
    deepEqual(containers.map(({ name }) => name), [PROXY]);
    equal(containers[0].command, undefined);
    ok(!containers[0].image.endsWith(":old"), containers[0].image);
    deepEqual(containers[0].volumeMounts.map(({ mountPath }) => mountPath), ["/etc/pingress"]);
    equal(volumes.length, 1);
    ok(volumes[0].projected !== undefined);
    const managers = after.metadata.managedFields!.map(({ manager }) => manager);
    ok(!managers.includes(OLD_MANAGER), String(managers));
  });

  await test.step("the Secret that old proxies mount is removed when none of them runs any more", async () => {
    const updated = (count: number) =>
      eventually(
        `${count} proxies of the new template`,
        async () =>
          await controller.metric('pingress_controller_proxies{state="updated"}') === count,
      );
    await rollOut(cluster, "DaemonSet", 1, 2);
    await updated(1);
    notEqual(await get("v1", "Secret", OLD_SECRET), null);
    await rollOut(cluster, "DaemonSet", 2);
    await gone(cluster, "v1", "Secret", OLD_SECRET);
  });

  await test.step("no call was denied, and nothing but that Secret was deleted", async () => {
    deepEqual(way.refused(), []);
    equal(await countOf(controller, 403), 0);
    const deleted = way.gateway.recorded({ verb: ["delete", "deletecollection"] });
    deepEqual(deleted.map(({ resource, name }) => `${resource} ${name}`), [
      `secrets ${OLD_SECRET}`,
    ]);
    equal(await controller.stop(), 0);
  });
});
