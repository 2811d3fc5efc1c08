/**
 * Where promises are kept: a cluster of two nodes with Pingress in it. In: flags of the controller.
 * Out: applications, load on the proxies' ports, and what the proxies' processes use.
 */
import { CertificateAuthority } from "../../../dev/certificate_authority.ts";
import { eventually } from "../../cluster/support/condition.ts";
import {
  Application,
  type ApplicationOptions,
  buildApplication,
} from "../cluster/app/application.ts";
import { buildPingress, NAMESPACE, Pingress, PROXY } from "../cluster/installation.ts";
import type { NodeCluster, Pod } from "../cluster/node_cluster.ts";
import { Load, type LoadReport } from "../load/load.ts";
import type { Failure, LoadPlan, StreamPlan } from "../load/plan.ts";
import { ask } from "./client.ts";
import { type Finding, inWords } from "./finding.ts";

/** How much of a promise is tried: in CI, or for `docs/promises.md`. */
export type Form = "short" | "long";

/** What the proxies have as `--drain-delay` and `--drain-timeout`, in s. */
export const DRAIN = { delay: 5, timeout: 5 };

/** Proxies drain in seconds, and write no access log: its cost is not what is tried here. */
const FLAGS = [
  `--proxy-drain-delay=${DRAIN.delay}s`,
  `--proxy-drain-timeout=${DRAIN.timeout}s`,
  "--proxy-arg=--access-log=false",
];

const PROXY_ARG = "--proxy-arg=";

/** The application that is always there, and its host. */
const GROUND = "ground";
const GROUND_HOST = `${GROUND}.test`;

/** Until something that was asked for has reached the proxies, in ms. */
const PATIENCE = 120_000;

export class Scene {
  readonly cluster: NodeCluster;
  readonly pingress: Pingress;
  /** Signs what Secrets of this scene hold. */
  readonly authority: CertificateAuthority;
  /** Where proxies answer for everybody: each of the DaemonSet's, or a Service. */
  #entries: readonly { readonly address: string; readonly port: number }[];
  #configuration = "HostPort";
  #names = 0;

  private constructor(cluster: NodeCluster, pingress: Pingress, authority: CertificateAuthority) {
    this.cluster = cluster;
    this.pingress = pingress;
    this.authority = authority;
    this.#entries = cluster.nodeAddresses.map((address) => ({ address, port: 80 }));
  }

