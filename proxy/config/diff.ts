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
  BlockedClients,
  Credentials,
  FilterSet,
  HostChange,
  HostSettings,
  Listener,
  PartChange,
  PartList,
  PartOf,
  Policy,
  Route,
  Snapshot,
  SnapshotChange,
  SnapshotVersion,
  Upstream,
} from "../../shared/snapshot/types.ts";
import type { Secret } from "../../shared/redacted.ts";
import { CertificateDiffer } from "../certificates/diff.ts";
import type { CertificateDelta } from "../certificates/store.ts";
import type { ServerCertificate } from "../certificates/store.ts";
import { type PartDelta, PartDiffer } from "./part_diff.ts";
import { RouteDiffer } from "./route_diff.ts";

/** As `CredentialStore` keeps them; null where they cannot be used. */
export interface StoredCredentials {
  readonly id: string;
  readonly users: Secret | null;
}

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
  readonly credentials: PartDelta<StoredCredentials>;
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
  /** Networks whose forwarded headers are believed, besides those of the process. */
  readonly trustedProxies: readonly string[];
  /** Null where the snapshot has none. */
  readonly blockedClients: BlockedClients | null;
}

export interface HostRoutes {
  readonly host: string;
  readonly routes: readonly Route[];
}

/** As it is known in the main thread, with what there was before. */
export interface SupervisedDelta extends SnapshotDelta {
  readonly hosts: readonly HostChange[];
}

/**
 * Compares each snapshot with the one before, or follows the change from one to the other where that
 * is known: a delta of the stream names it.
 */
export class SnapshotDiffer {
  /** The last one. */
  #snapshot: Snapshot | null = null;
  readonly #routes = new RouteDiffer();
  readonly #hostSettings = new PartDiffer<HostSettings>();
  readonly #filterSets = new PartDiffer<FilterSet>();
  readonly #policies = new PartDiffer<Policy>();
  readonly #credentials = new PartDiffer<Credentials>();
  readonly #upstreams = new PartDiffer<Upstream>();
  readonly #certificates = new CertificateDiffer();

  /**
   * What changed since the last call; everything at the first.
   *
   * @param carried What the snapshot differs in, and from which. It counts where that is the very one
   *   of the last call; otherwise the two are compared.
   */
  diff(
    snapshot: Snapshot,
    certificates: readonly ServerCertificate[],
    carried: SnapshotChange | null = null,
  ): SupervisedDelta {
    const change = carried !== null && carried.base === this.#snapshot
      ? this.#follow(snapshot, carried)
      : this.#compare(snapshot);
    this.#snapshot = snapshot;
    const { hosts, parts } = change;
    const { hostSettings, filterSets, policies, credentials, upstreams } = parts;
    const replaced = new Set([...idsOfOthers(filterSets), ...idsOfOthers(policies)]);
    return {
      version: snapshot.version,
      listeners: listOf(snapshot, "listeners"),
      hostSettings: deltaOf(hostSettings),
      hosts: replaced.size === 0
        ? hosts
        : [...hosts, ...dependants(snapshot.routes, replaced, hosts)],
      defaultAction: snapshot.defaultAction,
      filterSets: deltaOf(filterSets),
      policies: deltaOf(policies),
      credentials: {
        changed: credentials.changed.map(({ id, users }) => {
          // One that is a file here has not been published with its text, so it is as good as none.
          return { id, users: users.kind === "secret" ? users.text : null };
        }),
        removed: credentials.removed,
      },
      upstreams: upstreams.changed,
      removedUpstreams: upstreams.removed,
      certificates: this.#certificates.diff(certificates),
      defaultCertificate: snapshot.defaultCertificate,
      loopMark: snapshot.loopMark ?? null,
      denied: snapshot.denied ?? NO_NETWORKS,
      trustedProxies: snapshot.trustedProxies ?? NO_NETWORKS,
      blockedClients: snapshot.blockedClients ?? null,
    };
  }

  #compare(snapshot: Snapshot): FollowedChange {
    return {
      hosts: this.#routes.update(snapshot.routes),
      parts: {
        hostSettings: this.#hostSettings.update(listOf(snapshot, "hostSettings")),
        filterSets: this.#filterSets.update(listOf(snapshot, "filterSets")),
        policies: this.#policies.update(listOf(snapshot, "policies")),
        credentials: this.#credentials.update(listOf(snapshot, "credentials")),
        upstreams: this.#upstreams.update(snapshot.upstreams),
      },
    };
  }

  #follow(snapshot: Snapshot, change: SnapshotChange): FollowedChange {
    const { hosts, parts } = change;
    this.#routes.follow(snapshot.routes, hosts);
    this.#hostSettings.follow(listOf(snapshot, "hostSettings"), parts.hostSettings);
    this.#filterSets.follow(listOf(snapshot, "filterSets"), parts.filterSets);
    this.#policies.follow(listOf(snapshot, "policies"), parts.policies);
    this.#credentials.follow(listOf(snapshot, "credentials"), parts.credentials);
    this.#upstreams.follow(snapshot.upstreams, parts.upstreams);
    return change;
  }
}

/** Listeners go to workers whole, and certificates are compared as they are used. */
interface FollowedChange extends Pick<SnapshotChange, "hosts"> {
  readonly parts: Omit<SnapshotChange["parts"], "listeners" | "certificates">;
}

function listOf<L extends PartList>(snapshot: Snapshot, list: L): readonly PartOf<L>[] {
  return (snapshot[list] ?? NONE) as readonly PartOf<L>[];
}

/** Of those that were there before and are others now. */
function idsOfOthers({ replaced, removed }: PartChange<{ readonly id: string }>): string[] {
  const gone = new Set(removed);
  return replaced.map(({ id }) => id).filter((id) => !gone.has(id));
}

function deltaOf<T>({ changed, removed }: PartChange<T>): PartDelta<T> {
  return { changed, removed };
}

/** The same list each time, so that nothing seems to have changed. */
const NONE: readonly never[] = [];
const NO_NETWORKS: readonly string[] = [];

/**
 * The other hosts with routes that use one of these filter sets and policies: what a controller writes
 * has the hash of its content as id, but a file that is written by hand need not.
 */
function dependants(
  routes: readonly Route[],
  ids: ReadonlySet<string>,
  hosts: readonly HostRoutes[],
): HostChange[] {
  const stale = new Set(routes.filter((route) => uses(route, ids)).map(({ host }) => host));
  for (const { host } of hosts) stale.delete(host);
  const theirs = Map.groupBy(routes.filter(({ host }) => stale.has(host)), ({ host }) => host);
  return [...theirs].map(([host, routes]) => ({ host, before: routes, routes }));
}

function uses({ action, filterSet = "", policy = "" }: Route, ids: ReadonlySet<string>): boolean {
  return ids.has(filterSet) || ids.has(policy) ||
    (action.kind === "forward" &&
      action.backends.some(({ filterSet = "", policy = "" }) =>
        ids.has(filterSet) || ids.has(policy)
      ));
}

/** Whether there are users whose passwords may be to verify. */
export function hasUsers({ credentials: { changed } }: SnapshotDelta): boolean {
  return changed.some(({ users }) => users !== null);
}
