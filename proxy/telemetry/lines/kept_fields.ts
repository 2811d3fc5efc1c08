/**
 * Header fields that telemetry shows. In: an exchange while its fields are there. Out: their values in
 * its record, without what must not be shown.
 */
import { REFERER, USER_AGENT } from "../../http/fields.ts";
import type { Exchange } from "../../http/message.ts";

/**
 * `user:password@` (RFC 3986 §3.2.1), up to the last `@` before the path. A backslash is a slash to
 * browsers (WHATWG URL), and at the end of a password it is none.
 */
const USERINFO = /^([^/\\?#]*[/\\]{2})[^/?#]*@/;

/**
 * Keeps the fields that a line shows, if that has not been done. Their bytes hold until the exchange
 * ends, but where a body follows only until that is read.
 */
export function keepFields({ record, request: { fields } }: Exchange): void {
  if (record.userAgent !== null) return;
  const userAgent = fields.find(USER_AGENT);
  const referer = fields.find(REFERER);
  record.userAgent = userAgent === -1 ? "" : fields.value(userAgent);
  record.referer = referer === -1 ? "" : fields.value(referer);
}

/** A referer without user and password, and without its query unless `query`. */
export function loggedReferer(referer: string, query: boolean): string {
  const url = referer.replace(USERINFO, "$1");
  if (query) return url;
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
