/**
 * Where Pingress runs in a cluster, and what it says of itself. In: a cluster and the namespace of the
 * installation. Out: its objects, its leader, and the pages of its admin ports, each as far as it can be read.
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import { type ControllerOptions, parseControllerOptions } from "../../controller/cli/options.ts";
import { LEASE_NAME } from "../../controller/kube/leader.ts";
import { holderOf, type Lease } from "../../controller/kube/lease.ts";
import {
  DAEMON_SETS,
  DEPLOYMENTS,
  type KubeObject,
  LEASES,
  PODS,
} from "../../controller/kube/types.ts";
import { PROXY_NAME, PROXY_SELECTOR } from "../../controller/outputs/workload/names.ts";
import { isPodReady } from "../../controller/outputs/workload/pod_status.ts";
import type { Cluster } from "../cluster/cluster.ts";
import {
  portOf,
  type Reading,
  readJsonPage,
  readList,
  readObject,
  readPage,
} from "../cluster/readings.ts";
import { type ConnectedProxies, type ConnectedProxy, readProxiesPage } from "./proxies_page.ts";
import { readProblemsPage, type ShownProblem } from "./problems_page.ts";

export const CONTROLLER_NAME = "pingress-controller";
export const NAME_LABEL = "app.kubernetes.io/name";

/** Of the flags `--admin` of both programs. */
const ADMIN_PORTS = { controller: 9091, proxy: 9090 } as const;

/** Milliseconds for which a Lease that seems to be over is watched: longer than its holder waits between renewals. */
const LEASE_WATCH = 3_000;

export interface Installation {
  readonly namespace: string;
  /** The controller's; null where there is none. */
  readonly deployment: Reading<KubeObject | null>;
  /** Of the controller, as its arguments say; null where they cannot be read. */
  readonly options: ControllerOptions | null;
  /** DaemonSet or Deployment of the proxies; null where there is none. */
  readonly workload: Reading<KubeObject | null>;
  /** Both kinds, in the namespace. */
  readonly controllerPods: Reading<readonly KubeObject[]>;
  readonly proxyPods: Reading<readonly KubeObject[]>;
  readonly leader: Reading<Leader>;
}

export interface Leader {
  /** The pod's name; null for nobody. */
  readonly name: string | null;
  /** Whether the Lease was renewed within its duration. */
  readonly isAlive: boolean;
  /** Milliseconds since the last renewal, by the clock of this machine; null where none is known. */
  readonly renewedAgo: number | null;
}

export async function readInstallation(
  cluster: Cluster,
  namespace: string,
  now: () => number,
): Promise<Installation> {
  const [deployments, daemonSets, pods, leader] = await Promise.all([
    readList(cluster, DEPLOYMENTS, { namespace }),
    readList(cluster, DAEMON_SETS, { namespace }),
    readList(cluster, PODS, { namespace }),
    readLeader(cluster, namespace, now),
  ]);
  const deployment = find(deployments, "Deployment", CONTROLLER_NAME);
  return {
    namespace,
    deployment,
    options: deployment.ok && deployment.value !== null ? optionsOf(deployment.value) : null,
    workload: workloadOf(daemonSets, find(deployments, "Deployment", PROXY_NAME)),
    controllerPods: select(pods, CONTROLLER_NAME),
    proxyPods: select(pods, PROXY_SELECTOR[NAME_LABEL]),
    leader,
  };
}

/** The admin pages of the replicas of the controller. */
export interface ControllerPages {
  /** By pod. */
  readonly replicas: readonly ReplicaPages[];
  /** Of the leader; null where nobody leads, or its version has no such page. */
  readonly problems: Reading<readonly ShownProblem[] | null>;
}

export interface ReplicaPages {
  readonly pod: string;
  /** Its Pingress version; null where it does not say. */
  readonly version: Reading<string | null>;
  /** The proxies on its stream; null where its version has no such page. */
  readonly proxies: Reading<ConnectedProxies | null>;
}

/** Of all replicas; a proxy is connected to one of them. */
export function proxiesOf(replicas: readonly ReplicaPages[]): readonly ConnectedProxy[] {
  return replicas.flatMap(({ proxies }) => proxies.ok ? proxies.value?.proxies ?? [] : []);
}

/** Of pods that are ready: others may not respond. */
export async function readControllerPages(
  cluster: Cluster,
  { controllerPods, leader }: Installation,
): Promise<ControllerPages> {
  const pods = controllerPods.ok ? controllerPods.value.filter(isPodReady) : [];
  const leading = leader.ok
    ? pods.find(({ metadata }) => metadata.name === leader.value.name)
    : undefined;
  const [problems, ...replicas] = await Promise.all([
    leading === undefined ? NO_PAGE : readProblems(cluster, leading),
    ...pods.map((pod) => readReplica(cluster, pod)),
  ]);
  return { replicas, problems };
}

const NO_PAGE = { ok: true, value: null } as const;

