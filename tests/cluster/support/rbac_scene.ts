/**
 * A controller that has exactly the rights of `manifests/`, in a cluster of its own. In: nothing. Out:
 * objects to serve and to break, and rights that can be taken away and given back.
 */
import { CertificateAuthority } from "../../../dev/certificate_authority.ts";
import type { KubeObject } from "./api_client.ts";
import { startCluster, type TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";
import { ACCOUNT, install, serve, Way } from "./installation.ts";
import { addOldFinalizer, makeOldWorkload, NAMESPACE, PROXY } from "./predecessor.ts";
import { type Grant, readRules, type Rules } from "./rbac.ts";

/** The four objects of --backend=LoadBalancer with an autoscaler. */
export const LOAD_BALANCER_KINDS = [
  ["apps/v1", "Deployment", "deployments"],
  ["v1", "Service", "services"],
  ["policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"],
  ["autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"],
] as const;

export interface Installation {
  /** A file of `manifests/` with the rights. */
  readonly rights: string;
  /** The namespace of users; a new one where it is not given. */
  readonly namespace?: string;
  /** Changes the rights that stand in the file. */
  readonly change?: (rules: readonly Rules[]) => readonly Rules[];
}

export const HOST_PORT_ARGS = ["--backend=HostPort", "--cleanup-delay=1s", "--cleanup-service"];
export const LOAD_BALANCER_ARGS = [
  "--backend=LoadBalancer",
  "--proxy-max-replicas=4",
  "--cleanup-delay=1s",
  "--cleanup-service",
];

export class RbacScene {
  readonly cluster: TestCluster;
  readonly way: Way;
  /** Of users. */
  readonly namespace: string;
  readonly rules: readonly Rules[];

  private constructor(
    cluster: TestCluster,
    way: Way,
    namespace: string,
    rules: readonly Rules[],
  ) {
    this.cluster = cluster;
    this.way = way;
    this.namespace = namespace;
    this.rules = rules;
  }

  /** Null where there are no programs to run a cluster. */
  static async create(
    name: string,
    { rights, namespace: given, change = (rules) => rules }: Installation = {
      rights: "hostport.yaml",
    },
  ): Promise<RbacScene | null> {
    const cluster = await startCluster({ name });
    if (cluster === null) return null;
    try {
      await install(cluster, rights);
      const namespace = given ?? await cluster.newNamespace();
      const rules = change(await readRules(rights));
      const scene = new RbacScene(cluster, await Way.open(cluster), namespace, rules);
      await scene.setRules(rules);
      await scene.#fill();
      return scene;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** What the Rust controller has left, a node with a proxy, and an Ingress with TLS. */
  async #fill(): Promise<void> {
    const { cluster, namespace } = this;
    await makeOldWorkload(cluster);
    await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "node" } });
    const addresses = [{ type: "InternalIP", address: "192.0.2.1" }];
    await this.#status("v1", "Node", "node", undefined, { addresses });
    await cluster.serviceAccountToken(NAMESPACE, "default");
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "proxy", labels: { "app.kubernetes.io/name": PROXY } },
      spec: {
        nodeName: "node",
        automountServiceAccountToken: false,
        containers: [{ name: PROXY, image: "proxy" }],
      },
    }, { namespace: NAMESPACE });
    await this.#status("v1", "Pod", "proxy", NAMESPACE, {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
    });
    await this.writeCertificate();
    await serve(cluster, namespace, "web", {
      tls: [{ hosts: ["web.example.com"], secretName: "web" }],
    });
    await addOldFinalizer(cluster, namespace, "web");
  }

  /** The Secret that the Ingress of this name names, with a new certificate. */
  async writeCertificate(name = "web"): Promise<void> {
    const authority = await CertificateAuthority.create("Example");
    const { chain, key } = await authority.issue({ names: [`${name}.example.com`] });
    await this.cluster.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: this.namespace },
      type: "kubernetes.io/tls",
      data: { "tls.crt": btoa(chain), "tls.key": btoa(key.reveal()) },
    });
  }

  /** Ingresses whose configuration is too large for one ConfigMap. */
  async writeMany(): Promise<string[]> {
    const random = () => crypto.randomUUID().replaceAll("-", "");
    const names = Array.from({ length: 12 }, (_, i) => `many-${i}`);
    for (const name of names) {
      const paths = Array.from({ length: 100 }, () => ({
        path: `/${Array.from({ length: 8 }, random).join("/")}`,
        pathType: "Prefix",
        backend: { service: { name: "web", port: { number: 80 } } },
      }));
      await this.cluster.apply({
        apiVersion: "networking.k8s.io/v1",
        kind: "Ingress",
        metadata: { name, namespace: this.namespace },
        spec: {
          ingressClassName: "pingress",
          rules: [{ host: `${name}.example.com`, http: { paths } }],
        },
      });
    }
    return names;
  }

  /** An Ingress whose Service is not there. */
  async writeBad(name: string): Promise<void> {
    const backend = { service: { name: "nowhere", port: { number: 80 } } };
    await this.cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name, namespace: this.namespace },
      spec: { ingressClassName: "pingress", defaultBackend: backend },
    });
  }

  /** Changes a field that the controller sets. */
  async spoil(apiVersion: string, kind: string, name = PROXY): Promise<void> {
    const path = await this.cluster.pathOf(apiVersion, kind, name, NAMESPACE);
    const labels = { "app.kubernetes.io/part-of": `spoilt-${crypto.randomUUID().slice(0, 8)}` };
    await this.#patch(`${path}?fieldManager=somebody`, { metadata: { labels } });
  }

  async isSpoilt(apiVersion: string, kind: string, name = PROXY): Promise<boolean> {
    const there = await this.own(apiVersion, kind, name);
    return there?.metadata.labels?.["app.kubernetes.io/part-of"] !== "pingress";
  }

  /** An object of the controller's namespace. */
  async own<T = KubeObject>(apiVersion: string, kind: string, name = PROXY): Promise<T | null> {
    return await this.cluster.get<T>(apiVersion, kind, name, NAMESPACE);
  }

  async has(apiVersion: string, kind: string, name = PROXY): Promise<true> {
    return await eventually(
      `${kind} ${name}`,
      async () => await this.own(apiVersion, kind, name) !== null ? true as const : null,
    );
  }

  /** The addresses in an Ingress's status. */
  async addressesOf(name: string): Promise<string> {
    const ingress = await this.cluster.get<
      KubeObject & { readonly status?: { loadBalancer?: { ingress?: { ip?: string }[] } } }
    >("networking.k8s.io/v1", "Ingress", name, this.namespace);
    return (ingress?.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip).join(" ");
  }

  /** As a cloud does. */
  async giveAddress(ip: string): Promise<void> {
    await this.#status("v1", "Service", PROXY, NAMESPACE, { loadBalancer: { ingress: [{ ip }] } });
  }

  /** The Deployment's status when the API server takes none of its pods. */
  async refusePods(): Promise<void> {
    const failure = { type: "ReplicaFailure", status: "True", message: "exceeded quota" };
    await this.#status("apps/v1", "Deployment", PROXY, NAMESPACE, { conditions: [failure] });
  }

  async deleteIngresses(): Promise<void> {
    const { cluster, namespace } = this;
    const all = await cluster.list("networking.k8s.io/v1", "Ingress", { namespace });
    for (const { metadata: { name } } of all) {
      await cluster.delete("networking.k8s.io/v1", "Ingress", name, namespace);
    }
  }

  /** Puts roles in the place of the present ones. */
  async setRules(rules: readonly Rules[]): Promise<void> {
    await this.cluster.apply([...rules], { fieldManager: "installation" });
  }

  /** Whether the API server gives the controller this right. */
  async allows({ verb, group, resource, names, namespace }: Grant): Promise<boolean> {
    const [plural, subresource = ""] = resource.split("/");
    const { status, text } = await this.cluster.request(
      "POST",
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: `system:serviceaccount:${NAMESPACE}:${ACCOUNT}`,
          resourceAttributes: {
            ...{ verb, group, resource: plural, subresource },
            name: names?.[0] ?? "",
            namespace: namespace ?? "",
          },
        },
      },
    );
    if (status !== 201) throw new Error(text);
    return JSON.parse(text).status.allowed === true;
  }

  /** Waits until the controller has put right what `spoil` changed. */
  async repaired(apiVersion: string, kind: string): Promise<void> {
    await eventually(`repaired ${kind}`, async () => !await this.isSpoilt(apiVersion, kind));
  }

  async close(): Promise<void> {
    await this.way.close();
    await this.cluster.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #status(
    apiVersion: string,
    kind: string,
    name: string,
    namespace: string | undefined,
    status: unknown,
  ): Promise<void> {
    const path = await this.cluster.pathOf(apiVersion, kind, name, namespace);
    await this.#patch(`${path}/status`, { status });
  }

  async #patch(path: string, patch: unknown): Promise<void> {
    const type = "application/merge-patch+json";
    const answer = await this.cluster.request("PATCH", path, patch, type);
    if (answer.status !== 200) throw new Error(answer.text);
  }
}
