/**
 * A certificate with its key, as a Secret holds it. In: a KubeSecret of unknown shape. Out: the
 * chain and key as the proxy needs them, with what there is to say of them, or why they cannot be
 * used. Whether it is valid now is asked later, with a clock.
 */
import type { X509Certificate } from "node:crypto";
import { readKeyPair } from "../../../shared/key_pair.ts";
import { Redacted, type Secret } from "../../../shared/redacted.ts";
import { describeExcess, excessOf } from "../../kube/excess.ts";
import { oversizeOf } from "../../base/secret_values.ts";
import { readHost } from "../model/host.ts";
import { asObject, describe, fieldOf, isAbsent } from "../../base/json.ts";

export type CertificateReading =
  | { readonly ok: true; readonly certificate: CertificateModel }
  /** `field` is that of the Secret; `message` a clause such as `the key has no end line`. */
  | { readonly ok: false; readonly field: string; readonly message: string };

export interface CertificateModel {
  /** sha256 of chain and key in hex. */
  readonly fingerprint: string;
  /** PEM, the leaf first, and nothing but certificates. */
  readonly chain: string;
  readonly key: Secret;
  /** Host patterns that the leaf names, sorted. */
  readonly names: readonly string[];
  /** False where the leaf has them as its common name only, which clients ignore (RFC 9110 §4.3.4). */
  readonly hasAlternativeNames: boolean;
  /** False where one certificate of the chain is not signed by the next. */
  readonly isLinked: boolean;
  /** Of the key, where it is RSA; else 0. */
  readonly rsaBits: number;
  /** Of the chain's members together, in milliseconds since the epoch. */
  readonly validFrom: number;
  readonly validTo: number;
  /** Field of the chain in the Secret: `data["tls.crt"]`. */
  readonly field: string;
}

/** Takes about a millisecond. */
export function readCertificate(secret: unknown): CertificateReading {
  const chainText = readSecretValue(secret, "tls.crt");
  if (!chainText.ok) return chainText;
  const keyText = readSecretValue(secret, "tls.key");
  if (!keyText.ok) return keyText;
  const reading = readKeyPair(chainText.text, keyText.text, { chain: "tls.crt", key: "tls.key" });
  if (!reading.ok) {
    const { part, message } = reading;
    return refused(part === "chain" ? chainText.field : keyText.field, message);
  }
  const { fingerprint, chain, key, rsaBits, members, validFrom, validTo } = reading.pair;
  const [leaf, ...issuers] = members;
  const alternative = alternativeNames(leaf);
  return {
    ok: true,
    certificate: {
      fingerprint,
      chain,
      key: new Redacted(key),
      names: hostPatterns(alternative.length > 0 ? alternative : commonNames(leaf)),
      hasAlternativeNames: alternative.length > 0,
      rsaBits,
      isLinked: issuers.every((issuer, i) => members[i].checkIssued(issuer)),
      validFrom,
      validTo,
      field: chainText.field,
    },
  };
}

type ValueReading =
  | { readonly ok: true; readonly text: string; readonly field: string }
  | Extract<CertificateReading, { ok: false }>;

/** A value of the Secret, from `stringData` or in base64 from `data`. */
export function readSecretValue(secret: unknown, name: string): ValueReading {
  const plain = fieldOf(fieldOf(secret, "stringData"), name);
  if (typeof plain === "string") {
    return { ok: true, text: plain, field: `stringData[${JSON.stringify(name)}]` };
  }
  const excess = excessOf(secret);
  if (excess !== null) return refused("", describeExcess(excess)[0]);
  const data = fieldOf(secret, "data");
  const field = `data[${JSON.stringify(name)}]`;
  if (!isAbsent(data) && asObject(data) === null) {
    return refused("data", `data is ${describe(data)} where an object is meant`);
  }
  const limit = fieldOf(oversizeOf(secret), name);
  if (typeof limit === "number") return refused(field, tooLarge(name, limit));
  const encoded = fieldOf(data, name);
  if (isAbsent(encoded) || encoded === "") return refused(field, `it has no ${name}`);
  if (typeof encoded !== "string") return refused(field, `${name} is ${describe(encoded)}`);
  const compact = encoded.replace(/[\r\n]/g, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact) || compact.length % 4 !== 0) {
    return refused(field, `${name} is not base64`);
  }
  return { ok: true, text: atob(compact), field };
}

/**
 * DNS names of the leaf. The text form does not quote, so a name may be made up by the contents of
 * another; its owner could as well have written it into the certificate, or into `spec.tls`.
 */
function alternativeNames(leaf: X509Certificate): string[] {
  return (leaf.subjectAltName ?? "").split(", ")
    .flatMap((name) => name.startsWith("DNS:") ? name.slice(4) : []);
}

function commonNames(leaf: X509Certificate): string[] {
  return leaf.subject.split("\n").flatMap((part) => part.startsWith("CN=") ? part.slice(3) : []);
}

function hostPatterns(names: readonly string[]): string[] {
  const patterns = names.flatMap((name) => {
    const reading = readHost(name);
    return reading.ok ? reading.host : [];
  });
  return [...new Set(patterns)].sort();
}

/** Whether one of a certificate's names stands for a host pattern (RFC 9525 §6.3). */
export function coversHost(names: ReadonlySet<string>, host: string): boolean {
  return namesFor(host).some((name) => names.has(name));
}

/** Names of certificates that cover a host. */
export function namesFor(host: string): readonly string[] {
  const dot = host.indexOf(".");
  return !host.startsWith("*.") && dot > 0 ? [host, `*${host.slice(dot)}`] : [host];
}

/** A clause; without the bytes that it has, since each change of them would be another problem. */
export function tooLarge(what: string, limit: number): string {
  return `${what} is too large: it has more than ${limit} bytes`;
}

function refused(field: string, message: string): Extract<CertificateReading, { ok: false }> {
  return { ok: false, field, message };
}
