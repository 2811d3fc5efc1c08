/**
 * The stream's certificates as such. In: a time, names, a signer. Out: new authorities and serving
 * certificates, and stored ones read back. RFC 5280; ECDSA with P-256, since either side has it.
 */
import "reflect-metadata";
import { createHash, createPrivateKey } from "node:crypto";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";
import { readChain, readKeyPair } from "../../../shared/key_pair.ts";
import { Redacted } from "../../../shared/redacted.ts";
import {
  AUTHORITY_TIMES,
  type AuthorityCertificate,
  type AuthorityTimes,
  type ServingCertificate,
  type Signer,
} from "./certificate_authority.ts";

const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** RFC 5280 bounds a common name to 64 characters. */
const MAX_COMMON_NAME = 64;

/** A new authority. Its subject is its own: bundles hold several, and verifiers look up by it. */
export async function makeSigner(
  now: number,
  { backdate, authorityLife }: AuthorityTimes = AUTHORITY_TIMES,
): Promise<Signer> {
  const keys = await crypto.subtle.generateKey(ECDSA, true, ["sign", "verify"]);
  const validFrom = wholeSeconds(now - backdate);
  const validTo = wholeSeconds(now + authorityLife);
  const mark = crypto.randomUUID().slice(0, 8);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [`Pingress stream ${new Date(now).toISOString().slice(0, 10)} ${mark}`] }],
    keys,
    signingAlgorithm: ECDSA,
    notBefore: new Date(validFrom),
    notAfter: new Date(validTo),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const id = idOf(certificate.rawData);
  return { certPem: pem(certificate), id, validFrom, validTo, keyPem: await keyPem(keys) };
}

/**
 * A certificate of a server, with a new key. It never outlives its signer.
 * @param names are DNS names and IP addresses, at least one.
 */
export async function issueServing(
  signer: Signer,
  names: readonly string[],
  now: number,
  { backdate, servingLife }: AuthorityTimes = AUTHORITY_TIMES,
): Promise<ServingCertificate> {
  const issuer = new x509.X509Certificate(signer.certPem);
  const [der] = x509.PemConverter.decode(signer.keyPem.reveal());
  const signingKey = await crypto.subtle.importKey("pkcs8", der, ECDSA, false, ["sign"]);
  const keys = await crypto.subtle.generateKey(ECDSA, true, ["sign", "verify"]);
  const validTo = wholeSeconds(Math.min(now + servingLife, signer.validTo));
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [{ CN: [names[0].slice(0, MAX_COMMON_NAME)] }],
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ECDSA,
    notBefore: new Date(wholeSeconds(Math.max(now - backdate, signer.validFrom))),
    notAfter: new Date(validTo),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value } as const)),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return {
    certPem: pem(certificate),
    keyPem: await keyPem(keys),
    authority: signer.id,
    validTo,
  };
}

/** A stored authority, or what is wrong with it: a clause without any of the key. */
export function readSigner(certText: string, keyText: string): Signer | string {
  const reading = readKeyPair(certText, keyText, { chain: "the certificate", key: "the key" });
  if (!reading.ok) return reading.message;
  const { chain, key, members: [{ publicKey }] } = reading.pair;
  const [certificate, ...others] = authoritiesIn(chain);
  if (certificate === undefined || others.length > 0) {
    return "it is not one authority's certificate";
  }
  if (publicKey.asymmetricKeyDetails?.namedCurve !== "prime256v1") return "its key is not of P-256";
  // One that was put there by hand may be of another form, such as SEC 1, which Web Crypto cannot read.
  const pkcs8 = createPrivateKey(key).export({ type: "pkcs8", format: "pem" });
  return { ...certificate, keyPem: new Redacted(String(pkcs8)) };
}

/** The authorities' certificates in a text, each once; none where it cannot be read. */
export function authoritiesIn(text: string): readonly AuthorityCertificate[] {
  const chain = readChain(text, "the bundle");
  if (typeof chain === "string") return [];
  const all = chain.members.flatMap(({ raw }) => authorityOf(new Uint8Array(raw)) ?? []);
  return [...new Map(all.map((one) => [one.id, one])).values()];
}

/** Null for a certificate of something else. */
function authorityOf(der: Uint8Array<ArrayBuffer>): AuthorityCertificate | null {
  try {
    const one = new x509.X509Certificate(der);
    if (one.getExtension(x509.BasicConstraintsExtension)?.ca !== true) return null;
    return {
      certPem: pem(one),
      id: idOf(one.rawData),
      validFrom: one.notBefore.getTime(),
      validTo: one.notAfter.getTime(),
    };
  } catch {
    // OpenSSL takes certificates whose extensions are no DER; nobody would trust them.
    return null;
  }
}

function pem(certificate: x509.X509Certificate): string {
  return `${certificate.toString("pem")}\n`;
}

async function keyPem({ privateKey }: CryptoKeyPair): Promise<Redacted> {
  const key = await crypto.subtle.exportKey("pkcs8", privateKey);
  return new Redacted(`${x509.PemConverter.encode(key, "PRIVATE KEY")}\n`);
}

function idOf(der: ArrayBuffer): string {
  return createHash("sha256").update(new Uint8Array(der)).digest("hex");
}

/** Certificates know no parts of seconds. */
function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}
