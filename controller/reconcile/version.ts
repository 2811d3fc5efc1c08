/**
 * The version of what is published. In: how far each kind has been seen, the version that stands there
 * now, and what proxies have in force. Out: the next version, which is never older, and the kinds that
 * must catch up before it may be used. Pure.
 *
 * Newer means that no component is smaller and one is larger. Replicas list and watch at different
 * moments, so one that has seen the very same objects may know of a smaller resourceVersion than
 * another published: it may only take that one's once it knows that nothing came in between.
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
}

export interface NextVersion {
  readonly version: SnapshotVersion;
  /** Kinds that have not seen what was published; with one of them, nothing is to be published. */
  readonly behind: readonly string[];
}

/**
 * @param epoch UID of the namespace kube-system: another cluster's numbers mean nothing.
 * @param claimed By kind, what proxies have in force and a list made since has borne out.
 */
export function nextVersion(
  epoch: string,
  kinds: readonly SeenKind[],
  published: SnapshotVersion | null,
  claimed: ReadonlyMap<string, string> = new Map(),
): NextVersion {
  const before = published?.epoch === epoch ? published.seen : {};
  const behind: string[] = [];
  const seen = kinds.map(({ kind, seen, revision, isFresh }) => {
    const least = newestRevision([seen, claimed.get(kind) ?? "0"]);
    const wanted = before[kind];
    if (wanted === undefined || compareRevisions(least, wanted) >= 0) return [kind, least];
    if (!isFresh && compareRevisions(revision, wanted) < 0) behind.push(kind);
    return [kind, wanted];
  });
  return { version: { epoch, seen: Object.fromEntries(seen) }, behind };
}
