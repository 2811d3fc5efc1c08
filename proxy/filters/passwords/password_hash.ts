/**
 * Whether a password has a hash. In: a hash that `shared/credentials/htpasswd.ts` has admitted, and the bytes of a
 * password. Out: yes or no. Runs in a thread of its own: a check takes up to a second.
 */
import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { bcrypt } from "hash-wasm";
import unixCrypt from "unix-crypt-td-js";
import { md5Crypt } from "./md5_crypt.ts";
import { shaCrypt } from "./sha_crypt.ts";

/** Traditional DES; the package has no types. */
const desCrypt: (password: readonly number[], salt: string) => string = unixCrypt;

/** As in libxcrypt; what SHA-crypt does grows with the square of it. */
export const MAX_PASSWORD = 512;

/** Bcrypt reads no more. */
const MAX_BCRYPT_PASSWORD = 72;

/**
 * Rejects where the hash is not one of those that are admitted.
 * @param password a character for each byte.
 */
export async function isPasswordOf(hash: string, password: string): Promise<boolean> {
  const bytes = Buffer.from(password, "latin1");
  if (bytes.length > MAX_PASSWORD) return false;
  return isSame(await hashLike(hash, bytes), hash);
}

/** The password's hash, with the salt of another one. */
async function hashLike(hash: string, password: Buffer): Promise<string> {
  if (hash.startsWith("{PLAIN}")) return `{PLAIN}${password.toString("latin1")}`;
  if (hash.startsWith("{SHA}")) return `{SHA}${sha1(password).toString("base64")}`;
  if (hash.startsWith("{SSHA}")) {
    const prefix = "{SSHA}";
    const salt = Buffer.from(hash.slice(prefix.length), "base64").subarray(20);
    const digest = Buffer.concat([sha1(Buffer.concat([password, salt])), salt]);
    // Written as the hash is, with or without padding.
    return `${prefix}${digest.toString("base64")}`.slice(0, hash.length);
  }
  const [, kind, second, third] = hash.split("$");
  switch (kind) {
    case "1":
    case "apr1":
      return `$${kind}$${second}$${md5Crypt(`$${kind}$`, password, second)}`;
    case "5":
    case "6": {
      const name = kind === "5" ? "sha256" : "sha512";
      const rounds = /^rounds=(\d+)$/.exec(second);
      const salt = rounds === null ? second : third;
      const start = hash.slice(0, hash.lastIndexOf("$") + 1);
      return start + shaCrypt(name, password, salt, rounds === null ? 5_000 : Number(rounds[1]));
    }
    case "2a":
    case "2b":
    case "2y":
      return await bcryptLike(hash, password);
  }
  return desCrypt([...untilZero(password)], hash.slice(0, 2));
}

async function bcryptLike(hash: string, password: Buffer): Promise<string> {
  const [, kind, cost, rest] = hash.split("$");
  // An empty one is one zero byte, as all end with one.
  const own = untilZero(password);
  const binary = await bcrypt({
    password: own.length === 0 ? Buffer.of(0) : own.subarray(0, MAX_BCRYPT_PASSWORD),
    salt: bcryptBytes(rest.slice(0, 22)),
    costFactor: Number(cost),
    outputType: "encoded",
  });
  return `$${kind}$${binary.slice("$2a$".length)}`;
}

/** C's functions see nothing of a password after a zero byte. */
function untilZero(password: Buffer): Buffer {
  const zero = password.indexOf(0);
  return zero === -1 ? password : password.subarray(0, zero);
}

const BCRYPT_DIGITS = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function bcryptBytes(digits: string): Buffer {
  const base64 = Array.from(digits, (digit) => BASE64_DIGITS[BCRYPT_DIGITS.indexOf(digit)]);
  return Buffer.from(base64.join(""), "base64").subarray(0, 16);
}

function sha1(bytes: Buffer): Buffer {
  return createHash("sha1").update(bytes).digest();
}

/** In a time that says nothing about where they differ. */
function isSame(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(left, right);
}
