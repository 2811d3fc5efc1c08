/**
 * Secrets as sources of certificates. In: Secrets of unknown shape, and a time. Out: for each that is
 * asked for its certificate, or why it has none; with problems about the Secret itself, once.
 */
import { createHash } from "node:crypto";
import type { ObjectRef } from "../../shared/problem.ts";
import type { Certificate, PemSecret, PemText } from "../../shared/snapshot.ts";
import { type CertificateModel, readCertificate } from "./certificate.ts";
import { type Identified, indexObjects, keyOf } from "./identity.ts";
import { asObject, fieldOf, quote } from "./json.ts";
import type { ProblemList, Report } from "./problems.ts";

/** A certificate whose chain and key are in the snapshot itself. */
export type InlineCertificate = Certificate & {
  readonly chain: PemText;
  readonly key: PemSecret;
};

export type CertificateSource =
  | {
    readonly kind: "usable";
    readonly secret: ObjectRef;
    readonly certificate: Omit<InlineCertificate, "hosts">;
    /** Host patterns that the certificate names, sorted. */
    readonly names: readonly string[];
    /** Equal for equal chains and keys, wherever they are. */
    readonly fingerprint: string;
  }
  /** `reason`: a clause such as `Secret web-tls cannot be used`. */
  | { readonly kind: "missing" | "unusable"; readonly secret: ObjectRef; readonly reason: string };

const TLS_TYPE = "kubernetes.io/tls";
const DATE_REMEDY = "Replace the certificate by one that is valid now, and check its renewal";

export class CertificateSources {
  #secrets: ReadonlyMap<string, Identified>;
  #now: number;
  #problems: ProblemList;
  /** By `namespace/name`. */
  #sources = new Map<string, CertificateSource>();

  /** @param now Milliseconds since the epoch; decides about problems only. */
  constructor(secrets: readonly unknown[], now: number, problems: ProblemList) {
    this.#secrets = indexObjects("Secret", secrets, problems);
    this.#now = now;
    this.#problems = problems;
  }

  /** @param name As an Ingress writes it, whatever that is. */
  find(namespace: string, name: string): CertificateSource {
    const secret: ObjectRef = { kind: "Secret", namespace, name };
    const key = keyOf(secret);
    let source = this.#sources.get(key);
    if (source === undefined) {
      source = this.#read(secret, this.#secrets.get(key));
      this.#sources.set(key, source);
    }
    return source;
  }

  #read(secret: ObjectRef, found: Identified | undefined): CertificateSource {
    const object = asObject(found?.object);
    if (object === null) {
      const reason = secret.name === ""
        ? "the Secret's name cannot be read"
        : `there is no Secret ${quote(secret.name)} in namespace ${secret.namespace}`;
      return { kind: "missing", secret, reason };
    }
    const report = this.#problems.about(secret);
    const reading = readCertificate(object);
    if (!reading.ok) {
      report.error(reading.field, {
        reason: "SecretUnusable",
        message: `${reading.message}, so it gives no certificate`,
        remedy: "Write a PEM chain, the server's certificate first, as tls.crt and its key as " +
          "tls.key (kubectl create secret tls)",
      });
      return { kind: "unusable", secret, reason: `Secret ${secret.name} cannot be used` };
    }
    const { certificate } = reading;
    reportType(fieldOf(object, "type"), report);
    this.#reportCertificate(certificate, report);
    const { namespace, name } = secret;
    return {
      kind: "usable",
      secret,
      names: certificate.names,
      fingerprint: certificate.fingerprint,
      certificate: inlineCertificate(namespace, name, certificate),
    };
  }

  #reportCertificate(certificate: CertificateModel, report: Report): void {
    const { field, validFrom, validTo } = certificate;
    if (this.#now > validTo) {
      report.warning(field, {
        reason: "CertificateExpired",
        message: `the certificate has expired on ${showTime(validTo)}, so clients refuse it`,
        remedy: DATE_REMEDY,
      });
    } else if (this.#now < validFrom) {
      report.warning(field, {
        reason: "CertificateNotYetValid",
        message: `the certificate is valid from ${showTime(validFrom)} on, so clients refuse it`,
        remedy: DATE_REMEDY,
      });
    }
    if (!certificate.isLinked) {
      report.warning(field, {
        reason: "CertificateChainBroken",
        message: "a certificate of the chain is not signed by the next, so clients may refuse it",
        remedy: "Write the server's certificate first, then each issuer's up to the root's",
      });
    }
    if (!certificate.hasAlternativeNames) {
      report.warning(field, {
        reason: "CertificateWithoutNames",
        message: "the certificate has no subjectAltName of type DNS, so clients refuse it",
        remedy: "Have it issued anew with its names as subjectAltName",
      });
    }
  }
}

/** A Secret's certificate, as it stands in a snapshot. */
export function inlineCertificate(
  namespace: string,
  name: string,
  { fingerprint, chain, key }: CertificateModel,
): Omit<InlineCertificate, "hosts"> {
  return {
    // With the Secret's name, so that what is kept for a namespace is known to come from it.
    id: createHash("sha256").update(`${namespace}/${name} ${fingerprint}`).digest("hex"),
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: key },
    origin: { kind: "Secret", namespace, name, field: "data" },
  };
}

function reportType(type: unknown, report: Report): void {
  if (type === TLS_TYPE) return;
  report.warning("type", {
    reason: "SecretTypeUnusual",
    message: `the Secret is of type ${quote(type ?? "Opaque")} and not ${TLS_TYPE}; ` +
      "its certificate is used all the same",
    remedy: `Make it anew with type: ${TLS_TYPE}, whose keys the API server checks`,
  });
}

/** `2026-11-21T10:00:00Z`. */
export function showTime(time: number): string {
  return new Date(time).toISOString().replace(".000Z", "Z");
}
