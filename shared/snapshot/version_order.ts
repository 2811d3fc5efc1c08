/**
 * Which of two configurations is the later one. In: their versions. Out: how they stand to each
 * other. No clock is asked: a version says how far of each kind its writer had seen.
 */
import type { SnapshotVersion } from "./types.ts";

/**
 * - `newer`: of the same cluster, with something seen further and nothing less far;
 * - `older`: the other way round;
 * - `same`: everything that both have seen was seen equally far;
 * - `mixed`: some of it further, some less far, so that neither may replace the other;
 * - `other-epoch`: of another cluster, or of none.
 */
export type VersionOrder = "newer" | "same" | "older" | "mixed" | "other-epoch";

/** How `next` stands to `current`. A kind that only one of them has watched tells nothing. */
export function compareVersions(next: SnapshotVersion, current: SnapshotVersion): VersionOrder {
  if (next.epoch !== current.epoch) return "other-epoch";
  let ahead = false;
  let behind = false;
  for (const [kind, seen] of Object.entries(next.seen)) {
    if (!Object.hasOwn(current.seen, kind)) continue;
    const before = current.seen[kind];
    if (seen === before) continue;
    const difference = BigInt(seen) - BigInt(before);
    if (difference > 0n) ahead = true;
    if (difference < 0n) behind = true;
  }
  if (ahead) return behind ? "mixed" : "newer";
  return behind ? "older" : "same";
}
