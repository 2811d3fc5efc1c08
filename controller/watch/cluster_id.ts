/**
 * Which cluster this is. In: a client. Out: the UID of the namespace kube-system, which a cluster has
 * from its first moment to its last; resourceVersions mean something within one epoch only.
 */
import type { Logger } from "../../shared/log.ts";
import { Backoff } from "../kube/backoff.ts";
import type { KubeClient } from "../kube/client.ts";
import { NAMESPACES } from "../kube/types.ts";

/** Its UID is the cluster's. */
export const CLUSTER_NAMESPACE = "kube-system";

/** Milliseconds between two questions. */
const PAUSES = { first: 500, last: 10_000 };

/** Asks until it is told; null where `signal` aborts before. */
export async function awaitEpoch(
  client: Pick<KubeClient, "get" | "onRecovery">,
  log: Logger,
  signal: AbortSignal,
): Promise<string | null> {
  const backoff = new Backoff(PAUSES);
  let said: string | null = null;
  while (!signal.aborted) {
    const got = await client.get(NAMESPACES, null, CLUSTER_NAMESPACE, { signal });
    if (got.ok && got.value.metadata.uid !== undefined) return got.value.metadata.uid;
    if (signal.aborted) break;
    const reason = got.ok ? "it has no uid" : got.error.message;
    const remedy = !got.ok && got.error.code === 403
      ? `Let the controller get the namespace ${CLUSTER_NAMESPACE} (manifests/hostport.yaml)`
      : "None if the API server is only temporarily unavailable";
    // One that cannot be reached says so in ever other words.
    const way = got.ok ? "" : got.error.code === 0 ? got.error.reason : String(got.error.code);
    if (way !== said) log.warn("Cannot identify the cluster", { reason, remedy });
    said = way;
    await pause(backoff.next(got.ok ? null : got.error.retryAfter), client, signal);
  }
  return null;
}

/** Ends sooner when the server answers others again. */
function pause(
  milliseconds: number,
  client: Pick<KubeClient, "onRecovery">,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      forget();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    const forget = client.onRecovery(end);
    signal.addEventListener("abort", end);
  });
}
