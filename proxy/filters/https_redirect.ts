/**
 * The redirect of plain HTTP to HTTPS. In: a request. Out: where it would be redirected, or null for a
 * request that never is; and 308 (Permanent Redirect, which keeps method and body) to that place.
 */
import { fieldsOf, X_FORWARDED_PROTO } from "../http/fields.ts";
import { httpsLocation } from "../http/https_location.ts";
import { type Exchange, type RequestHead, ResponseHead } from "../http/message.ts";

/**
 * The URL without a query. Reads the fields as the client sent them: preparing them for the backend
 * drops X-Forwarded-Proto.
 * @param port the port that clients know for HTTPS.
 */
export function redirectLocation({ request, client }: Exchange, port: number): string | null {
  if (client.secure) return null;
  // A trusted proxy may have ended TLS before us: sending its clients back would never end.
  if (client.trusted) {
    const { fields } = request;
    const proto = fields.find(X_FORWARDED_PROTO);
    if (proto !== -1 && fields.value(proto).toLowerCase() === "https") return null;
  }
  return httpsLocation(request, port);
}

export function redirectTo(location: string, { query }: RequestHead): ResponseHead {
  const head = new ResponseHead();
  head.status = 308;
  head.reason = "Permanent Redirect";
  // Host and path are canonical by now; the query has visible ASCII only. A permanent redirect
  // without a lifetime may be kept for good (RFC 9111 §4.2.2), also when the certificate has gone.
  head.fields = fieldsOf([
    ["Location", `${location}${query}`],
    ["Cache-Control", "max-age=300"],
  ]);
  head.bodyLength = head.contentLength = 0;
  return head;
}
