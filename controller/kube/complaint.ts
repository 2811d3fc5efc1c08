/**
 * Why a kind cannot be watched, in words. In: the kind, where, and how the call failed. Out: fields
 * of a log line, with what whoever reads it can do.
 */
import type { ApiError, Resource } from "./types.ts";

export interface Complaint {
  /** One line, without secrets. */
  readonly reason: string;
  readonly remedy: string;
}

/** @param namespace Null where all are watched, or the kind is in none. */
export function complaintAbout(
  { group, plural }: Resource,
  namespace: string | null,
  { code, reason, message }: ApiError,
): Complaint {
  return {
    reason: message,
    remedy: remedyFor(code, reason, group === "" ? plural : `${plural}.${group}`, namespace),
  };
}

function remedyFor(code: number, reason: string, kind: string, namespace: string | null): string {
  switch (code) {
    case 401:
      return "Give the controller a token or certificate that the API server accepts; it reads them for each attempt";
    case 403: {
      const where = namespace === null ? "a ClusterRole" : `a Role in namespace ${namespace}`;
      return `Allow the controller's service account the verbs list and watch on ${kind}, in ` +
        `${where}; manifests/ and overlays/ have the rules`;
    }
    case 404:
      return `Use a Kubernetes whose API serves ${kind}, or turn off what needs it`;
    case 410:
      return "Check whether etcd is compacted within seconds, or whether API servers of different " +
        "clusters answer by turns";
    case 429:
      return "None if it is temporary: the API server asked the controller to wait";
  }
  if (code !== 0) return "Look at the API server's log; the controller tries again by itself";
  return reason === "Failed"
    ? "Report this as a bug; the controller tries again by itself"
    : "Check that the API server runs and that the network and its certificate let it be reached";
}
