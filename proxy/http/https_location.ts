/**
 * Where plain HTTP to a host with a certificate is redirected. In: host and path as they are matched,
 * and the port that clients know for HTTPS. Out: the URL without a query, or null where the request
 * stays. Pure.
 */

/** Certificate authorities ask for these over plain HTTP (RFC 8555 §8.3). */
const ACME_CHALLENGE = "/.well-known/acme-challenge/";

/** What leads elsewhere where routes are compared with decoded paths; tokens have none of it. */
const UNSAFE = /%|\/\//;

export function httpsLocation(
  { host, path }: { readonly host: string; readonly path: string },
  port: number,
): string | null {
  if (path.startsWith(ACME_CHALLENGE) && !UNSAFE.test(path)) return null;
  return `https://${host}${port === 443 ? "" : `:${port}`}${path}`;
}
