/**
 * Pingress in a cluster, as users install it. In: the repository. Out: images of its Dockerfiles on
 * every node, and what `kubectl apply -f manifests/` makes of them.
 */
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { VERSION } from "../../../shared/version.ts";
import { eventually } from "../../cluster/support/condition.ts";
import { MANIFESTS } from "../../cluster/support/kubectl.ts";
import type { NodeCluster, Pod } from "./node_cluster.ts";
import { clusterFolder } from "./node_guard.ts";

export const NAMESPACE = "pingress-system";
export const CONTROLLER = "pingress-controller";
export const PROXY = "pingress-proxy-server";

const REPOSITORY = join(MANIFESTS, "..");

/** Until pods of images that are there are ready, in ms. */
const PATIENCE = 180_000;

interface PingressOptions {
  /** Default: as in the manifests, HostPort. */
  readonly backend?: "HostPort" | "LoadBalancer";
  /** More flags for the controller, which win over those of the manifests. */
  readonly args?: readonly string[];
}

interface Deployment {
  kind: string;
  spec: {
    template: { spec: { containers: { args: string[] }[] } };
  };
}

/**
 * Builds both images under the names that the manifests have, or with another version. Out: how long
 * it took, in ms.
 */
export async function buildPingress(cluster: NodeCluster, version = VERSION): Promise<number> {
  const from = performance.now();
  const contexts = { npm: await npmPackages() };
  for (const [name, file] of [[CONTROLLER, "controller"], [PROXY, "proxy"]]) {
    await cluster.buildImage({
      contexts,
      context: REPOSITORY,
      file: join(REPOSITORY, `Dockerfile.${file}`),
      // What `deno compile` downloads may be out of reach.
      target: "run",
      tag: `ghcr.io/pingress/${name}:${version}`,
    });
  }
  return performance.now() - from;
}

/**
 * Packages of npm for the images. They are fetched here, where registries and authorities are set up
 * as the user has them, and not in a container.
 */
async function npmPackages(): Promise<string> {
  // A cache that `deno install` alone has filled, as on a machine with nothing but a clone: what else
  // a developer's cache has would hide what an offline build lacks.
  const lock = await Deno.readFile(join(REPOSITORY, "deno.lock"));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", lock)).toHex().slice(0, 16);
  const folder = join(clusterFolder(), `deno-install-${hash}`);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["install", "--quiet", "--frozen"],
    cwd: REPOSITORY,
    env: { DENO_DIR: folder },
  }).output();
  if (!success) throw new Error(`No packages: ${new TextDecoder().decode(stderr)}`);
  return join(folder, "npm");
}

/** An installation. */
export class Pingress {
  readonly cluster: NodeCluster;
  readonly backend: "HostPort" | "LoadBalancer";

  constructor(cluster: NodeCluster, backend: "HostPort" | "LoadBalancer") {
    this.cluster = cluster;
    this.backend = backend;
  }

  /** Applies the manifests as they are, or with options of a test; again is fine. */
  async apply({ backend, args = [] }: PingressOptions = {}): Promise<void> {
    const flags = backend === undefined ? args : [`--backend=${backend}`, ...args];
    if (flags.length === 0) {
      await this.cluster.kubectl(["apply", "--filename", MANIFESTS]);
      return;
    }
    // All at once: controllers with other flags in between would roll proxies out twice.
    const files = [...Deno.readDirSync(MANIFESTS)].map(({ name }) => name)
      .filter((name) => name.endsWith(".yaml")).sort();
    const texts = await Promise.all(files.map((name) => Deno.readTextFile(join(MANIFESTS, name))));
    const documents = texts.flatMap((text) => parseAllDocuments(text)).map((document) => {
      const object = document.toJS() as Deployment;
      if (object.kind !== "Deployment") return object;
      const [container] = object.spec.template.spec.containers;
      const given = new Set(flags.map(nameOf));
      container.args = [...container.args.filter((flag) => !given.has(nameOf(flag))), ...flags];
      return object;
    });
    const text = documents.map((object) => stringify(object)).join("---\n");
    await this.cluster.kubectl(["apply", "--filename", "-"], text);
  }

  /** Until all of the newest template are ready, and no others are left. */
  async waitForControllers(patience = PATIENCE): Promise<void> {
    await this.cluster.waitForRollout("Deployment", CONTROLLER, NAMESPACE, patience);
  }

  /** The same of proxies. There are none before the first Ingress. */
  async waitForProxies(patience = PATIENCE): Promise<void> {
    const kind = this.backend === "HostPort" ? "DaemonSet" : "Deployment";
    await this.cluster.waitForRollout(kind, PROXY, NAMESPACE, patience);
  }

  async controllers(): Promise<Pod[]> {
    return await this.cluster.pods(NAMESPACE, `app.kubernetes.io/name=${CONTROLLER}`);
  }

  async proxies(): Promise<Pod[]> {
    return await this.cluster.pods(NAMESPACE, `app.kubernetes.io/name=${PROXY}`);
  }

  /** Of the replica that leads; null while none does. */
  async leader(): Promise<Pod | null> {
    const lease = await this.cluster.get("coordination.k8s.io/v1", "Lease", CONTROLLER, NAMESPACE);
    const { holderIdentity = "" } = (lease?.spec ?? {}) as { holderIdentity?: string };
    const controllers = await this.controllers();
    return controllers.find(({ metadata }) => holderIdentity.startsWith(metadata.name)) ?? null;
  }

  /**
   * Deletes what the manifests made, and waits until nothing of it is left. Pods first: a namespace
   * with pods in it looks again only after half of their time to end, which is minutes for proxies.
   */
  async uninstall(patience = PATIENCE): Promise<void> {
    const remove = (kind: string) =>
      this.cluster.kubectl(["delete", kind, "--all", `--namespace=${NAMESPACE}`]);
    await remove("deployment");
    // A controller that still leads would make the DaemonSet again.
    await eventually(
      "end of the controllers",
      async () => (await this.controllers()).length === 0,
      patience,
    );
    await remove("deployment");
    await remove("daemonset");
    await eventually(
      "end of the pods",
      async () => (await this.cluster.pods(NAMESPACE)).length === 0,
      patience,
    );
    await this.cluster.kubectl(["delete", "--ignore-not-found", "--filename", MANIFESTS]);
    await eventually(
      "end of the namespace",
      async () => await this.cluster.get("v1", "Namespace", NAMESPACE) === null,
      patience,
    );
  }
}

function nameOf(flag: string): string {
  return flag.split("=")[0];
}