  /** Builds all images, and installs Pingress as a DaemonSet. */
  static async open(cluster: NodeCluster): Promise<Scene> {
    await buildApplication(cluster);
    await buildPingress(cluster);
    const pingress = new Pingress(cluster, "HostPort");
    await pingress.apply({ args: FLAGS });
    // There are proxies for as long as there is an Ingress.
    await cluster.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: GROUND } });
    const ground = { namespace: GROUND, replicas: 1, host: GROUND_HOST };
    await Application.start(cluster, ground);
    await pingress.waitForControllers();
    await pingress.waitForProxies();
    return new Scene(cluster, pingress, await CertificateAuthority.create("Promises"));
  }

  /**
   * Applies the controller with more flags, and waits until all proxies are as these say; nothing
   * happens where they are. Where proxies have no ports of nodes, they are asked through a Service.
   */
  async configure(
    backend: "HostPort" | "LoadBalancer",
    more: readonly string[] = [],
  ): Promise<void> {
    const configuration = [backend, ...more].join(" ");
    if (configuration === this.#configuration) return;
    this.#configuration = configuration;
    const before = await this.pingress.proxies();
    await this.pingress.apply({ backend, args: [...FLAGS, ...more] });
    await this.pingress.waitForControllers();
    const kind = backend === "HostPort" ? "DaemonSet" : "Deployment";
    const wanted = more.filter((flag) => flag.startsWith(PROXY_ARG))
      .map((flag) => flag.slice(PROXY_ARG.length));
    await eventually(`${kind} with ${wanted.join(" ")}`, async () => {
      const text = JSON.stringify(await this.cluster.get("apps/v1", kind, PROXY, NAMESPACE));
      return text !== "null" && wanted.every((flag) => text.includes(JSON.stringify(flag)));
    }, PATIENCE);
    await new Pingress(this.cluster, backend).waitForProxies();
    if (backend === "HostPort") return;
    // Those of the DaemonSet drain, and clients of their own ports with them.
    await this.proxiesGone(before.map(({ metadata }) => metadata.name));
    const { address, httpPort: port } = await this.proxyService();
    this.#entries = [{ address, port }];
  }

  /** A namespace that is deleted in the end; nothing waits for it. */
  async within<T>(prefix: string, run: (namespace: string) => Promise<T>): Promise<T> {
    const name = `${prefix}-${++this.#names}`;
    await this.cluster.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    try {
      return await run(name);
    } finally {
      await this.cluster.request("DELETE", `/api/v1/namespaces/${name}`).catch(() => {});
    }
  }

  /** Starts an application, and waits until every proxy serves it. */
  async application(options: ApplicationOptions): Promise<Application> {
    const application = await Application.start(this.cluster, options);
    await this.served(options.host);
    return application;
  }

  /** Waits until proxies answer 200 for this host everywhere, or send to HTTPS. */
  async served(host: string, path = "/?id=1", patience = PATIENCE): Promise<void> {
    for (const entry of this.#entries) {
      await eventually(`${host} on ${entry.address}`, async () => {
        const answer = await ask(entry, { host, path }).catch(() => null);
        return answer?.status === 200 || answer?.status === 308;
      }, patience);
    }
  }

  /** Waits until proxies know this host nowhere any more. */
  async notServed(host: string): Promise<void> {
    for (const entry of this.#entries) {
      await eventually(`404 for ${host} on ${entry.address}`, async () => {
        const answer = await ask(entry, { host, path: "/" }).catch(() => null);
        return answer?.status === 404;
      }, PATIENCE);
    }
  }

  /** Load on the host ports of the first node, unless it says otherwise. */
  async load(plan: Partial<LoadPlan> & Pick<LoadPlan, "streams">): Promise<Load> {
    return await Load.start({
      address: this.cluster.nodeAddress,
      httpPort: 80,
      httpsPort: 443,
      authority: this.authority.certificate,
      ...plan,
    });
  }

  /**
   * A Service before all proxies; for the plan of load on it. By its own address: a port of a node
   * is answered by that node itself, with a reset, for the moments in which its rules have no proxy
   * for it (seen here for up to 0.4 s when any pod ends), and that is not the proxies' doing. Until
   * the node has rules for it, its address leads out of the cluster, where a network may have an
   * answer to anything (seen: a gateway's 404): only that of an application is the proxies'.
   */
  async proxyService(): Promise<Pick<LoadPlan, "address" | "httpPort" | "httpsPort">> {
    const name = "promises";
    const ports = { httpPort: 80, httpsPort: 443 };
    await this.cluster.apply({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: NAMESPACE },
      spec: {
        selector: { "app.kubernetes.io/name": PROXY },
        ports: [
          { name: "http", port: ports.httpPort, targetPort: "http" },
          { name: "https", port: ports.httpsPort, targetPort: "https" },
        ],
      },
    });
    const { spec } = (await this.cluster.get("v1", "Service", name, NAMESPACE))!;
    const address = (spec as { readonly clusterIP: string }).clusterIP;
    await eventually(
      "answer of the proxies' Service",
      () =>
        ask({ address, port: ports.httpPort }, { host: GROUND_HOST, path: "/?id=1" })
          .then(({ status }) => status === 200, () => false),
      PATIENCE,
    );
    return { address, ...ports };
  }

  /**
   * After the API server's end, Kubernetes' own controllers wait for up to half a minute until they
   * watch again, and longer with each end. They start anew, so that they do at once.
   */
  async watchAnew(): Promise<void> {
    for (const part of ["controller-manager", "scheduler", "kube-proxy"] as const) {
      await this.cluster.stop(part);
      await this.cluster.start(part);
    }
  }

  /** As `kubectl rollout restart`; does not wait. */
  async restartProxies(kind: "DaemonSet" | "Deployment"): Promise<void> {
    const what = [`${kind.toLowerCase()}/${PROXY}`, `--namespace=${NAMESPACE}`];
    await this.cluster.kubectl(["rollout", "restart", ...what]);
  }

  /** Waits until none of these proxies is left. */
  async proxiesGone(names: readonly string[]): Promise<void> {
    await eventually(`end of ${names.join(", ")}`, async () => {
      return (await this.pingress.proxies()).every(({ metadata }) =>
        !names.includes(metadata.name)
      );
    }, PATIENCE);
  }

  /** The processes of the proxies, by their pods' names. */
  async proxyProcesses(): Promise<Map<string, number>> {
    const processes = new Map<string, number>();
    for (const pod of await this.pingress.proxies()) {
      const pid = await processOf(pod);
      if (pid !== null) processes.set(pod.metadata.name, pid);
    }
    return processes;
  }

  /**
   * Deletes a pod whose process was killed, so that another starts at once: the kubelet waits longer
   * each time before it starts the same one anew. Where it already has, the pod ends in good order.
   */
  async replace({ metadata: { name, namespace } }: Pod): Promise<void> {
    await this.cluster.delete("v1", "Pod", name, namespace);
  }
}

