/**
 * Certificates that end soon. In: a snapshot and the time. Out: a warning for each Secret whose certificate
 * ends within two weeks; the translation reports those that have ended. Pure.
 */
import { X509Certificate } from "node:crypto";
import type { KubeSecret } from "../../controller/kube/resources.ts";
import type { Certificate, Snapshot } from "../../shared/snapshot/types.ts";
import type { Problem } from "../../shared/problem.ts";

const DAY = 24 * 60 * 60 * 1000;

/** cert-manager and others renew earlier: a month before the end as a rule. */
const SOON = 14 * DAY;

/** Of a shorter life, this share is soon: certificates for a week are renewed every few days. */
const LAST_SHARE = 1 / 3;

/** @param now Milliseconds since the epoch. */
export function certificateDateProblems(
  { certificates }: Snapshot,
  secrets: readonly KubeSecret[],
  now: number,
): Problem[] {
  const problems = new Map<string, Problem>();
  for (const certificate of certificates) {
    const { kind, namespace, name } = certificate.origin;
    const dates = kind === "Secret" ? datesOf(certificate) : null;
    if (dates === null) continue;
    const left = dates.to - now;
    if (left < 0 || left > Math.min(SOON, (dates.to - dates.from) * LAST_SHARE)) continue;
    const days = Math.floor(left / DAY);
    problems.set(`${namespace}/${name}`, {
      object: { kind, namespace, name },
      field: fieldOf(
        secrets.find(({ metadata }) =>
          metadata?.name === name && metadata?.namespace === namespace
        ),
      ),
      reason: "CertificateExpiresSoon",
      message: `the certificate expires in ${days} day${days === 1 ? "" : "s"}, on ${
        new Date(dates.to).toISOString().slice(0, 10)
      }`,
      remedy: "Renew it before then, or check why it is not renewed",
      severity: "warning",
    });
  }
  return [...problems.values()];
}

/** Where the certificate stands. */
function fieldOf(secret: KubeSecret | undefined): string {
  const isText = secret?.stringData?.["tls.crt"] !== undefined;
  return `${isText ? "stringData" : "data"}["tls.crt"]`;
}

/** Of the leaf, in milliseconds since the epoch; null for what cannot be read. */
function datesOf({ chain }: Certificate): { readonly from: number; readonly to: number } | null {
  if (chain.kind !== "pem") return null;
  try {
    const { validFrom, validTo } = new X509Certificate(chain.pem);
    return { from: Date.parse(validFrom), to: Date.parse(validTo) };
  } catch {
    return null;
  }
}
