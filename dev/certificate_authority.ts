/**
 * Certificates without an authority to ask. In: names. Out: chains and keys in PEM, signed by an
 * authority that lives as long as this process: its key is never written down, so nothing that was
 * told to trust it can be deceived once the process has ended.
 */
import "reflect-metadata";
import { Buffer } from "node:buffer";
import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import { isIP } from "node:net";
import { AsnConvert } from "@peculiar/asn1-schema";
import * as asn1 from "@peculiar/asn1-x509";
import * as x509 from "@peculiar/x509";
import { Redacted, type Secret } from "../shared/redacted.ts";

const DAY = 86_400_000;

/** Clocks of clients may be late. */
const BACKDATED = DAY;

/** Apple's platforms refuse leaves that are valid for more than 825 days, others for more than 398. */
const LEAF_LIFE = 90 * DAY;
const AUTHORITY_LIFE = 365 * DAY;

const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
/** `ecdsa-with-SHA256` (RFC 5758 §3.2). */
const SIGNATURE = "1.2.840.10045.4.3.2";
const RSA_BITS = 2048;

/** RFC 5280 §4.1.2.2: positive, and at most 20 bytes. */
const SERIAL_BYTES = 16;

export interface CertificateRequest {
  /** DNS names, wildcards among them, and IP addresses. */
  readonly names: readonly string[];
  readonly key?: "ecdsa" | "rsa";
  /** In ms since the epoch. */
  readonly validFrom?: number;
  readonly validTo?: number;
}

export interface IssuedCertificate {
  /** PEM, the leaf alone: clients know the authority. */
  readonly chain: string;
  readonly key: Secret;
}

export class CertificateAuthority {
  /** The authority's own, for clients to trust; in PEM. */
  readonly certificate: string;
  readonly #issuer: asn1.Name;
  readonly #key: KeyObject;
  /** By which verifiers find the authority's key. */
  readonly #keyIdentifier: x509.Extension;

  private constructor(issuer: x509.X509Certificate, key: KeyObject, keyIdentifier: x509.Extension) {
    this.certificate = pem(issuer);
    this.#issuer = AsnConvert.parse(issuer.subjectName.toArrayBuffer(), asn1.Name);
    this.#key = key;
    this.#keyIdentifier = keyIdentifier;
  }

  /** @param name is what a list of authorities shows. */
  static async create(name: string): Promise<CertificateAuthority> {
    const keys = await crypto.subtle.generateKey(ECDSA, true, ["sign", "verify"]);
    const issuer = await x509.X509CertificateGenerator.createSelfSigned({
      name: [{ CN: [name] }],
      keys,
      signingAlgorithm: ECDSA,
      notBefore: new Date(Date.now() - BACKDATED),
      notAfter: new Date(Date.now() + AUTHORITY_LIFE),
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    const der = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
    const key = createPrivateKey({ key: Buffer.from(der), format: "der", type: "pkcs8" });
    const identifier = await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey);
    return new CertificateAuthority(issuer, key, identifier);
  }

  /**
   * A certificate for a server or a client. Throws where a name is neither DNS nor IP. At once, so that
   * one can be made while a handshake waits for it; `@peculiar/x509` makes them by promises only.
   */
  issue(request: CertificateRequest): IssuedCertificate {
    const { publicKey, privateKey } = request.key === "rsa"
      ? generateKeyPairSync("rsa", { modulusLength: RSA_BITS })
      : generateKeyPairSync("ec", { namedCurve: ECDSA.namedCurve });
    // RFC 5280 bounds a common name to 64 characters, and clients look at the other names only.
    const subject = new x509.Name([{ CN: [request.names[0].slice(0, 64)] }]);
    const signature = new asn1.AlgorithmIdentifier({ algorithm: SIGNATURE });
    const tbsCertificate = new asn1.TBSCertificate({
      version: asn1.Version.v3,
      serialNumber: serialNumber(),
      signature,
      issuer: this.#issuer,
      validity: new asn1.Validity({
        notBefore: new Date(request.validFrom ?? Date.now() - BACKDATED),
        notAfter: new Date(request.validTo ?? Date.now() + LEAF_LIFE),
      }),
      subject: AsnConvert.parse(subject.toArrayBuffer(), asn1.Name),
      subjectPublicKeyInfo: AsnConvert.parse(
        bytesOf(publicKey.export({ type: "spki", format: "der" })),
        asn1.SubjectPublicKeyInfo,
      ),
      extensions: new asn1.Extensions(
        [...leafExtensions(request.names), this.#keyIdentifier]
          .map(({ rawData }) => AsnConvert.parse(rawData, asn1.Extension)),
      ),
    });
    const signed = new Uint8Array(AsnConvert.serialize(tbsCertificate));
    const certificate = new asn1.Certificate({
      tbsCertificate,
      signatureAlgorithm: signature,
      signatureValue: bytesOf(sign("sha256", signed, this.#key)),
    });
    return {
      chain: `${x509.PemConverter.encode(AsnConvert.serialize(certificate), "CERTIFICATE")}\n`,
      key: new Redacted(String(privateKey.export({ type: "pkcs8", format: "pem" }))),
    };
  }
}

function leafExtensions(names: readonly string[]): x509.Extension[] {
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([
      x509.ExtendedKeyUsage.serverAuth,
      x509.ExtendedKeyUsage.clientAuth,
    ]),
    new x509.SubjectAlternativeNameExtension(
      names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value } as const)),
    ),
  ];
}

/** Random, and the shortest form of a positive number. */
function serialNumber(): ArrayBuffer {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = 0x40 | (bytes[0] & 0x3f);
  return bytesOf(bytes);
}

function bytesOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

function pem(certificate: x509.X509Certificate): string {
  return `${certificate.toString("pem")}\n`;
}
