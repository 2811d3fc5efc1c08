/**
 * Requests as HTTP/1.1 bytes for a backend. In: a validated head, the fields added to it, and its
 * framing. Out: a head written anew: the canonical path, Host first, no field that ends here.
 */
import {
  asciiBytes,
  EXPECT,
  type Fields,
  NEVER_CROSSES,
  TRAILER,
  writeLatin1,
} from "../http/fields.ts";
import { type RequestHead, UNKNOWN_LENGTH } from "../http/message.ts";
import { CR, LF, SP } from "../http/grammar.ts";
import {
  copyRange,
  fieldsSize,
  writeFields,
  writeNumberField,
  writeUpgrade,
} from "./head_writer.ts";

const HOST_LINE = asciiBytes(" HTTP/1.1\r\nHost: ");
const CONTENT_LENGTH_NAME = asciiBytes("Content-Length: ");
const CHUNKED_LINE = asciiBytes("Transfer-Encoding: chunked\r\n");
/** RFC 9110 §10.1.4: who sends TE names it in Connection. */
const TE_LINES = asciiBytes("TE: trailers\r\nConnection: TE\r\n");
/**
 * Trailers of a request end before a backend of HTTP/1.1, and are not announced to it: whether it
 * reads them is unknown, and some take them for fields of the head (RFC 9110 §6.5.1).
 */
const WITHOUT_TRAILER = NEVER_CROSSES.slice();
WITHOUT_TRAILER[TRAILER] = 1;
/** Request line and our own lines, at most, without method, target, authority and fields. */
const OWN_LINES = 128;

/** Bytes that `writeRequestHead` needs at most. */
export function requestHeadSize(head: RequestHead, added: Fields | null): number {
  return OWN_LINES + head.method.length + head.path.length + head.query.length +
    head.authority.length + head.upgrade.length + fieldsSize(head.fields) +
    (added === null ? 0 : fieldsSize(added)) + (head.extra === null ? 0 : fieldsSize(head.extra));
}

/** Writes the head; the position after it. */
export function writeRequestHead(
  out: Uint8Array,
  head: RequestHead,
  added: Fields | null,
  host: string,
): number {
  let at = writeLatin1(out, 0, head.method);
  out[at++] = SP;
  at = writeLatin1(out, at, head.path);
  if (head.query !== "") at = writeLatin1(out, at, head.query);
  at = copyRange(out, at, HOST_LINE, 0, HOST_LINE.length);
  at = writeLatin1(out, at, host);
  out[at++] = CR;
  out[at++] = LF;
  if (head.expectsContinue && head.bodyLength === 0) {
    // Nothing to wait for: the backend is not asked.
    head.fields.drop(head.fields.find(EXPECT));
    head.expectsContinue = false;
  }
  at = writeFields(out, at, head.fields, WITHOUT_TRAILER);
  if (added !== null) at = writeFields(out, at, added);
  if (head.extra !== null) at = writeFields(out, at, head.extra);
  if (head.bodyLength === UNKNOWN_LENGTH) {
    at = copyRange(out, at, CHUNKED_LINE, 0, CHUNKED_LINE.length);
  } else if (head.contentLength !== -1) {
    at = writeNumberField(out, at, CONTENT_LENGTH_NAME, head.contentLength);
  }
  if (head.upgrade !== "") at = writeUpgrade(out, at, head.upgrade);
  else if (head.acceptsTrailers) at = copyRange(out, at, TE_LINES, 0, TE_LINES.length);
  out[at++] = CR;
  out[at++] = LF;
  return at;
}
