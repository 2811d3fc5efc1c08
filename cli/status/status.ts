/** The status of an installation and of what it serves. In: facts. Out: rows for text and JSON. Pure. */
import type { Reading } from "../cluster/readings.ts";
import type { Unread } from "../cluster/unread.ts";
import { proxiesOf } from "../installation/installation.ts";
import { asText, fieldOf } from "../../controller/base/json.ts";
import { isPodReady } from "../../controller/outputs/workload/pod_status.ts";
import { behindBecause } from "../installation/proxies_page.ts";
import type { MissingNamespace, StatusFacts } from "./facts.ts";
import { type ServedRow, servedRows } from "./served_rows.ts";

export interface Status {
  readonly served: readonly ServedRow[];
  /** Whether Ingresses and Gateways could be listed: if not, some are missing. */
  readonly listed: boolean;
  /** The namespace that is shown and does not exist; null where it does. */
  readonly missingNamespace: MissingNamespace | null;
  readonly proxies: readonly ProxyRow[];
  readonly controllers: readonly ControllerRow[];
  /** What could not be read, and so is not shown. */
  readonly unread: readonly Unread[];
}

export interface ProxyRow {
  readonly name: string;
  readonly node: string | null;
  readonly ready: boolean;
  /** Null where it is not known. */
  readonly inSync: boolean | null;
  /** Why it is not in sync; null for nothing. */
  readonly reason: string | null;
  readonly version: string | null;
}

export interface ControllerRow {
  readonly name: string;
  readonly ready: boolean;
  readonly leads: boolean;
  /** Proxies on its stream; null where it is not known. */
  readonly proxies: number | null;
  readonly version: string | null;
}

export function statusOf(facts: StatusFacts): Status {
  return {
    served: servedRows(facts),
    listed: facts.objects.ingresses.ok && facts.objects.gateways.ok,
    missingNamespace: facts.missingNamespace,
    proxies: proxyRows(facts),
    controllers: controllerRows(facts),
    unread: unreadOf(facts),
  };
}

function proxyRows({ installation: { proxyPods }, pages: { replicas } }: StatusFacts): ProxyRow[] {
  const connected = new Map(proxiesOf(replicas).map((proxy) => [proxy.name, proxy]));
  const isKnown = replicas.length > 0 &&
    replicas.every(({ proxies }) => proxies.ok && proxies.value !== null);
  const pods = proxyPods.ok ? proxyPods.value : [];
  const rows = pods.map((pod): ProxyRow => {
    const { name } = pod.metadata;
    const proxy = connected.get(name);
    connected.delete(name);
    const ready = isPodReady(pod);
    const base = { name, ready, node: nodeOf(pod) };
    if (proxy !== undefined) {
      const { isInSync: inSync, build: version } = proxy;
      return { ...base, inSync, version, reason: behindBecause(proxy) };
    }
    return isKnown
      ? { ...base, inSync: false, reason: "it has no stream and follows its files", version: null }
      : { ...base, inSync: null, reason: null, version: null };
  });
  // Those outside the cluster, or whose pods may not be listed.
  const others = [...connected.values()].map((proxy): ProxyRow => ({
    ...{ name: proxy.name, node: proxy.node, ready: true },
    ...{ inSync: proxy.isInSync, reason: behindBecause(proxy), version: proxy.build },
  }));
  return [...rows, ...others].sort((a, b) => a.name < b.name ? -1 : 1);
}

function nodeOf(pod: object): string | null {
  return asText(fieldOf(fieldOf(pod, "spec"), "nodeName"));
}

function controllerRows(
  { installation: { controllerPods, leader }, pages: { replicas } }: StatusFacts,
): ControllerRow[] {
  const pages = new Map(replicas.map((replica) => [replica.pod, replica]));
  return (controllerPods.ok ? controllerPods.value : []).map((pod): ControllerRow => {
    const { name } = pod.metadata;
    const page = pages.get(name);
    return {
      name,
      ready: isPodReady(pod),
      leads: leader.ok && leader.value.isAlive && leader.value.name === name,
      proxies: page?.proxies.ok ? page.proxies.value?.proxies.length ?? null : null,
      version: page?.version.ok ? page.version.value : null,
    };
  }).sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Each sentence once. */
function unreadOf(facts: StatusFacts): Unread[] {
  const { objects, installation, pages, certificates, events, stale } = facts;
  const readings = [
    ...Object.values(objects),
    ...[installation.controllerPods, installation.leader, pages.problems],
    ...pages.replicas.flatMap(({ version, proxies }) => [version, proxies]),
    // No documented role has a right on Events: they are shown to those who have it.
    ...[certificates, events === null || isForbidden(events) ? { ok: true as const } : events],
  ];
  const unread = [
    ...readings.flatMap((reading) => reading.ok ? [] : [reading.unread]),
    ...stale,
    ...absentController(facts),
  ];
  // Of several pods, the right is named once; where nothing can be read, the objects that are shown.
  return unread.filter(({ remedy }, i) =>
    unread.findIndex((other) => other.remedy === remedy) === i
  );
}

function isForbidden(reading: Reading<unknown>): boolean {
  return !reading.ok && reading.code === 403;
}

/** Whoever looks into the wrong namespace, or cluster, sees it. */
function absentController({ installation: { controllerPods, namespace } }: StatusFacts): Unread[] {
  if (!controllerPods.ok || controllerPods.value.length > 0) return [];
  return [{
    message: `there is no pod of the controller in namespace ${namespace}`,
    remedy: "Correct --system-namespace; pingress check says what is missing",
  }];
}
