/**
 * When certificates end. In: the configuration that a controller shows, or Secrets without their keys. Out: each
 * certificate with its Secret, its hosts and its end.
 */
import { X509Certificate } from "node:crypto";
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import { keyOf } from "../../controller/base/identity.ts";
import type { KubeSecret } from "../../controller/kube/resources.ts";
import type { KubeObject } from "../../controller/kube/types.ts";

export interface KnownCertificate {
  /** `NAMESPACE/NAME` of its Secret; the file's path for one of a file. */
  readonly secret: string;
  /** Milliseconds since the epoch; null where the certificate cannot be read. */
  readonly endsAt: number | null;
}

/** Of which nothing but the certificate was kept. */
export type CertificateSecret = KubeObject & Pick<KubeSecret, "type" | "data">;

const DAY = 24 * 60 * 60 * 1000;

/** Days from which on a certificate should have been renewed: cert-manager does so 30 days before. */
export const WARN_DAYS = 14;

/** Whole days; negative once it has ended. @param now Milliseconds since the epoch. */
export function daysLeft(endsAt: number, now: number): number {
  return Math.floor((endsAt - now) / DAY);
}

/** @param page JSON of `/snapshot`. */
export function certificatesOfSnapshot(page: unknown): readonly KnownCertificate[] {
  return (asList(fieldOf(page, "certificates")) ?? []).flatMap((value) => {
    const origin = fieldOf(value, "origin");
    const namespace = asText(fieldOf(origin, "namespace"));
    const name = asText(fieldOf(origin, "name"));
    const pem = asText(fieldOf(fieldOf(value, "chain"), "pem"));
    if (namespace === null || name === null || pem === null) return [];
    return [{ secret: keyOf({ namespace, name }), endsAt: endOf(pem) }];
  });
}

/** Those with a certificate. @param secrets As `Cluster.list` gives them. */
export function certificatesOfSecrets(
  secrets: readonly CertificateSecret[],
): readonly KnownCertificate[] {
  return secrets.flatMap(({ metadata, data }) => {
    const encoded = data?.["tls.crt"];
    if (encoded === undefined) return [];
    const { namespace = "", name } = metadata;
    return [{ secret: keyOf({ namespace, name }), endsAt: endOfEncoded(encoded) }];
  });
}

function endOfEncoded(encoded: string): number | null {
  try {
    return endOf(atob(encoded));
  } catch {
    return null;
  }
}

/** Of the first certificate, the leaf. */
function endOf(pem: string): number | null {
  try {
    return new X509Certificate(pem).validToDate.getTime();
  } catch {
    return null;
  }
}
