/**
 * In which zone a proxy is. In: the nodes, where they may be read. Out: a node's zone, by which the
 * proxy prefers endpoints beside it; null where nobody can tell.
 *
 * https://kubernetes.io/docs/reference/labels-annotations-taints/#topologykubernetesiozone
 */
import type { Informer } from "../kube/informer.ts";
import type { KubeObject } from "../kube/types.ts";

const ZONE_LABEL = "topology.kubernetes.io/zone";

/** Milliseconds that the first list of nodes is waited for: a zone is told once in a stream. */
const PATIENCE = 2_000;

/** @param nodes Null where they are not asked for. */
export function zoneReader(
  nodes: Pick<Informer<KubeObject>, "store" | "synced" | "isSynced" | "failures"> | null,
): (node: string) => Promise<string | null> {
  return async (node) => {
    if (nodes === null) return null;
    if (!nodes.isSynced && nodes.failures.length === 0) {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, PATIENCE);
      await Promise.race([nodes.synced, late]);
      clearTimeout(timer);
    }
    return nodes.store.get("", node)?.metadata.labels?.[ZONE_LABEL] || null;
  };
}
