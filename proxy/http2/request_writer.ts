/**
 * A request's head as HTTP/2's fields for a backend (RFC 9113 §8.3.1, RFC 8441 §4). In: a validated
 * head, and the fields added to it. Out: a header block: pseudo-fields first, the canonical path, no
 * field that ends here.
 */
import {
  asciiBytes,
  CONTENT_LENGTH,
  EXPECT,
  type Fields,
  NEVER_CROSSES,
  SEC_WEBSOCKET_KEY,
  TE,
} from "../http/fields.ts";
import type { RequestHead } from "../http/message.ts";
import { fieldBound, fieldsBound, type HpackEncoder } from "./hpack/encoder.ts";

const TE_NAME = asciiBytes("te");
const CONTENT_LENGTH_NAME = asciiBytes("content-length");
/** The longest name of a pseudo-field: `:authority`. */
const PSEUDO_NAME = 10;
/** `:method CONNECT`, `:scheme`, `te` and `content-length`, at most. */
const OWN_FIELDS = 4 * fieldBound(16, 24);

/** Besides the fields that never cross, of extended CONNECT: it needs no key (RFC 8441 §5). */
const WITHOUT_KEY = NEVER_CROSSES.slice();
WITHOUT_KEY[SEC_WEBSOCKET_KEY] = 1;

/** An upper bound for what `writeRequestHead` writes, in bytes. */
export function requestHeadBound(head: RequestHead, added: Fields | null, host: string): number {
  return OWN_FIELDS + fieldBound(PSEUDO_NAME, head.method.length) +
    fieldBound(PSEUDO_NAME, head.path.length + head.query.length) +
    fieldBound(PSEUDO_NAME, host.length) + fieldBound(PSEUDO_NAME, head.upgrade.length) +
    fieldsBound(head.fields) + (added === null ? 0 : fieldsBound(added)) +
    (head.extra === null ? 0 : fieldsBound(head.extra));
}

/**
 * Writes the head, which the encoder has begun; the position after it. A head with `upgrade` becomes
 * extended CONNECT with that protocol.
 * @param host the authority that is asked; "" where the client named none.
 * @param isSecure over TLS.
 */
export function writeRequestHead(
  encoder: HpackEncoder,
  out: Uint8Array,
  at: number,
  head: RequestHead,
  added: Fields | null,
  host: string,
  isSecure: boolean,
): number {
  const { upgrade, fields, extra } = head;
  const isTunnel = upgrade !== "";
  at = encoder.method(out, at, isTunnel ? "CONNECT" : head.method);
  at = encoder.scheme(out, at, isSecure ? "https" : "http");
  if (host !== "") at = encoder.authority(out, at, host);
  at = encoder.path(out, at, head.path, head.query);
  if (isTunnel) at = encoder.protocol(out, at, upgrade);
  if (head.expectsContinue && head.bodyLength === 0) {
    // Nothing to wait for: the backend is not asked.
    fields.drop(fields.find(EXPECT));
    head.expectsContinue = false;
  }
  at = encoder.fields(out, at, fields, isTunnel ? WITHOUT_KEY : NEVER_CROSSES);
  if (added !== null) at = encoder.fields(out, at, added, NEVER_CROSSES);
  if (extra !== null) at = encoder.fields(out, at, extra, NEVER_CROSSES);
  // What follows a request for a tunnel is no body, be it one of no bytes.
  if (head.contentLength !== -1 && !isTunnel) {
    at = encoder.pair(out, at, CONTENT_LENGTH_NAME, String(head.contentLength), CONTENT_LENGTH);
  }
  // gRPC has it that a server without TE may be one that cannot be told of trailers.
  if (!isTunnel && (head.acceptsTrailers || head.isGrpc)) {
    at = encoder.pair(out, at, TE_NAME, "trailers", TE);
  }
  return at;
}