/** The configuration without private keys; null where its version has no such page. */
export function readSnapshotPage(cluster: Cluster, pod: KubeObject): Promise<Reading<unknown>> {
  return readJsonPage(cluster, pod, portOf(pod, "admin", ADMIN_PORTS.controller), "/snapshot");
}

/** Of a proxy: `/explain` and others. */
export function proxyAdminPort(pod: KubeObject): number {
  return portOf(pod, "admin", ADMIN_PORTS.proxy);
}

async function readProblems(
  cluster: Cluster,
  pod: KubeObject,
): Promise<Reading<readonly ShownProblem[] | null>> {
  const page = await readJsonPage(
    cluster,
    pod,
    portOf(pod, "admin", ADMIN_PORTS.controller),
    "/problems",
  );
  return page.ok && page.value !== null
    ? { ok: true, value: readProblemsPage(page.value) }
    : page as Reading<null>;
}

async function readReplica(cluster: Cluster, pod: KubeObject): Promise<ReplicaPages> {
  const port = portOf(pod, "admin", ADMIN_PORTS.controller);
  const [metrics, proxies] = await Promise.all([
    readPage(cluster, pod, port, "/metrics"),
    readJsonPage(cluster, pod, port, "/proxies"),
  ]);
  return {
    pod: pod.metadata.name,
    version: metrics.ok ? { ok: true, value: versionOf(metrics.value ?? "") } : metrics,
    proxies: proxies.ok && proxies.value !== null
      ? { ok: true, value: readProxiesPage(proxies.value) }
      : proxies as Reading<null>,
  };
}

/** Of the metrics' text; null where it has none. */
export function versionOf(metrics: string): string | null {
  return /^pingress_controller_info\{version="([\w.+-]{1,64})"\} 1$/m.exec(metrics)?.[1] ?? null;
}

/** Null for arguments that this version does not know. */
export function optionsOf(deployment: KubeObject): ControllerOptions | null {
  const spec = fieldOf(fieldOf(fieldOf(deployment, "spec"), "template"), "spec");
  const containers = asList(fieldOf(spec, "containers")) ?? [];
  const container = containers.find((one) => fieldOf(one, "name") === CONTROLLER_NAME) ??
    containers[0];
  const args = (asList(fieldOf(container, "args")) ?? []).flatMap((arg) => asText(arg) ?? []);
  const parsed = parseControllerOptions(args);
  return parsed.kind === "ok" ? parsed.options : null;
}

/** The account of the controller's pods; null where there is none of its own. */
export function accountOf(deployment: KubeObject): string | null {
  const spec = fieldOf(fieldOf(fieldOf(deployment, "spec"), "template"), "spec");
  return asText(fieldOf(spec, "serviceAccountName"));
}

async function readLeader(
  cluster: Cluster,
  namespace: string,
  now: () => number,
): Promise<Reading<Leader>> {
  const read = () => readObject<Lease>(cluster, LEASES, namespace, LEASE_NAME);
  const first = await read();
  if (!first.ok) return first;
  const leader = leaderOf(first.value, now());
  if (leader.name === null || leader.isAlive) return { ok: true, value: leader };
  // The clocks may differ: what counts is whether it is renewed.
  await new Promise((resolve) => setTimeout(resolve, LEASE_WATCH));
  const second = await read();
  if (!second.ok) return second;
  const again = leaderOf(second.value, now());
  const isAlive = second.value?.spec?.renewTime !== first.value?.spec?.renewTime;
  return { ok: true, value: { ...again, isAlive } };
}

/** @param now Milliseconds since the epoch. */
export function leaderOf(lease: Lease | null, now: number): Leader {
  const name = holderOf(lease)?.split("_")[0] ?? null;
  const renewed = Date.parse(lease?.spec?.renewTime ?? "");
  const renewedAgo = Number.isNaN(renewed) ? null : now - renewed;
  const duration = (lease?.spec?.leaseDurationSeconds ?? 0) * 1000;
  return { name, isAlive: renewedAgo !== null && renewedAgo <= duration, renewedAgo };
}

function find(
  list: Reading<readonly KubeObject[]>,
  kind: string,
  name: string,
): Reading<KubeObject | null> {
  if (!list.ok) return list;
  const found = list.value.find(({ metadata }) => metadata.name === name);
  // Items of a list do not say their kind.
  return { ok: true, value: found === undefined ? null : { ...found, kind } };
}

function workloadOf(
  daemonSets: Reading<readonly KubeObject[]>,
  deployment: Reading<KubeObject | null>,
): Reading<KubeObject | null> {
  const daemonSet = find(daemonSets, "DaemonSet", PROXY_NAME);
  if (daemonSet.ok && daemonSet.value !== null) return daemonSet;
  if (deployment.ok && deployment.value !== null) return deployment;
  return daemonSet.ok ? deployment : daemonSet;
}

function select(
  list: Reading<readonly KubeObject[]>,
  name: string,
): Reading<readonly KubeObject[]> {
  return list.ok
    ? {
      ok: true,
      value: list.value.filter(({ metadata }) => metadata.labels?.[NAME_LABEL] === name),
    }
    : list;
}
