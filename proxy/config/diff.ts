/**
 * What differs between two snapshots. In: the one in force and the next, with their certificates.
 * Out: the hosts, upstreams and certificates that changed, and no others, so that a worker compiles
 * only those: taking in 10,000 routes at once would stall it for 16 to 31 ms.
 *
 * The pieces are compared by identity, then by their JSON, which is what made them. A delta is plain
 * data that can be posted to a worker, but for the keys of certificates, which `worker_protocol.ts`
 * wraps and unwraps.
 */
import type {
  Action,
  FilterSet,
  HostSettings,
  Listener,
  Policy,
  Route,
  Snapshot,
  SnapshotVersion,
  Upstream,
} from "../../shared/snapshot/types.ts";
import { CertificateDiffer } from "../certificates/diff.ts";
import type { CertificateDelta } from "../certificates/store.ts";
import type { ServerCertificate } from "../certificates/store.ts";
import { type PartDelta, PartDiffer } from "./part_diff.ts";
import { RouteDiffer } from "./route_diff.ts";

export interface SnapshotDelta {
  readonly version: SnapshotVersion;
  /** All of them. */
  readonly listeners: readonly Listener[];
  readonly hostSettings: PartDelta<HostSettings>;
  /** Hosts whose routes changed, with all of their routes now, in order; none for a removed host. */
  readonly hosts: readonly HostRoutes[];
  readonly defaultAction: Action | null;
  readonly filterSets: PartDelta<FilterSet>;
  readonly policies: PartDelta<Policy>;
  /** New and changed ones. */
  readonly upstreams: readonly Upstream[];
  /** Ids. */
  readonly removedUpstreams: readonly string[];
  readonly certificates: CertificateDelta;
  readonly defaultCertificate: string | null;
  /** The published one; null for none. */
  readonly loopMark: string | null;
  /** Addresses and networks that no name may stand for. */
  readonly denied: readonly string[];
}

export interface HostRoutes {
  readonly host: string;
  readonly routes: readonly Route[];
}

const NO_LISTENERS: readonly Listener[] = [];
const NO_SETTINGS: readonly HostSettings[] = [];
const NO_FILTER_SETS: readonly FilterSet[] = [];
const NO_POLICIES: readonly Policy[] = [];
const NONE_DENIED: readonly string[] = [];

/** Compares each snapshot with the one before. */
export class SnapshotDiffer {
  readonly #routes = new RouteDiffer();
  readonly #hostSettings = new PartDiffer<HostSettings>();
  readonly #filterSets = new PartDiffer<FilterSet>();
  readonly #policies = new PartDiffer<Policy>();
  readonly #upstreams = new PartDiffer<Upstream>();
  readonly #certificates = new CertificateDiffer();

  /** What changed since the last call; everything at the first. */
  diff(snapshot: Snapshot, certificates: readonly ServerCertificate[]): SnapshotDelta {
    const { routes, filterSets = NO_FILTER_SETS, policies = NO_POLICIES } = snapshot;
    const replaced = new Set<string>();
    const settings = {
      filterSets: this.#filterSets.update(filterSets, replaced),
      policies: this.#policies.update(policies, replaced),
    };
    const hosts = this.#routes.update(routes).map(({ host, routes }) => ({ host, routes }));
    const upstreams = this.#upstreams.update(snapshot.upstreams, new Set());
    return {
      version: snapshot.version,
      listeners: snapshot.listeners ?? NO_LISTENERS,
      hostSettings: this.#hostSettings.update(snapshot.hostSettings ?? NO_SETTINGS, new Set()),
      hosts: replaced.size === 0 ? hosts : [...hosts, ...dependants(routes, replaced, hosts)],
      defaultAction: snapshot.defaultAction,
      ...settings,
      upstreams: upstreams.changed,
      removedUpstreams: upstreams.removed,
      certificates: this.#certificates.diff(certificates),
      defaultCertificate: snapshot.defaultCertificate,
      loopMark: snapshot.loopMark ?? null,
      denied: snapshot.denied ?? NONE_DENIED,
    };
  }
}

/**
 * The other hosts with routes that use one of these filter sets and policies: what a controller writes
 * has the hash of its content as id, but a file that is written by hand need not.
 */
function dependants(
  routes: readonly Route[],
  ids: ReadonlySet<string>,
  hosts: readonly HostRoutes[],
): HostRoutes[] {
  const stale = new Set(routes.filter((route) => uses(route, ids)).map(({ host }) => host));
  for (const { host } of hosts) stale.delete(host);
  const theirs = Map.groupBy(routes.filter(({ host }) => stale.has(host)), ({ host }) => host);
  return [...theirs].map(([host, routes]) => ({ host, routes }));
}

function uses({ action, filterSet = "", policy = "" }: Route, ids: ReadonlySet<string>): boolean {
  return ids.has(filterSet) || ids.has(policy) ||
    (action.kind === "forward" &&
      action.backends.some(({ filterSet = "", policy = "" }) =>
        ids.has(filterSet) || ids.has(policy)
      ));
}
