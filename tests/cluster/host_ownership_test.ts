/** Hosts belong to namespaces, and go on to, whatever happens to the record of their claims. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerProcess } from "./support/controller_process.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";

const HOST = "shop.example.com";

type ClaimsObject = KubeObject & {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
};

/** A rule of another namespace for the host. */
async function claim(
  cluster: TestCluster,
  namespace: string,
  path: string,
  ingressClassName = "pingress",
): Promise<void> {
  await cluster.apply({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "shop", namespace },
    spec: { ingressClassName, rules: [rule(HOST, path, "web")] },
  } as Partial<KubeObject>);
}

function record(scene: ControllerScene): Promise<ClaimsObject | null> {
  return scene.cluster.get<ClaimsObject>("v1", "ConfigMap", "pingress-claims", scene.system);
}

/** Namespaces in the record, the owner first; none where there is no record that can be read. */
async function claimants(scene: ControllerScene): Promise<string[]> {
  const text = (await record(scene))?.data?.["claims.json"];
  if (text === undefined || !text.startsWith("{")) return [];
  const { hosts } = JSON.parse(text) as {
    hosts: { host: string; claims: { namespace: string }[] }[];
  };
  return hosts.find(({ host }) => host === HOST)?.claims.map(({ namespace }) => namespace) ?? [];
}

async function eventuallyClaimed(scene: ControllerScene, wanted: readonly string[]): Promise<void> {
  await eventually(
    `claims of ${wanted}`,
    async () => JSON.stringify(await claimants(scene)) === JSON.stringify(wanted),
  );
}

async function originsOf(scene: ControllerScene): Promise<string[]> {
  const routes = (await scene.published())?.routes ?? [];
  return routes.filter(({ host }) => host === HOST).map(({ match: { path }, origin }) =>
    `${path.value} ${origin.namespace}`
  );
}

clusterTest(
  "a host stays with its namespace, even if the record is damaged or deleted",
  async (cluster) => {
    const other = await cluster.newNamespace("other");
    await using scene = await ControllerScene.start(cluster, {
      args: [`--watch-namespace=${other}`],
    });
    const { app, system } = scene;
    await scene.service("web");
    await scene.ingress("shop", { rules: [rule(HOST, "/shop", "web")] });
    await scene.eventuallyRouted(`${HOST} Prefix /shop`);
    await eventuallyClaimed(scene, [app]);

    await claim(cluster, other, "/shop/login");
    const refused = await scene.eventuallyProblem("HostNotOwned");
    match(refused.message, new RegExp(`belongs to namespace ${app}`));
    equal((await scene.eventuallyProblem("HostClaimedByOthers")).object, `Ingress ${app}/shop`);
    await eventuallyClaimed(scene, [app, other]);
    deepEqual(await originsOf(scene), [`/shop ${app}`]);

    await cluster.delete("v1", "ConfigMap", "pingress-claims", system);
    await eventuallyClaimed(scene, [app, other]);
    await cluster.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "pingress-claims", namespace: system },
      data: { "claims.json": "damaged" },
    } as Partial<KubeObject>);
    await eventuallyClaimed(scene, [app, other]);
    deepEqual(await originsOf(scene), [`/shop ${app}`]);

    // `damaged`, where compressed claims stand.
    await cluster.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "pingress-claims", namespace: system },
      binaryData: { "claims.json.gz": "ZGFtYWdlZA==" },
    } as Partial<KubeObject>);
    await eventually(
      "nothing beside the claims",
      async () => Object.keys((await record(scene))?.binaryData ?? {}).length === 0,
    );
    await eventuallyClaimed(scene, [app, other]);

    equal(await scene.controller.stop(), 0);
    await cluster.delete("v1", "ConfigMap", "pingress-claims", system);
    // The older object is now that of the other namespace.
    await scene.remove("Ingress", "shop");
    await scene.ingress("shop", { rules: [rule(HOST, "/shop", "web")] });
    await scene.startController();
    await eventuallyClaimed(scene, [app, other]);
    deepEqual(await originsOf(scene), [`/shop ${app}`]);

    await scene.remove("Ingress", "shop");
    await scene.eventuallyRouted(`${HOST} Prefix /shop/login`);
    await eventuallyClaimed(scene, [other]);
    deepEqual(await originsOf(scene), [`/shop/login ${other}`]);
    equal(await scene.controller.stop(), 0);
  },
);

clusterTest(
  "a host that several namespaces served before stays shared, and is reported",
  async (cluster) => {
    const [other, third] = [
      await cluster.newNamespace("other"),
      await cluster.newNamespace("third"),
    ];
    const namespaces = [`--watch-namespace=${other}`, `--watch-namespace=${third}`];
    await using before = await ControllerScene.prepare(cluster, {
      args: [...namespaces, "--host-ownership=shared"],
    });
    const { app } = before;
    await before.startController();
    await before.service("web");
    await before.ingress("shop", { rules: [rule(HOST, "/shop", "web")] });
    await claim(cluster, other, "/shop/login");
    await before.eventuallyRouted(`${HOST} Prefix /shop/login`);
    await before.eventuallyRouted(`${HOST} Prefix /shop`);
    equal(await record(before), null);
    equal(await before.controller.stop(), 0);

    await claim(cluster, third, "/third");
    const args = before.flags.filter((flag) => !flag.startsWith("--host-ownership"));
    await using after = await ControllerProcess.start({ kubeconfig: before.kubeconfig, args });
    await eventuallyClaimed(before, [app, other, third]);
    const { text } = await after.admin("/problems");
    const found = (JSON.parse(text).problems as { object: string; reason: string }[])
      .filter(({ reason }) => reason.startsWith("Host"))
      .map(({ object, reason }) => `${reason} ${object}`);
    deepEqual(
      found.sort(),
      [
        `HostClaimedByOthers Ingress ${app}/shop`,
        `HostNotOwned Ingress ${third}/shop`,
        `HostShared Ingress ${app}/shop`,
        `HostShared Ingress ${other}/shop`,
      ].sort(),
    );
    deepEqual((await originsOf(before)).sort(), [`/shop ${app}`, `/shop/login ${other}`].sort());
    equal(await after.stop(), 0);
  },
);

clusterTest(
  "a Namespace object sets a host's owner, and one being deleted loses it",
  async (cluster) => {
    const className = `owners-${crypto.randomUUID().slice(0, 8)}`;
    const flags = ["--backend=HostPort", `--ingress-class=${className}`];
    const [first, second] = [
      await cluster.newNamespace("first"),
      await cluster.newNamespace("second"),
    ];
    await using scene = await ControllerScene.prepare(cluster);
    const args = [...flags, `--namespace=${scene.system}`];
    await using controller = await ControllerProcess.start({ kubeconfig: scene.kubeconfig, args });
    await claim(cluster, first, "/first", className);
    await eventuallyClaimed(scene, [first]);
    await claim(cluster, second, "/second", className);
    await eventuallyClaimed(scene, [first, second]);
    await cluster.apply({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: second, annotations: { "pingress.io/hosts": HOST } },
    });
    await eventuallyClaimed(scene, [second, first]);
    await eventually(
      "routes of the second",
      async () => JSON.stringify(await originsOf(scene)) === `["/second ${second}"]`,
    );
    // Nothing ends a namespace here, so it stays in its deletion.
    await cluster.delete("v1", "Namespace", second);
    await eventuallyClaimed(scene, [first]);
    await eventually(
      "routes of the first",
      async () => JSON.stringify(await originsOf(scene)) === `["/first ${first}"]`,
    );
    equal(await controller.stop(), 0);
  },
);
