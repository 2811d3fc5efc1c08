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
import type { Unread } from "../cluster/unread.ts";
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
  if (!controllerPods.ok) return controllerPods;
  const page = await firstPage(
    controllerPods.value.filter(isPodReady).map((pod) => readSnapshotPage(cluster, pod)),
  );
  if (page !== null && page.ok && page.value !== null) {
    return { ok: true, value: certificatesOfSnapshot(page.value) };
  }
  const secrets = await readList<CertificateSecret>(cluster, SECRETS, {
    namespace,
    fieldSelector: "type=kubernetes.io/tls",
  });
  if (secrets.ok) return { ok: true, value: certificatesOfSecrets(secrets.value) };
  // The lesser right of the two.
  if (page !== null) return page.ok ? secrets : page;
  return { ...secrets, unread: NOBODY };
}

/**
 * The first that comes, as all replicas have the same; null where there is none. They are read at once: one that
 * hangs would take the time in which another answers.
 */
export async function firstPage(
  pages: readonly Promise<Reading<unknown>>[],
): Promise<Reading<unknown> | null> {
  const good = pages.map(async (page) => {
    const reading = await page;
    if (!reading.ok || reading.value === null) throw new Error("no page");
    return reading;
  });
  try {
    return await Promise.any(good);
  } catch {
    return await pages.at(0) ?? null;
  }
}

/** A right on Secrets is no remedy: with a controller, nobody needs it. */
const NOBODY: Unread = {
  message: "no replica of the controller is ready, which shows the certificates that are served",
  remedy: "Start the controller; its log says why it does not run",
};
