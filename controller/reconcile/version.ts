/**
 * The version of what is published. In: how far each kind has been seen, the version that stands there
 * now, and what proxies have in force. Out: the next version, which is never older, and the kinds that
 * must catch up before it may be used. Pure.
 *
 * Newer means that no component is smaller and one is larger. Replicas list and watch at different
 * moments, so one that has seen the very same objects may know of a smaller resourceVersion than
 * another published: it may only take that one's once it knows that nothing came in between.
 *
 * Kinds of Gateway API come and go with their CRDs, at other moments for each replica. Yet versions of
 * one epoch stay comparable, and no such kind holds up Ingresses:
 *
 * - One etcd counts for all kinds: objects of a kind that was removed and installed again have larger
 *   resourceVersions than any before, and an object has the same one in each version of its API. So a
 *   component never has to begin anew.
 * - A kind that a replica has not found is there as "0", which is older than any other. Left out, it
 *   would tell nothing, and a proxy would take a configuration without the routes of a CRD that this
 *   replica has not discovered yet.
 * - A kind that is gone keeps the component of what was published, once a discovery made since has
 *   confirmed that it is gone: that knows of all deletions. Left out, a replica whose watch is late would
 *   bring deleted routes back unnoticed. Proxies in files mode see the same: it never gets smaller.
 * - While one of these kinds is behind, or not known yet, what is published of Gateways stays, and so do
 *   all components of these kinds: the version says what is in the configuration. All else goes on.
 */
import type { SnapshotVersion } from "../../shared/snapshot/types.ts";
import { compareRevisions, newestRevision } from "../kube/revision.ts";

/** How far one kind has been seen. */
export interface SeenKind {
  /** `Ingress`. */
  readonly kind: string;
  /** The resourceVersion that its objects stand for: of a list or of an event. */
  readonly seen: string;
  /** Up to here nothing else has happened: as `seen`, or a later bookmark's. */
  readonly revision: string;
  /** It was listed anew for `behind`, so it is newer than all that was published before that. */
  readonly isFresh: boolean;
  /** Of Gateway API: where one of them is behind, what is published of Gateways stays. */
  readonly isOfGateways?: boolean;
}

export interface NextVersion {
  readonly version: SnapshotVersion;
  /** Kinds that have not seen what was published. */
  readonly behind: readonly string[];
  /** Those of them with which nothing is to be published. */
  readonly blocking: readonly string[];
  /** Whether the version is that of Gateways as they are published, not of those that are seen here. */
  readonly keepsGateways: boolean;
}

/** What else decides the next version. */
export interface VersionContext {
  /** By kind, what proxies have in force and a list made since has borne out. */
  readonly claimed?: ReadonlyMap<string, string>;
  /** Whether it is not known yet which objects of Gateway API there are. */
  readonly isGatewayPending?: boolean;
  /** Whether what is published can be read, so that parts of it can stay. */
  readonly canKeep?: boolean;
}

/** @param epoch UID of the namespace kube-system: another cluster's numbers mean nothing. */
export function nextVersion(
  epoch: string,
  kinds: readonly SeenKind[],
  published: SnapshotVersion | null,
  { claimed = new Map(), isGatewayPending = false, canKeep = true }: VersionContext = {},
): NextVersion {
  const before = published?.epoch === epoch ? published.seen : {};
  const behind: SeenKind[] = [];
  const versions = kinds.map((one) => {
    const { kind, seen, revision, isFresh } = one;
    const least = newestRevision([seen, claimed.get(kind) ?? "0"]);
    const wanted = before[kind];
    if (wanted === undefined || compareRevisions(least, wanted) >= 0) return least;
    if (!isFresh && compareRevisions(revision, wanted) < 0) behind.push(one);
    return wanted;
  });
  const keepsGateways = isGatewayPending ||
    (canKeep && behind.some(({ isOfGateways }) => isOfGateways));
  const seen = kinds.map(({ kind, seen, isOfGateways }, i) => {
    if (!keepsGateways || !isOfGateways) return [kind, versions[i]];
    // What was never listed here and yet is borne out cannot be had: nobody knows better than proxies.
    const least = seen === "0" ? claimed.get(kind) ?? "0" : "0";
    return [kind, newestRevision([before[kind] ?? "0", least])];
  });
  return {
    version: { epoch, seen: Object.fromEntries(seen) },
    behind: behind.map(({ kind }) => kind),
    blocking: behind.filter(({ isOfGateways = false }) => !(keepsGateways && isOfGateways))
      .map(({ kind }) => kind),
    keepsGateways,
  };
}
