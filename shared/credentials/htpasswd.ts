/**
 * Files of users and passwords, as htpasswd writes them. In: the text, one character for each byte. Out:
 * the hash of each user's password, and the numbers of lines that are of no use; never their text.
 *
 * As in nginx, the first line of a user counts, and a `:` or carriage return ends the hash. A user whose
 * first line is broken is none: no later line stands in for it.
 *
 * https://nginx.org/en/docs/http/ngx_http_auth_basic_module.html#auth_basic_user_file
 */

/** Characters of one line; others are broken. */
const MAX_LINE = 1024;

/** A user name of more bytes is nobody's. */
export const MAX_USER = 255;

/** Bcrypt of a higher cost takes more than a second. */
const MAX_BCRYPT_COST = 14;

/** The default is 5,000; so many take as long as the highest cost of bcrypt. */
const MAX_SHA_ROUNDS = 100_000;

export interface Htpasswd {
  /** By user; null for users whose line is broken. */
  readonly hashes: ReadonlyMap<string, string | null>;
  /** Numbers of broken lines, from 1. */
  readonly broken: readonly number[];
}

export function readHtpasswd(text: string): Htpasswd {
  const hashes = new Map<string, string | null>();
  const broken: number[] = [];
  let number = 0;
  for (let start = 0; start < text.length;) {
    const end = text.indexOf("\n", start);
    const line = text.slice(start, end === -1 ? text.length : end);
    start = end === -1 ? text.length : end + 1;
    number++;
    if (line === "" || line === "\r" || line.startsWith("#")) continue;
    const colon = line.slice(0, MAX_LINE).indexOf(":");
    if (colon <= 0 || colon > MAX_USER) {
      broken.push(number);
      continue;
    }
    const user = line.slice(0, colon);
    const hash = line.length > MAX_LINE ? null : hashOf(line.slice(colon + 1));
    if (hash === null) broken.push(number);
    if (!hashes.has(user)) hashes.set(user, hash);
  }
  return { hashes, broken };
}

function hashOf(rest: string): string | null {
  const [hash] = rest.split(/[:\r]/, 1);
  return isKnownHash(hash) ? hash : null;
}

/** Whether a password can be compared with it, in bounded time. */
function isKnownHash(hash: string): boolean {
  const bcrypt = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash);
  if (bcrypt !== null) return Number(bcrypt[1]) >= 4 && Number(bcrypt[1]) <= MAX_BCRYPT_COST;
  const sha = /^\$[56]\$(?:rounds=(\d{1,9})\$)?[^$:\r\n]{0,16}\$([./A-Za-z0-9]+)$/.exec(hash);
  if (sha !== null) {
    const rounds = sha[1] === undefined ? 5_000 : Number(sha[1]);
    return rounds >= 1_000 && rounds <= MAX_SHA_ROUNDS &&
      sha[2].length === (hash[1] === "5" ? 43 : 86);
  }
  return /^\$(?:1|apr1)\$[^$:\r\n]{0,8}\$[./A-Za-z0-9]{22}$/.test(hash) ||
    /^[./A-Za-z0-9]{13}$/.test(hash) ||
    /^\{SHA\}[A-Za-z0-9+/]{27}=$/.test(hash) ||
    isSalted(hash) || (hash.startsWith("{PLAIN}") && hash.length > "{PLAIN}".length);
}

/** SHA-1 and at least a byte of salt. */
function isSalted(hash: string): boolean {
  if (!/^\{SSHA\}[A-Za-z0-9+/]{28,200}={0,2}$/.test(hash)) return false;
  const [digits] = hash.slice("{SSHA}".length).split("=");
  return digits.length % 4 !== 1 && Math.floor(digits.length * 3 / 4) > 20;
}
