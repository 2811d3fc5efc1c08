/**
 * The application behind the proxies: a Deployment, its Service and its Ingress. In: a cluster, and
 * how many of it. Out: its pods, and what a test does to them.
 */
import { join } from "node:path";
import type { KubeObject } from "../../../cluster/support/api_client.ts";
import { BUILD_FLAGS } from "../../../peers/go_program.ts";
import type { NodeCluster, Pod } from "../node_cluster.ts";

const SOURCE = import.meta.dirname!;
const IMAGE = "registry.test/application:1";

/** Builds it with the machine's own Go, and gives it to every node. */
export async function buildApplication(cluster: NodeCluster): Promise<void> {
  const context = await Deno.makeTempDir({ prefix: "pingress-application-" });
  try {
    const { success, stderr } = await new Deno.Command("go", {
      args: ["build", ...BUILD_FLAGS, "-o", join(context, "app"), "."],
      cwd: SOURCE,
      env: { CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOWORK: "off" },
    }).output();
    if (!success) throw new Error(`go build: ${new TextDecoder().decode(stderr)}`);
    await Deno.copyFile(join(SOURCE, "Dockerfile"), join(context, "Dockerfile"));
    await cluster.buildImage({ context, tag: IMAGE });
  } finally {
    await Deno.remove(context, { recursive: true });
  }
}

export interface ApplicationOptions {
  /** Default: `app`. */
  readonly name?: string;
  readonly namespace: string;
  readonly replicas: number;
  /** Of its Ingress; all paths. */
  readonly host: string;
  /** For how long a pod goes on after SIGTERM, in s; default 3. */
  readonly linger?: number;
  /** The Secret with its certificate. */
  readonly tlsSecret?: string;
  /** Of its Service's port; without it HTTP/1.1 is spoken. */
  readonly appProtocol?: string;
}

export class Application {
  readonly options: ApplicationOptions;
  readonly name: string;
  readonly #cluster: NodeCluster;

  private constructor(cluster: NodeCluster, options: ApplicationOptions) {
    this.#cluster = cluster;
    this.options = options;
    this.name = options.name ?? "app";
  }

  /** Applies it and waits until all pods are ready; proxies may not know of it yet. */
  static async start(cluster: NodeCluster, options: ApplicationOptions): Promise<Application> {
    const application = new Application(cluster, options);
    const { name } = application;
    const { namespace, replicas, host, tlsSecret, appProtocol } = options;
    await cluster.apply([
      deployment(name, options),
      serviceFor({ name, app: name, appProtocol }),
      ingressFor({ name, host, service: name, tlsSecret }),
    ], { namespace });
    await application.ready(replicas);
    return application;
  }

  /** Waits until as many pods as that are ready, and no others are there. */
  async ready(replicas: number): Promise<Pod[]> {
    return await this.#cluster.waitReady(this.options.namespace, `app=${this.name}`, replicas);
  }

  async pods(): Promise<Pod[]> {
    return await this.#cluster.pods(this.options.namespace, `app=${this.name}`);
  }

  /** Does not wait for it. */
  async scale(replicas: number): Promise<void> {
    const { namespace } = this.options;
    const what = [`deployment/${this.name}`, `--namespace=${namespace}`];
    await this.#cluster.kubectl(["scale", ...what, `--replicas=${replicas}`]);
  }

  /** Replaces all pods, and waits until the old ones are gone. */
  async rollOut(): Promise<void> {
    const { namespace, replicas } = this.options;
    const what = [`deployment/${this.name}`, `--namespace=${namespace}`];
    await this.#cluster.kubectl(["rollout", "restart", ...what]);
    await this.#cluster.waitForRollout("Deployment", this.name, namespace);
    await this.ready(replicas);
  }
}

export interface ServiceOptions {
  readonly name: string;
  /** The application whose pods it leads to. */
  readonly app: string;
  readonly appProtocol?: string;
}

/** A Service for an application's pods. */
export function serviceFor({ name, app, appProtocol }: ServiceOptions): Partial<KubeObject> {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { selector: { app }, ports: [{ port: 80, targetPort: 8080, appProtocol }] },
  };
}

export interface IngressOptions {
  readonly name: string;
  readonly host: string;
  readonly service: string;
  readonly path?: string;
  readonly tlsSecret?: string;
}

/** An Ingress of our class for one host and path. */
export function ingressFor(
  { name, host, service, path = "/", tlsSecret }: IngressOptions,
): Partial<KubeObject> {
  const backend = { service: { name: service, port: { number: 80 } } };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name },
    spec: {
      ingressClassName: "pingress",
      rules: [{ host, http: { paths: [{ path, pathType: "Prefix", backend }] } }],
      ...(tlsSecret === undefined ? {} : { tls: [{ hosts: [host], secretName: tlsSecret }] }),
    },
  };
}

function deployment(
  name: string,
  { replicas, linger = 3 }: ApplicationOptions,
): Partial<KubeObject> {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: "30%" } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          enableServiceLinks: false,
          automountServiceAccountToken: false,
          containers: [{
            name: "app",
            image: IMAGE,
            imagePullPolicy: "Never",
            env: [
              { name: "LINGER", value: `${linger}s` },
              { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            ],
            ports: [{ containerPort: 8080 }],
            // A machine that stands still for some seconds is not the application's end: by default a
            // probe has one, and after three of them nobody is ready, which no proxy can help.
            readinessProbe: {
              httpGet: { path: "/ready", port: 8080 },
              periodSeconds: 1,
              timeoutSeconds: 5,
            },
            // The weight of its CPU time: with less, proxies leave it nothing where cores are busy.
            resources: { requests: { cpu: "50m", memory: "16Mi" } },
          }],
        },
      },
    },
  };
}
