/**
 * The redirect of plain HTTP to HTTPS. In: a request whose fields are prepared, or the URL. Out:
 * whether it came over HTTPS after all; and 308 (Permanent Redirect, which keeps method and body).
 */
import { fieldsOf, X_FORWARDED_PROTO } from "../http/fields.ts";
import { type Exchange, ResponseHead } from "../http/message.ts";

/** A trusted proxy may have ended TLS before us: sending its clients back would never end. */
export function cameOverHttps({ client, added }: Exchange): boolean {
  if (client.secure) return true;
  if (!client.trusted || added === null) return false;
  const proto = added.find(X_FORWARDED_PROTO);
  return proto !== -1 && added.value(proto).toLowerCase() === "https";
}

export function redirectTo(location: string): ResponseHead {
  const head = new ResponseHead();
  head.status = 308;
  head.reason = "Permanent Redirect";
  // Host and path are canonical by now; the query has visible ASCII only. A permanent redirect
  // without a lifetime may be kept for good (RFC 9111 §4.2.2), also when the certificate has gone.
  head.fields = fieldsOf([
    ["Location", location],
    ["Cache-Control", "max-age=300"],
  ]);
  head.bodyLength = head.contentLength = 0;
  return head;
}
