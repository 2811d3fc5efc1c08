/**
 * MD5-crypt, `$1$` and Apache's `$apr1$`. In: a password and a salt. Out: the digest's 22 characters.
 * No library that is kept has both; the code follows APR's apr_md5.c.
 *
 * https://httpd.apache.org/docs/2.4/misc/password_encryptions.html
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { encode64 } from "./crypt_digits.ts";

const ROUNDS = 1_000;

export function md5Crypt(magic: "$1$" | "$apr1$", password: Buffer, salt: string): string {
  const salted = Buffer.from(salt, "latin1");
  const inner = md5(password, salted, password);
  const start = [password, Buffer.from(magic), salted];
  for (let left = password.length; left > 0; left -= 16) {
    start.push(inner.subarray(0, Math.min(left, 16)));
  }
  for (let bits = password.length; bits > 0; bits >>= 1) {
    start.push((bits & 1) === 1 || password.length === 0 ? ZERO : password.subarray(0, 1));
  }
  let digest = md5(...start);
  for (let i = 0; i < ROUNDS; i++) {
    const parts = [(i & 1) === 1 ? password : digest];
    if (i % 3 !== 0) parts.push(salted);
    if (i % 7 !== 0) parts.push(password);
    parts.push((i & 1) === 1 ? digest : password);
    digest = md5(...parts);
  }
  return encode64(digest, ORDER);
}

const ZERO = Buffer.of(0);

/** Three bytes make four characters; the last one two. */
const ORDER = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5], [11]];

function md5(...parts: readonly Buffer[]): Buffer {
  const hash = createHash("md5");
  for (const part of parts) hash.update(part);
  return hash.digest();
}
