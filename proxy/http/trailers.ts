/**
 * Trailers (RFC 9110 §6.5). In: fields that came behind a body. Out: the same, without those that
 * are not allowed there.
 */
import {
  AUTHORIZATION,
  CACHE_CONTROL,
  CONNECTION,
  CONTENT_ENCODING,
  CONTENT_LENGTH,
  CONTENT_RANGE,
  CONTENT_TYPE,
  COOKIE,
  EXPECT,
  type Fields,
  FORWARDED,
  FORWARDED_FAMILY,
  HOST,
  HTTP2_SETTINGS,
  KEEP_ALIVE,
  MAX_FORWARDS,
  PROXY,
  PROXY_AUTHENTICATE,
  PROXY_AUTHORIZATION,
  PROXY_CONNECTION,
  SET_COOKIE,
  TE,
  TRAILER,
  TRANSFER_ENCODING,
  UNDERSCORE,
  UPGRADE,
  WWW_AUTHENTICATE,
  X_FORWARDED_FOR,
  X_FORWARDED_HOST,
  X_FORWARDED_PORT,
  X_FORWARDED_PROTO,
  X_REAL_IP,
  X_REQUEST_ID,
} from "./fields.ts";

/** Fields that mean something before the body, and are refused behind it (RFC 9110 §6.5.1). */
const NEVER_TRAILERS: ReadonlySet<number> = new Set([
  HOST,
  CONTENT_LENGTH,
  TRANSFER_ENCODING,
  CONNECTION,
  KEEP_ALIVE,
  PROXY_CONNECTION,
  TE,
  TRAILER,
  UPGRADE,
  EXPECT,
  HTTP2_SETTINGS,
  PROXY_AUTHORIZATION,
  PROXY_AUTHENTICATE,
  AUTHORIZATION,
  COOKIE,
  SET_COOKIE,
  WWW_AUTHENTICATE,
  CONTENT_TYPE,
  CONTENT_ENCODING,
  CONTENT_RANGE,
  CACHE_CONTROL,
  MAX_FORWARDS,
  X_FORWARDED_FOR,
  X_FORWARDED_PROTO,
  X_FORWARDED_HOST,
  X_FORWARDED_PORT,
  X_REAL_IP,
  X_REQUEST_ID,
  FORWARDED,
  FORWARDED_FAMILY,
  PROXY,
  UNDERSCORE,
]);

/** Drops what must not come as a trailer; the rest may go on. */
export function dropForbiddenTrailers(trailers: Fields): void {
  for (let i = 0; i < trailers.count; i++) {
    if (NEVER_TRAILERS.has(trailers.ids[i])) trailers.drop(i);
  }
}
