/**
 * Certificates without an authority to ask. In: names. Out: chains and keys in PEM, signed by an
 * authority that lives as long as this process: its key is never written down, so nothing that was
 * told to trust it can be deceived once the process has ended.
 */
import "reflect-metadata";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";
import { Redacted, type Secret } from "../shared/redacted.ts";

const DAY = 86_400_000;

/** Clocks of clients may be late. */
const BACKDATED = DAY;

/** Apple's platforms refuse leaves that are valid for more than 825 days, others for more than 398. */
const LEAF_LIFE = 90 * DAY;
const AUTHORITY_LIFE = 365 * DAY;

const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const RSA = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};

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
  readonly #issuer: x509.X509Certificate;
  readonly #keys: CryptoKeyPair;

  private constructor(issuer: x509.X509Certificate, keys: CryptoKeyPair) {
    this.certificate = pem(issuer);
    this.#issuer = issuer;
    this.#keys = keys;
  }

  /** @param name is what a list of authorities shows. */
  static async create(name: string): Promise<CertificateAuthority> {
    const keys = await crypto.subtle.generateKey(ECDSA, false, ["sign", "verify"]);
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
    return new CertificateAuthority(issuer, keys);
  }

  /** A certificate for a server or a client. Throws where a name is neither DNS nor IP. */
  async issue(request: CertificateRequest): Promise<IssuedCertificate> {
    const algorithm = request.key === "rsa" ? RSA : ECDSA;
    const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const leaf = await x509.X509CertificateGenerator.create({
      // RFC 5280 bounds a common name to 64 characters, and clients look at the other names only.
      subject: [{ CN: [request.names[0].slice(0, 64)] }],
      issuer: this.#issuer.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ECDSA,
      notBefore: new Date(request.validFrom ?? Date.now() - BACKDATED),
      notAfter: new Date(request.validTo ?? Date.now() + LEAF_LIFE),
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([
          x509.ExtendedKeyUsage.serverAuth,
          x509.ExtendedKeyUsage.clientAuth,
        ]),
        new x509.SubjectAlternativeNameExtension(
          request.names.map((
            value,
          ) => ({ type: isIP(value) === 0 ? "dns" : "ip", value } as const)),
        ),
        await x509.AuthorityKeyIdentifierExtension.create(this.#keys.publicKey),
      ],
    });
    const key = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
    return {
      chain: pem(leaf),
      key: new Redacted(`${x509.PemConverter.encode(key, "PRIVATE KEY")}\n`),
    };
  }
}

function pem(certificate: x509.X509Certificate): string {
  return `${certificate.toString("pem")}\n`;
}
