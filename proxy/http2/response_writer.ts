/**
 * Heads of answers as header blocks. In: a backend's head or one of our own. Out: its fields without
 * those of a connection, `:status`, and what this client must be told besides.
 */
import { asciiBytes, CONTENT_LENGTH, DATE, NEVER_CROSSES, SERVER } from "../http/fields.ts";
import { httpDate } from "../http/http_date.ts";
import { hasField, type ResponseHead } from "../http/message.ts";
import { fieldBound, fieldsBound, type HpackEncoder } from "./hpack/encoder.ts";

const SERVER_NAME = asciiBytes("server");
const SERVER_VALUE = "pingress";
const DATE_NAME = asciiBytes("date");
const CONTENT_LENGTH_NAME = asciiBytes("content-length");
/** `:status`, Server, Date and Content-Length at most, in bytes. */
const OWN_FIELDS = fieldBound(7, 3) + fieldBound(6, 8) + fieldBound(4, 29) + fieldBound(14, 16);

/** Bytes that the writers here need at most. */
export function responseHeadBound(head: ResponseHead): number {
  return OWN_FIELDS + fieldsBound(head.fields) +
    (head.extra === null ? 0 : fieldsBound(head.extra));
}

/** Writes a final head; `length` is that of Content-Length, -1 for none. The position after it. */
export function writeResponseHead(
  encoder: HpackEncoder,
  out: Uint8Array,
  at: number,
  head: ResponseHead,
  length: number,
): number {
  at = writeInterimHead(encoder, out, at, head);
  if (!hasField(head, SERVER) && !head.hidesServer) {
    at = encoder.pair(out, at, SERVER_NAME, SERVER_VALUE, SERVER);
  }
  // RFC 9110 §6.6.1: a recipient with a clock adds the Date that is missing.
  if (!hasField(head, DATE)) at = encoder.pair(out, at, DATE_NAME, httpDate(), DATE);
  if (length === -1) return at;
  return encoder.pair(out, at, CONTENT_LENGTH_NAME, String(length), CONTENT_LENGTH);
}

/** Writes an interim head, or another to which nothing is added. */
export function writeInterimHead(
  encoder: HpackEncoder,
  out: Uint8Array,
  at: number,
  head: ResponseHead,
): number {
  at = encoder.fields(out, encoder.status(out, at, head.status), head.fields, NEVER_CROSSES);
  return head.extra === null ? at : encoder.fields(out, at, head.extra, NEVER_CROSSES);
}
