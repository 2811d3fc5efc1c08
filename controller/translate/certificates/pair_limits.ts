/**
 * How large certificates may be. In: a chain with its key, or authorities. Out: what of them is too large, with a
 * remedy; null where nothing is.
 *
 * A Secret may have 1 MiB, and its namespace a thousand of them: together they would be larger than what can be
 * published, for all namespaces.
 */
import type { PemSecret, PemText } from "../../../shared/snapshot/types.ts";

/**
 * Bytes of the PEM of a chain. A server's certificate with its issuers has 3 to 8 KB, and clients with OpenSSL
 * reject more than 100 KiB of DER (SSL_MAX_CERT_LIST_DEFAULT).
 */
export const MAX_CHAIN_BYTES = 100 * 1024;

/**
 * Bytes of the PEM of a key. RSA with 16,384 bits, the most that `--max-rsa-bits` permits, has 13 KB; PKCS #8 may have
 * attributes of any length beside the key (RFC 5958 §2).
 */
export const MAX_KEY_BYTES = 16 * 1024;

/** Bytes of the PEM of a backend's authorities. All public ones together, as systems have them, are some 220 KB. */
export const MAX_AUTHORITY_BYTES = 256 * 1024;

/** A certificate as it is served. */
export interface Pair {
  readonly chain: PemText;
  readonly key: PemSecret;
}

export interface PairExcess {
  readonly part: "chain" | "key";
  /** A clause. */
  readonly fault: string;
  readonly remedy: string;
}

export function pairExcess({ chain, key }: Pair): PairExcess | null {
  const ofChain = chain.pem.length;
  if (ofChain > MAX_CHAIN_BYTES) {
    return {
      part: "chain",
      fault: `the chain in tls.crt has ${ofChain} bytes, more than ${MAX_CHAIN_BYTES}`,
      remedy:
        "Remove certificates that clients do not need from tls.crt: the server's certificate and " +
        "its intermediate issuers are enough",
    };
  }
  const ofKey = key.pem.reveal().length;
  if (ofKey <= MAX_KEY_BYTES) return null;
  return {
    part: "key",
    fault: `the key has ${ofKey} bytes, more than ${MAX_KEY_BYTES}`,
    remedy:
      "Write the key without attributes into tls.key, or reissue the certificate with another key",
  };
}

/** A clause; null for other kinds of keys, which have 0 bits, too. */
export function rsaExcess(bits: number, max: number): string | null {
  return bits <= max ? null : `the RSA key has ${bits} bits, more than ${max} (--max-rsa-bits)`;
}

/** A clause. */
export function authorityExcess({ pem }: PemText): string | null {
  return pem.length <= MAX_AUTHORITY_BYTES
    ? null
    : `the certificates in ca.crt have ${pem.length} bytes, more than ${MAX_AUTHORITY_BYTES}`;
}
