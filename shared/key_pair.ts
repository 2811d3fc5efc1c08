/**
 * A certificate chain and its key. In: two PEM texts, as a Secret or a folder holds them. Out: both
 * checked against each other and cleaned of what stands around them, or what is wrong with them.
 *
 * A half-written PEM, or a key that does not belong to its certificate, would be found out by TLS
 * clients only: `node:tls` takes either.
 */
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";

export interface KeyPair {
  /** sha256 of chain and key in hex. */
  readonly fingerprint: string;
  /** PEM, the leaf first, and nothing but certificates. */
  readonly chain: string;
  /** PEM of the one key. */
  readonly key: string;
  /** Of the key, where it is RSA; else 0. */
  readonly rsaBits: number;
  /** The leaf first. */
  readonly members: readonly X509Certificate[];
  /** Of the chain's members together, in ms since the epoch. */
  readonly validFrom: number;
  readonly validTo: number;
}

export type KeyPairReading =
  | { readonly ok: true; readonly pair: KeyPair }
  /** `part` says which text is wrong; `message` is a clause such as `the key has no end line`. */
  | { readonly ok: false; readonly part: "chain" | "key"; readonly message: string };

/** Names that messages call the two texts by. */
export interface PartNames {
  readonly chain: string;
  readonly key: string;
}

/** Checks a pair. Whether it is valid now is asked later, with a clock. */
export function readKeyPair(chainText: string, keyText: string, names: PartNames): KeyPairReading {
  const chain = readChain(chainText, names.chain);
  if (typeof chain === "string") return { ok: false, part: "chain", message: chain };
  const key = readKey(keyText, names.key);
  if (typeof key === "string") return { ok: false, part: "key", message: key };
  const [leaf, ...issuers] = chain.members;
  if (!fits(leaf, key.object)) {
    return {
      ok: false,
      part: "key",
      message: issuers.some((issuer) => fits(issuer, key.object))
        ? "the key belongs to a later certificate of the chain, but the first must be the server's"
        : "the key does not belong to the certificate",
    };
  }
  return {
    ok: true,
    pair: {
      fingerprint: createHash("sha256").update(chain.pem).update(key.pem).digest("hex"),
      chain: chain.pem,
      key: key.pem,
      rsaBits: rsaBitsOf(key.object),
      members: chain.members,
      validFrom: Math.max(...chain.members.map((member) => Date.parse(member.validFrom))),
      validTo: Math.min(...chain.members.map((member) => Date.parse(member.validTo))),
    },
  };
}

export interface Chain {
  /** PEM, and nothing but certificates. */
  readonly pem: string;
  readonly members: readonly X509Certificate[];
}

/** Certificates without what stands around them, or what is wrong with them. */
export function readChain(text: string, name: string): Chain | string {
  const blocks = pemBlocks(text);
  if (typeof blocks === "string") return `${name} ${blocks}`;
  const certificates = blocks.filter(({ label }) => label === "CERTIFICATE");
  if (certificates.length === 0) return `${name} has no certificate in PEM`;
  const members: X509Certificate[] = [];
  for (const [i, { pem }] of certificates.entries()) {
    try {
      members.push(new X509Certificate(pem));
    } catch {
      return `certificate ${i + 1} of ${name} cannot be read`;
    }
  }
  return { pem: certificates.map(({ pem }) => pem).join(""), members };
}

/** The key, or what is wrong with it. */
function readKey(
  text: string,
  name: string,
): { readonly pem: string; readonly object: KeyObject } | string {
  const blocks = pemBlocks(text);
  if (typeof blocks === "string") return `${name} ${blocks}`;
  const keys = blocks.filter(({ label }) => label.endsWith("PRIVATE KEY"));
  if (keys.length === 0) return `${name} has no private key in PEM`;
  if (keys.length > 1) return `${name} has several private keys`;
  const [{ label, pem }] = keys;
  // Found out here, since the library would ask for the passphrase at the terminal.
  if (label.startsWith("ENCRYPTED") || pem.includes("ENCRYPTED")) {
    return "the key is encrypted with a passphrase";
  }
  try {
    const object = createPrivateKey(pem);
    return unusableKey(object) ?? { pem, object };
  } catch {
    return "the key cannot be read";
  }
}

/** OpenSSL, at its security level of 112 bits, takes no shorter ones. */
const MIN_RSA_BITS = 2048;

/** Curves by which clients verify signatures of TLS 1.2 and 1.3 (RFC 8446 §4.2.3). */
const CURVES: readonly (string | undefined)[] = ["prime256v1", "secp384r1", "secp521r1"];

/** Why no client could be shown a certificate with this key; null where it could. */
function unusableKey(key: KeyObject): string | null {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  switch (type) {
    case "rsa": {
      const bits = rsaBitsOf(key);
      return bits >= MIN_RSA_BITS
        ? null
        : `the RSA key has ${bits} bits, and TLS needs ${MIN_RSA_BITS} or more`;
    }
    case "ec":
      return CURVES.includes(details?.namedCurve)
        ? null
        : `the key has the curve ${details?.namedCurve}, and TLS needs P-256, P-384 or P-521`;
    case "ed25519":
      return null;
    default:
      return `the key is of type ${type}, and TLS needs RSA, ECDSA or Ed25519`;
  }
}

/**
 * From the key: the certificate's own getter fails for RSA keys of more than 4,096 bits and those for
 * RSA-PSS only (Deno 2.9).
 */
function rsaBitsOf(key: KeyObject): number {
  return key.asymmetricKeyType === "rsa" ? key.asymmetricKeyDetails?.modulusLength ?? 0 : 0;
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
        blocks.push({ label, pem: `${usualLines(lines).join("\n")}\n` });
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

/** Characters of a line of PEM (RFC 7468 §2). */
const LINE_LENGTH = 64;

/**
 * Shorter lines than usual, and empty ones, become usual ones: each takes a character more in JSON, so that a text of
 * lines with one character would take half as much again as its length says. Longer ones stay, as does what has headers.
 */
function usualLines(lines: readonly string[]): readonly string[] {
  const [begin, ...rest] = lines;
  const end = rest.pop()!;
  if (
    rest.every((line, i) => line.length >= LINE_LENGTH || (i === rest.length - 1 && line !== ""))
  ) {
    return lines;
  }
  const text = rest.join("");
  if (!/^[A-Za-z0-9+/]+=*$/.test(text)) return lines;
  const count = Math.ceil(text.length / LINE_LENGTH);
  const usual = Array.from(
    { length: count },
    (_, i) => text.slice(i * LINE_LENGTH, (i + 1) * LINE_LENGTH),
  );
  return [begin, ...usual, end];
}
