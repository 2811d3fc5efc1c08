/**
 * A certificate with its key, as a Secret holds it. In: a KubeSecret of unknown shape. Out: the
 * chain and key as the proxy needs them, with what there is to say of them, or why they cannot be
 * used. Whether it is valid now is asked later, with a clock.
 *
 * A half-written PEM, or a key that does not belong to its certificate, would be found out by TLS
 * clients only, so all of that is checked here.
 */
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { Redacted } from "../../shared/redacted.ts";
import type { Secret } from "../../shared/snapshot.ts";
import { readHost } from "./host.ts";
import { asObject, describe, fieldOf, isAbsent } from "./json.ts";

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
  /** Of the chain's members together, in milliseconds since the epoch. */
  readonly validFrom: number;
  readonly validTo: number;
  /** Field of the chain in the Secret: `data["tls.crt"]`. */
  readonly field: string;
}

/**
 * Readings of objects that are still in memory: reading one takes about a millisecond, and between
 * two translations hardly any of thousands change. An object that changes is a new one.
 */
const readings = new WeakMap<object, CertificateReading>();

export function readCertificate(secret: object): CertificateReading {
  let reading = readings.get(secret);
  if (reading === undefined) {
    reading = read(secret);
    readings.set(secret, reading);
  }
  return reading;
}

function read(secret: unknown): CertificateReading {
  const chainText = readValue(secret, "tls.crt");
  if (!chainText.ok) return chainText;
  const keyText = readValue(secret, "tls.key");
  if (!keyText.ok) return keyText;
  const chain = readChain(chainText.text);
  if (typeof chain === "string") return refused(chainText.field, chain);
  const key = readKey(keyText.text);
  if (typeof key === "string") return refused(keyText.field, key);
  const [leaf, ...issuers] = chain.members;
  if (!fits(leaf, key.object)) {
    return refused(
      keyText.field,
      issuers.some((issuer) => fits(issuer, key.object))
        ? "the key belongs to a later certificate of the chain, but the first must be the server's"
        : "the key does not belong to the certificate",
    );
  }
  const alternative = alternativeNames(leaf);
  return {
    ok: true,
    certificate: {
      fingerprint: createHash("sha256").update(chain.pem).update(key.pem).digest("hex"),
      chain: chain.pem,
      key: new Redacted(key.pem),
      names: hostPatterns(alternative.length > 0 ? alternative : commonNames(leaf)),
      hasAlternativeNames: alternative.length > 0,
      isLinked: issuers.every((issuer, i) => chain.members[i].checkIssued(issuer)),
      validFrom: Math.max(...chain.members.map((member) => Date.parse(member.validFrom))),
      validTo: Math.min(...chain.members.map((member) => Date.parse(member.validTo))),
      field: chainText.field,
    },
  };
}

type ValueReading =
  | { readonly ok: true; readonly text: string; readonly field: string }
  | Extract<CertificateReading, { ok: false }>;

/** A value of the Secret, from `stringData` or in base64 from `data`. */
function readValue(secret: unknown, name: string): ValueReading {
  const plain = fieldOf(fieldOf(secret, "stringData"), name);
  if (typeof plain === "string") {
    return { ok: true, text: plain, field: `stringData[${JSON.stringify(name)}]` };
  }
  const data = fieldOf(secret, "data");
  const field = `data[${JSON.stringify(name)}]`;
  if (!isAbsent(data) && asObject(data) === null) {
    return refused("data", `data is ${describe(data)} where an object is meant`);
  }
  const encoded = fieldOf(data, name);
  if (isAbsent(encoded) || encoded === "") return refused(field, `it has no ${name}`);
  if (typeof encoded !== "string") return refused(field, `${name} is ${describe(encoded)}`);
  const compact = encoded.replace(/[\r\n]/g, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact) || compact.length % 4 !== 0) {
    return refused(field, `${name} is not base64`);
  }
  return { ok: true, text: atob(compact), field };
}

interface Chain {
  readonly pem: string;
  readonly members: readonly X509Certificate[];
}

/** The chain, or what is wrong with it. */
function readChain(text: string): Chain | string {
  const blocks = pemBlocks(text);
  if (typeof blocks === "string") return `tls.crt ${blocks}`;
  const certificates = blocks.filter(({ label }) => label === "CERTIFICATE");
  if (certificates.length === 0) return "tls.crt has no certificate in PEM";
  const members: X509Certificate[] = [];
  for (const [i, { pem }] of certificates.entries()) {
    try {
      members.push(new X509Certificate(pem));
    } catch {
      return `certificate ${i + 1} of tls.crt cannot be read`;
    }
  }
  return { pem: certificates.map(({ pem }) => pem).join(""), members };
}

/** The key, or what is wrong with it. */
function readKey(text: string): { readonly pem: string; readonly object: KeyObject } | string {
  const blocks = pemBlocks(text);
  if (typeof blocks === "string") return `tls.key ${blocks}`;
  const keys = blocks.filter(({ label }) => label.endsWith("PRIVATE KEY"));
  if (keys.length === 0) return "tls.key has no private key in PEM";
  if (keys.length > 1) return "tls.key has several private keys";
  const [{ label, pem }] = keys;
  // Found out here, since the library would ask for the passphrase at the terminal.
  if (label.startsWith("ENCRYPTED") || pem.includes("ENCRYPTED")) {
    return "the key is encrypted with a passphrase";
  }
  try {
    return { pem, object: createPrivateKey(pem) };
  } catch {
    return "the key cannot be read";
  }
}

interface PemBlock {
  /** `CERTIFICATE`, `EC PRIVATE KEY` and so on. */
  readonly label: string;
  /** From its begin line to its end line, with a newline at the end. */
  readonly pem: string;
}

/** The blocks of a PEM text without what stands around them, or what is wrong with it. */
function pemBlocks(text: string): readonly PemBlock[] | string {
  const blocks: PemBlock[] = [];
  let label: string | null = null;
  let lines: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/).map((line) => line.trim())) {
    const begin = /^-----BEGIN ([A-Z0-9 ]+)-----$/.exec(line);
    if (begin !== null) {
      if (label !== null) return `has a ${label} without its end line`;
      label = begin[1];
      lines = [line];
    } else if (label !== null) {
      lines.push(line);
      if (line === `-----END ${label}-----`) {
        blocks.push({ label, pem: `${lines.join("\n")}\n` });
        label = null;
      }
    }
  }
  return label === null ? blocks : `has a ${label} without its end line`;
}

function fits(certificate: X509Certificate, key: KeyObject): boolean {
  try {
    return certificate.checkPrivateKey(key);
  } catch {
    return false;
  }
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
export function coversHost(names: readonly string[], host: string): boolean {
  if (names.includes(host)) return true;
  const dot = host.indexOf(".");
  return !host.startsWith("*.") && dot > 0 && names.includes(`*${host.slice(dot)}`);
}

function refused(field: string, message: string): Extract<CertificateReading, { ok: false }> {
  return { ok: false, field, message };
}
