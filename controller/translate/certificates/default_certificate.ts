/**
 * The certificate for clients that ask for no name, or for one that no certificate is for. In: the
 * Secret that the process names, and what was published last. Out: the certificate for no host, or
 * null. While the Secret cannot be used, the default certificate that was published before stays; but
 * only one of the same namespace, as with `spec.tls`.
 */
import { formatObject, type ObjectRef } from "../../../shared/problem.ts";
import type { Certificate, Snapshot } from "../../../shared/snapshot/types.ts";
import { CertificateSources, PAIR_REMEDY, type SecretModel } from "./certificate_source.ts";
import { keyOf } from "../../base/identity.ts";
import type { ProblemList } from "../../base/problems.ts";

/** The Secret that the process, not an Ingress, names. */
export interface DefaultCertificate {
  readonly namespace: string;
  readonly name: string;
}

/** The certificate, and the host patterns that it names. */
export interface FoundDefault {
  readonly certificate: Certificate;
  readonly names: ReadonlySet<string>;
}

/**
 * @param now Milliseconds since the epoch; decides about problems only.
 * @param stripped A published certificate without its hosts.
 */
export function readDefaultCertificate(
  wanted: DefaultCertificate | null,
  secrets: ReadonlyMap<string, SecretModel>,
  published: Snapshot | null,
  now: number,
  problems: ProblemList,
  stripped: (published: Certificate) => Certificate,
  maxRsaBits?: number,
): FoundDefault | null {
  if (wanted === null) return null;
  const ref: ObjectRef = { kind: "Secret", ...wanted };
  const key = keyOf(ref);
  const sources = new CertificateSources(secrets, now, problems, published, maxRsaBits);
  const source = sources.find({ ref, key, label: formatObject(ref) });
  if (source.kind === "usable") {
    const certificate = secrets.get(key)?.shown;
    return certificate == null ? null : { certificate, names: source.nameSet };
  }
  const kept = published?.certificates.find(({ id, origin }) =>
    id === published.defaultCertificate && origin.namespace === wanted.namespace
  );
  const isMissing = source.kind === "missing";
  problems.about(ref).error("", {
    reason: isMissing ? "SecretNotFound" : "SecretInvalid",
    message: `${source.reason}, so ` +
      (kept === undefined
        ? "there is no default certificate"
        : "the default certificate published before stays in use"),
    remedy: isMissing
      ? "Create the Secret, or name one that exists by --default-ssl-certificate"
      : source.remedy ?? `Write into the Secret ${PAIR_REMEDY}`,
  });
  if (kept === undefined) return null;
  // The hosts that it was published for, so that plain HTTP to them is redirected as before.
  const names = new Set(kept.hosts).difference(new Set(kept.plain));
  return { certificate: stripped(kept), names };
}