/**
 * Requests a second in all, as most clients' are: three of four on kept connections, and three of
 * four without a body.
 */
export function mixedStreams(
  host: string,
  rate: number,
  more: Partial<StreamPlan> = {},
): StreamPlan[] {
  const of = (
    method: "GET" | "POST",
    connections: "kept" | "new",
    share: number,
  ): StreamPlan => ({
    name: `${method} ${connections}`,
    method,
    connections,
    rate: rate * share,
    host,
    path: "/",
    ...more,
  });
  return [
    of("GET", "kept", 0.6),
    of("GET", "new", 0.15),
    of("POST", "kept", 0.15),
    of("POST", "new", 0.1),
  ];
}

/** What a load was, and how fast it was answered, for whoever compares. */
export function noteLoad(finding: Finding, { seconds, streams, cpu, lag }: LoadReport): void {
  const total = streams.reduce((sum, { answered, failed }) => sum + answered + failed, 0);
  const worst = Math.max(...streams.map(({ p99 }) => p99));
  finding.note(
    "load",
    `${total} requests in ${Math.round(seconds)} s, ${Math.round(total / seconds)}/s, ` +
      `p99 ${inWords(worst)}, CPU of the clients ${(100 * cpu / seconds).toFixed(0)} %, ` +
      `behind by ${inWords(lag.max)} at most`,
  );
}

/** A line for each failure. */
export function linesOf(failures: readonly Failure[]): string[] {
  return failures.map(({ stream, how, at, after, written, detail, before }) =>
    `${new Date(at).toISOString()} ${stream}: ${how} after ${Math.round(after)} ms, ` +
    `${writtenInWords(written)}request ${before + 1} of its connection: ${
      detail.trim().replace(/\s+/g, " ")
    }`
  );
}

function writtenInWords(written: Failure["written"]): string {
  if (written === undefined) return "";
  return written === null ? "not written, " : `written after ${Math.round(written)} ms, `;
}

/** The first process of a pod's first container, which all of its cgroups name. */
async function processOf({ status }: Pod): Promise<number | null> {
  const id = status.containerStatuses?.[0]?.containerID?.replace(/^containerd:\/\//, "");
  if (id === undefined) return null;
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const cgroup = await Deno.readTextFile(`/proc/${name}/cgroup`).catch(() => "");
    if (cgroup.includes(id)) return Number(name);
  }
  return null;
}
