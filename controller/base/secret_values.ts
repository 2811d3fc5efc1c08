/**
 * What is kept of a Secret. In: a Secret as the API server sends it, of up to 1 MiB. Out: one with the values that
 * somebody reads, and a mark in place of each that is larger than anything that could be used.
 *
 * So a Secret takes no more memory than what is made of it, whatever else its owner writes into it.
 */
import { Buffer } from "node:buffer";

/**
 * Bytes of each value that is read by its name: twice what its PEM may have (`pair_limits.ts`). There may be text around
 * it, as `openssl x509 -text` writes it, that is left out later.
 */
export const VALUE_BYTES: Readonly<Record<string, number>> = {
  "tls.crt": 200 * 1024,
  "tls.key": 32 * 1024,
  "ca.crt": 512 * 1024,
};

/** Users and passwords; in `auth`, or with a key for each user. */
const PASSWORDS = "auth";

/** Bytes of all users and passwords of a Secret: all that a namespace may have. */
export const MAX_PASSWORD_BYTES = 256 * 1024;

/** A list of revoked certificates, of which is read whether it is one. */
const REVOKED = "ca.crl";

/** Bytes that are kept of a longer list, from its first PEM block on; a multiple of 3, so that base64 has no end. */
export const REVOKED_BYTES = 12 * 1024;

/** Values that are not kept, with the bytes that each might have; "" stands for all that have no name of their own. */
export type OversizeValues = Readonly<Record<string, number>>;

/** What is kept of `data`. */
export interface KeptValues {
  readonly data: unknown;
  /** Undefined where nothing is too large. A field that no API has, so that nobody can write it there. */
  readonly oversize: OversizeValues | undefined;
}

/** @param type Of the Secret: passwords are read of one that is not for something else. */
export function keptValues(type: unknown, data: unknown): KeptValues {
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    return { data: typeof data === "object" ? data : undefined, oversize: undefined };
  }
  const hasPasswords = typeof type !== "string" || !type.startsWith("kubernetes.io/");
  const kept: Record<string, unknown> = {};
  const oversize: Record<string, number> = {};
  const others: [string, unknown][] = [];
  let bytes = 0;
  for (const [name, value] of Object.entries(data)) {
    const limit = Object.hasOwn(VALUE_BYTES, name) ? VALUE_BYTES[name] : null;
    if (limit !== null) {
      if (decodedBytes(value) > limit) oversize[name] = limit;
      else kept[name] = value;
    } else if (name === REVOKED) kept[name] = beginningOf(value);
    else if (hasPasswords && name === PASSWORDS && decodedBytes(value) > MAX_PASSWORD_BYTES) {
      oversize[name] = MAX_PASSWORD_BYTES;
    } else if (hasPasswords) {
      bytes += name.length + decodedBytes(value);
      if (name === PASSWORDS) kept[name] = value;
      else others.push([name, value]);
    }
  }
  // One that is not read is one user fewer: a few of them may be no worse than all.
  if (bytes > MAX_PASSWORD_BYTES) oversize[""] = MAX_PASSWORD_BYTES;
  else for (const [name, value] of others) kept[name] = value;
  return { data: kept, oversize: Object.keys(oversize).length === 0 ? undefined : oversize };
}

/** Values of a Secret that are not kept. */
export function oversizeOf(secret: unknown): OversizeValues {
  const { oversize } = (secret ?? {}) as { readonly oversize?: OversizeValues };
  return typeof oversize === "object" && oversize !== null ? oversize : {};
}

/** Bytes of base64. What is no text is no value, and kept as it is where it is short. */
function decodedBytes(value: unknown): number {
  if (typeof value !== "string") return JSON.stringify(value ?? null).length;
  const padding = value.endsWith("==") ? 2 : value.endsWith("=") ? 1 : 0;
  return value.length * 3 / 4 - padding;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The first of the PEM blocks, as far as it is looked at. */
function beginningOf(value: unknown): unknown {
  if (typeof value !== "string") return decodedBytes(value) > REVOKED_BYTES ? null : value;
  if (decodedBytes(value) <= REVOKED_BYTES) return value;
  // A third of a second for 1 MiB that is no base64; the part that is left is none for whoever reads it either.
  if (!BASE64.test(value)) return value.slice(0, REVOKED_BYTES);
  const bytes = Buffer.from(value, "base64");
  const from = Math.max(0, bytes.indexOf("-----BEGIN "));
  return bytes.subarray(from, from + REVOKED_BYTES).toString("base64");
}
