/**
 * The meaning of a response's head (RFC 9113 §8.2.2, §8.3.2). In: what HPACK's decoder has laid out.
 * Out: a `ResponseHead` with its framing, or what is wrong with it, for the log. A backend's message
 * that could be read in two ways is refused like a client's.
 */
import { STATUS_CODES } from "node:http";
import {
  CONNECTION,
  CONTENT_LENGTH,
  type Fields,
  KEEP_ALIVE,
  PROXY_CONNECTION,
  TE,
  TRANSFER_ENCODING,
  UPGRADE,
} from "../http/fields.ts";
import { dropForbiddenTrailers } from "../http/trailers.ts";
import { readContentLength } from "../http/field_values.ts";
import { type ResponseHead, UNKNOWN_LENGTH } from "../http/message.ts";
import type { HeadBlock } from "./hpack/head_block.ts";

/** 1 for fields that mean something to one connection of HTTP/1.1, and are forbidden here. */
const OF_CONNECTION = new Uint8Array(256);
for (const id of [CONNECTION, KEEP_ALIVE, PROXY_CONNECTION, TE, TRANSFER_ENCODING, UPGRADE]) {
  OF_CONNECTION[id] = 1;
}

/**
 * Judges a decoded head, interim or final, for an answer to `method`, and fills in `head`, whose
 * fields are the block's from now on. Null, or what is wrong.
 * @param isEnd END_STREAM came with it.
 */
export function readResponseHead(
  block: HeadBlock,
  method: string,
  isEnd: boolean,
  head: ResponseHead,
): string | null {
  if (block.malformed !== null) return `a head with ${block.malformed}`;
  if (block.tooLarge) return "a head that is too large";
  const { status, fields } = block;
  if (
    block.method !== null || block.scheme !== null || block.authority !== null ||
    block.path !== null || block.protocol !== null
  ) return "a head with a request's pseudo-field";
  if (status === -1) return "a head without :status";
  if (status > 599) return "a :status that is none";
  // RFC 9113 §8.6
  if (status === 101) return "101 (Switching Protocols), which HTTP/2 does not have";
  if (status < 200 && isEnd) return "an interim head that ends the stream";
  head.status = status;
  head.reason = status === 200 ? "OK" : STATUS_CODES[status] ?? "";
  head.fields = fields;
  head.closes = false;
  head.contentLength = -1;
  const { ids, count } = fields;
  let hasLength = false;
  for (let i = 0; i < count; i++) {
    const id = ids[i];
    if (id === CONTENT_LENGTH) {
      if (hasLength) return "two content-length fields";
      hasLength = true;
      head.contentLength = readContentLength(
        fields.bytes,
        fields.valueStart(i),
        fields.valueEnd(i),
      );
      if (head.contentLength === -1) return "a content-length that is no length";
    } else if (OF_CONNECTION[id] === 1) {
      return `the field ${fields.name(i)}, which HTTP/2 does not have`;
    }
  }
  if (hasNoBody(method, status)) {
    // As in HTTP/1.1 (RFC 9112 §6.3): no body, and with 1xx and 204 no length either.
    head.bodyLength = 0;
    if (status < 200 || status === 204) head.contentLength = -1;
  } else if (isEnd) {
    if (head.contentLength > 0) return "less DATA than content-length";
    head.bodyLength = 0;
  } else {
    head.bodyLength = hasLength ? head.contentLength : UNKNOWN_LENGTH;
  }
  return null;
}

/** Whether no body follows such a head, whatever its fields say. */
export function hasNoBody(method: string, status: number): boolean {
  return method === "HEAD" || status < 200 || status === 204 || status === 304;
}

/** Judges a decoded trailer section: its fields that may go on, or what is wrong. */
export function readTrailers(block: HeadBlock): Fields | string {
  if (block.malformed !== null) return `trailers with ${block.malformed}`;
  if (block.tooLarge) return "trailers that are too large";
  dropForbiddenTrailers(block.fields);
  return block.fields;
}
