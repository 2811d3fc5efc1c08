/**
 * Where plain HTTP is redirected. In: host, path and query as they are matched, and the port that
 * clients know for HTTPS. Out: the URL. Pure.
 */

/** Certificate authorities ask for these over plain HTTP (RFC 8555 §8.3). */
const ACME_CHALLENGE = "/.well-known/acme-challenge/";

/** What leads elsewhere where routes are compared with decoded paths; tokens have none of it. */
const UNSAFE = /%|\/\//;

/** How the URL is written. */
export interface HttpsUrlStyle {
  /** With the port, also if it is 443. */
  readonly port: boolean;
  /** Without a slash at the end of path and query. */
  readonly cutsSlash: boolean;
}

interface Target {
  readonly host: string;
  readonly path: string;
  /** With its `?`, or "". */
  readonly query: string;
}

export function isAcmeChallenge(path: string): boolean {
  return path.startsWith(ACME_CHALLENGE) && !UNSAFE.test(path);
}

/** @param style null for a URL as short as possible, with all of the target. */
export function httpsLocation(
  { host, path, query }: Target,
  port: number,
  style: HttpsUrlStyle | null = null,
): string {
  const written = port === 443 && style?.port !== true ? "" : `:${port}`;
  const target = path + query;
  const cut = style?.cutsSlash === true && target.endsWith("/");
  return `https://${host}${written}${cut ? target.slice(0, -1) : target}`;
}
