/** What the Kustomize files make of `manifests/`, by the real kubectl and API server. */
import { deepEqual, equal } from "node:assert/strict";
import { join, relative } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { parseControllerOptions } from "../../controller/cli/options.ts";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { kubectl, manifest, MANIFESTS } from "./support/kubectl.ts";

const ROOT = join(MANIFESTS, "..");

interface Controller extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly image: string; readonly args: string[] }[];
      };
    };
  };
}

/** What an overlay comes to; null where there is no kubectl. */
async function build(cluster: TestCluster, folder: string): Promise<KubeObject[] | null> {
  const built = await kubectl(cluster, ["kustomize", folder]);
  if (built === null) {
    console.log("skipped: kubectl is not among the programs");
    return null;
  }
  deepEqual([built.code, built.stderr], [0, ""]);
  return parseAllDocuments(built.stdout).map((document) => document.toJS());
}

function controllerOf(objects: readonly KubeObject[]): Controller["spec"]["template"]["spec"] {
  const deployment = objects.find(({ kind }) => kind === "Deployment") as Controller;
  return deployment.spec.template.spec;
}

const keyOf = ({ kind, metadata }: KubeObject) =>
  `${kind} ${metadata.namespace ?? ""} ${metadata.name}`;

for (
  const [overlay, backend, level] of [
    ["hostport", "HostPort", "privileged"],
    ["loadbalancer", "LoadBalancer", "restricted"],
  ]
) {
  clusterTest(
    `kubectl apply -k overlays/${overlay} creates proxies of ${backend}`,
    async (cluster) => {
      const folder = join(ROOT, "overlays", overlay);
      const objects = await build(cluster, folder);
      if (objects === null) return;
      const [{ args }] = controllerOf(objects).containers;
      const parsed = parseControllerOptions(args);
      equal(parsed.kind === "ok" ? parsed.options.backend : parsed.text, backend);
      const [namespace] = objects.filter(({ kind }) => kind === "Namespace");
      const labels = namespace.metadata.labels as Record<string, string>;
      equal(labels["pod-security.kubernetes.io/enforce"], level);
      await cluster.apply(await manifest<KubeObject>("00-namespace.yaml"));
      const tried = await kubectl(cluster, [
        "apply",
        "--dry-run=server",
        "--validate=strict",
        "-k",
        folder,
      ]);
      equal(tried?.code, 0, tried?.stderr ?? "");
      equal(tried?.stdout.trimEnd().split("\n").length, objects.length);
    },
  );
}

clusterTest("the base has every object of manifests/", async (cluster) => {
  const files = Array.from(Deno.readDirSync(MANIFESTS))
    .map(({ name }) => name).filter((name) => name.endsWith(".yaml"));
  const objects = (await Promise.all(files.map((file) => manifest<KubeObject>(file)))).flat();
  const built = await build(cluster, MANIFESTS);
  if (built !== null) deepEqual(built.map(keyOf).sort(), objects.map(keyOf).sort());
});

clusterTest("the overlay in docs/deploy.md uses images from another registry", async (cluster) => {
  const page = await Deno.readTextFile(join(ROOT, "docs", "deploy.md"));
  const [, text] = page.match(/```yaml\n(# kustomization\.yaml\n[^]*?)```/)!;
  const folder = await Deno.makeTempDir();
  try {
    const overlay: { resources: string[] } = parse(text);
    deepEqual(overlay.resources, ["../pingress/overlays/hostport"]);
    // Absolute paths of folders are none that Kustomize takes.
    const resources = [relative(await Deno.realPath(folder), join(ROOT, "overlays", "hostport"))];
    await Deno.writeTextFile(
      join(folder, "kustomization.yaml"),
      JSON.stringify({ ...overlay, resources }),
    );
    const objects = await build(cluster, folder);
    if (objects === null) return;
    const [{ image, args }] = controllerOf(objects).containers;
    equal(image, "registry.example.com/pingress/pingress-controller:0.1.0");
    const parsed = parseControllerOptions(args);
    equal(
      parsed.kind === "ok" ? parsed.options.proxyServerImage : parsed.text,
      "registry.example.com/pingress/pingress-proxy-server:0.1.0",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
