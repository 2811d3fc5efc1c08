/**
 * Plain HTTP to a host whose certificate names it goes to HTTPS. In: a request. Out: 308 (Permanent
 * Redirect, which keeps method and body) with its Location, or null for a request that stays.
 */
import { fieldsOf, X_FORWARDED_PROTO } from "../http/fields.ts";
import { httpsLocation } from "../http/https_location.ts";
import { type Exchange, ResponseHead } from "../http/message.ts";

export interface HttpsRedirectOptions {
  /** The port clients know for HTTPS. */
  readonly port: number;
  readonly isRedirected: (host: string) => boolean;
}

export function httpsRedirect(
  { request, client }: Exchange,
  options: HttpsRedirectOptions,
): ResponseHead | null {
  if (client.secure || !options.isRedirected(request.host)) return null;
  const location = httpsLocation(request, options.port);
  if (location === null) return null;
  // A trusted proxy may have ended TLS before us: sending its clients back would never end.
  if (client.trusted) {
    const { fields } = request;
    const proto = fields.find(X_FORWARDED_PROTO);
    if (proto !== -1 && fields.value(proto).toLowerCase() === "https") return null;
  }
  const head = new ResponseHead();
  head.status = 308;
  head.reason = "Permanent Redirect";
  // Host and path are canonical by now; the query has visible ASCII only. A permanent redirect
  // without a lifetime may be kept for good (RFC 9111 §4.2.2), also when the certificate has gone.
  head.fields = fieldsOf([
    ["Location", `${location}${request.query}`],
    ["Cache-Control", "max-age=300"],
  ]);
  head.bodyLength = head.contentLength = 0;
  return head;
}
