/**
 * An installation by `manifests/`, without a kubelet that would run it. In: a cluster. Out: the
 * objects in it, and a controller with exactly the rights that the manifests give, whose requests
 * are recorded.
 */
import { type ApiGateway, type RecordedRequest, startGateway } from "./api_gateway.ts";
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";
import { ControllerProcess } from "./controller_process.ts";
import { FAST_ELECTION } from "./elections.ts";
import { manifest } from "./kubectl.ts";
import { NAMESPACE, PROXY } from "./predecessor.ts";

export const ACCOUNT = "pingress-controller-user";

/** What lasts ten seconds and more by default is too long for tests. */
const QUICK = [...FAST_ELECTION, "--endpoint-interval=100ms"];

/** Makes namespace, rights and class; `rights` is a file of `manifests/`. */
export async function install(cluster: TestCluster, rights = "hostport.yaml"): Promise<void> {
  for (const file of ["00-namespace.yaml", rights, "ingress-class.yaml"]) {
    await cluster.apply(await manifest<KubeObject>(file), { fieldManager: "installation" });
  }
}

/** The controller's way to the API server. */
export class Way {
  readonly cluster: TestCluster;
  readonly gateway: ApiGateway;
  readonly kubeconfig: string;

  private constructor(
    cluster: TestCluster,
    gateway: ApiGateway,
    kubeconfig: string,
  ) {
    this.cluster = cluster;
    this.gateway = gateway;
    this.kubeconfig = kubeconfig;
  }

  /** For the manifests' service account. */
  static async open(cluster: TestCluster): Promise<Way> {
    const token = await cluster.serviceAccountToken(NAMESPACE, ACCOUNT);
    const gateway = await startGateway(cluster);
    return new Way(cluster, gateway, await gateway.kubeconfigFor(token));
  }

  /** A replica, once it is ready. */
  async start(...args: readonly string[]): Promise<ControllerProcess> {
    return await ControllerProcess.start(this.#options(args));
  }

  /** A replica, at once. */
  async spawn(...args: readonly string[]): Promise<ControllerProcess> {
    return await ControllerProcess.spawn(this.#options(args));
  }

  #options(args: readonly string[]) {
    return { kubeconfig: this.kubeconfig, args: [...QUICK, ...args] };
  }

  /** What the API server refused for lack of rights, as `verb resource namespace/name`. */
  refused(from = 0): string[] {
    return this.gateway.requests.slice(from).filter(({ status }) => status === 403).map(describe);
  }

  async close(): Promise<void> {
    await this.gateway.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function describe({ verb, resource, subresource, namespace, name }: RecordedRequest): string {
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  return `${verb} ${what} ${namespace}/${name}`;
}

/** The API server's own count of a controller's calls with this status, by the controller. */
export async function countOf(controller: ControllerProcess, code: number): Promise<number> {
  const { text } = await controller.admin("/metrics");
  return text.split("\n")
    .filter((line) => line.startsWith("pingress_controller_api_requests_total{"))
    .filter((line) => line.includes(`code="${code}"`))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** As nodes and their kubelets would: the status of a rollout of which so many of `pods` are done. */
export async function rollOut(
  cluster: TestCluster,
  kind: "DaemonSet" | "Deployment",
  updated: number,
  pods = updated,
): Promise<void> {
  const path = await cluster.pathOf("apps/v1", kind, PROXY, NAMESPACE);
  const { metadata } = (await cluster.request("GET", path)).body;
  const common = { observedGeneration: metadata?.generation, conditions: [] };
  const status = kind === "DaemonSet"
    ? {
      ...common,
      currentNumberScheduled: pods,
      numberMisscheduled: 0,
      desiredNumberScheduled: pods,
      numberReady: pods,
      numberAvailable: pods,
      updatedNumberScheduled: updated,
    }
    : {
      ...common,
      replicas: pods,
      readyReplicas: pods,
      availableReplicas: pods,
      updatedReplicas: updated,
    };
  const answer = await cluster.request(
    "PATCH",
    `${path}/status`,
    { status },
    "application/merge-patch+json",
  );
  if (answer.status !== 200) throw new Error(answer.text);
}

/** A Service with one endpoint, and an Ingress that leads `host` there. */
export async function serve(
  cluster: TestCluster,
  namespace: string,
  name: string,
  spec: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const rule = {
    host: `${name}.example.com`,
    http: {
      paths: [{
        path: "/",
        pathType: "Prefix",
        backend: { service: { name, port: { number: 80 } } },
      }],
    },
  };
  await cluster.apply([
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { ports: [{ name: "http", port: 80 }] },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8000, protocol: "TCP" }],
      endpoints: [{ addresses: ["10.1.2.3"], conditions: { ready: true } }],
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name },
      spec: { ingressClassName: "pingress", rules: [rule], ...spec },
    },
  ], { namespace });
}

/** Waits until the API server has no such object any more. */
export async function gone(
  cluster: TestCluster,
  apiVersion: string,
  kind: string,
  name: string,
  namespace = NAMESPACE,
): Promise<void> {
  await eventually(
    `end of ${kind} ${name}`,
    async () => await cluster.get(apiVersion, kind, name, namespace) === null,
  );
}
