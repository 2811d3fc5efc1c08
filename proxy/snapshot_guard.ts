/**
 * Snapshots that can be read and still do not come into force. In: the one in force, the next, and
 * how much may go at once. Out: what speaks against the next one, or null.
 */
import type { Snapshot } from "../shared/snapshot.ts";
import { compareVersions } from "../shared/snapshot_order.ts";
import type { ConfigProblem } from "../shared/snapshot_parse.ts";

/** @param maxRouteLoss in percent of the routes in force; 0 for no limit. */
export function objectionTo(
  next: Snapshot,
  current: Snapshot,
  maxRouteLoss: number,
): ConfigProblem | null {
  if (compareVersions(next.version, current.version) === "older") {
    return {
      path: "$.version.seen",
      message: "it is older than the configuration in force: it has seen less of the cluster",
      remedy: "write a newer one; to go back on purpose, give it the version in force, or restart",
      severity: "error",
    };
  }
  const lost = current.routes.length - next.routes.length;
  if (maxRouteLoss > 0 && lost * 100 > current.routes.length * maxRouteLoss) {
    return {
      path: "$.routes",
      message: `${lost} of ${current.routes.length} routes would go at once, more than ` +
        `${maxRouteLoss} % (--max-route-loss)`,
      remedy: "if that is meant, restart the proxy, or take them away in several steps",
      severity: "error",
    };
  }
  return null;
}
