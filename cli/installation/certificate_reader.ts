/**
 * Where certificates are read. In: a cluster and its installation. Out: all certificates that are served.
 *
 * The configuration that a controller shows has them without a right on Secrets; only where it cannot be had, the
 * Secrets are read.
 */
import { SECRETS } from "../../controller/kube/types.ts";
import { isPodReady } from "../../controller/outputs/workload/pod_status.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type Reading, readList } from "../cluster/readings.ts";
import {
  type CertificateSecret,
  certificatesOfSecrets,
  certificatesOfSnapshot,
  type KnownCertificate,
} from "./certificates.ts";
import { type Installation, readSnapshotPage } from "./installation.ts";

/** @param namespace Of the Secrets; null for all. */
export async function readCertificates(
  cluster: Cluster,
  { controllerPods }: Installation,
  namespace: string | null,
): Promise<Reading<readonly KnownCertificate[]>> {
  const pod = controllerPods.ok ? controllerPods.value.find(isPodReady) : undefined;
  const page = pod === undefined ? null : await readSnapshotPage(cluster, pod);
  if (page !== null && page.ok && page.value !== null) {
    return { ok: true, value: certificatesOfSnapshot(page.value) };
  }
  const secrets = await readList<CertificateSecret>(cluster, SECRETS, {
    namespace,
    fieldSelector: "type=kubernetes.io/tls",
  });
  if (secrets.ok) return { ok: true, value: certificatesOfSecrets(secrets.value) };
  // The lesser right of the two.
  return page === null || page.ok ? secrets : page;
}
