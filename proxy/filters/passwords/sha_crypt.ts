/**
 * SHA-crypt, `$5$` (SHA-256) and `$6$` (SHA-512). In: a password, a salt and rounds. Out: the digest's
 * characters. No library that is kept has it; the steps are those of the specification.
 *
 * https://www.akkadia.org/drepper/SHA-crypt.txt
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { encode64 } from "./crypt_digits.ts";

export function shaCrypt(
  name: "sha256" | "sha512",
  password: Buffer,
  salt: string,
  rounds: number,
): string {
  const digest = (...parts: readonly Buffer[]) => {
    const hash = createHash(name);
    for (const part of parts) hash.update(part);
    return hash.digest();
  };
  const salted = Buffer.from(salt, "latin1");
  // Steps 4 to 8.
  const b = digest(password, salted, password);
  // Steps 1 to 3, and 9 to 12.
  const parts = [password, salted, repeated(b, password.length)];
  for (let bits = password.length; bits > 0; bits >>= 1) {
    parts.push((bits & 1) === 1 ? b : password);
  }
  let a = digest(...parts);
  // Steps 13 to 20.
  const p = repeated(digest(...Array<Buffer>(password.length).fill(password)), password.length);
  const s = repeated(digest(...Array<Buffer>(16 + a[0]).fill(salted)), salted.length);
  // Step 21.
  for (let i = 0; i < rounds; i++) {
    const round = [(i & 1) === 1 ? p : a];
    if (i % 3 !== 0) round.push(s);
    if (i % 7 !== 0) round.push(p);
    round.push((i & 1) === 1 ? a : p);
    a = digest(...round);
  }
  return encode64(a, ORDERS[name]);
}

function repeated(bytes: Buffer, length: number): Buffer {
  const result = Buffer.alloc(length);
  for (let at = 0; at < length; at += bytes.length) bytes.copy(result, at, 0, length - at);
  return result;
}

/** Step 22: each group begins `step` further, and is turned. */
function turned(count: number, step: number, turn: number, last: readonly number[]): number[][] {
  const groups = Array.from({ length: count }, (_, i) => {
    const first = [i, i + step, i + 2 * step];
    const by = (i * turn) % 3;
    return [...first.slice(by), ...first.slice(0, by)];
  });
  return [...groups, [...last]];
}

const ORDERS = {
  sha256: turned(10, 10, 2, [31, 30]),
  sha512: turned(21, 21, 1, [63]),
};
