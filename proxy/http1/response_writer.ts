/**
 * Heads of responses as HTTP/1.1 bytes. In: a backend's head or one of our own. Out: bytes with the
 * framing that this client understands, and with Server and Date where the backend gave none.
 */
import { asciiBytes, DATE, type Fields, SERVER, UPGRADE, writeLatin1 } from "../http/fields.ts";
import { CR, LF } from "../http/grammar.ts";
import { httpDate } from "../http/http_date.ts";
import { hasField, type RequestHead, type ResponseHead, UNKNOWN_LENGTH } from "../http/message.ts";
import {
  copyRange,
  fieldsSize,
  writeFields,
  writeNumberField,
  writeUpgrade,
} from "./head_writer.ts";

const HTTP_11 = asciiBytes("HTTP/1.1 ");
const STATUS_200 = asciiBytes("HTTP/1.1 200 OK\r\n");
const SERVER_LINE = asciiBytes("Server: pingress\r\n");
const CONTENT_LENGTH_NAME = asciiBytes("Content-Length: ");
const CHUNKED_LINE = asciiBytes("Transfer-Encoding: chunked\r\n");
const CLOSE_LINE = asciiBytes("Connection: close\r\n");
const KEEP_ALIVE_LINE = asciiBytes("Connection: keep-alive\r\n");
const CONNECTION_UPGRADE = asciiBytes("Connection: upgrade\r\n");
const UPGRADE_NAME = asciiBytes("Upgrade: ");
const UPGRADE_REQUIRED = 426;
/** Status line, our own lines and the empty line, at most, without the reason. */
const OWN_LINES = 256;

/** How this client learns where a body ends. */
export type ResponseFraming = "none" | "length" | "chunked" | "close";

/** RFC 9112 §6.1 and §6.2, for a response to `request`. */
export function responseFraming(request: RequestHead, head: ResponseHead): ResponseFraming {
  const { status } = head;
  if (request.method === "HEAD" || status === 204 || status === 304) return "none";
  if (head.bodyLength !== UNKNOWN_LENGTH) return "length";
  return request.version === 11 ? "chunked" : "close";
}

/** Bytes that `writeResponseHead` needs at most. */
export function responseHeadSize(head: ResponseHead): number {
  return OWN_LINES + head.reason.length + fieldsSize(head.fields) +
    (head.extra === null ? 0 : fieldsSize(head.extra));
}

/** Writes a final response's head; the position after it. */
export function writeResponseHead(
  out: Uint8Array,
  request: RequestHead,
  head: ResponseHead,
  framing: ResponseFraming,
  keepAlive: boolean,
): number {
  const { fields, extra } = head;
  let at = writeStatusLine(out, head);
  at = writeFields(out, at, fields);
  if (extra !== null) at = writeFields(out, at, extra);
  if (!hasField(head, SERVER) && !head.hidesServer) {
    at = copyRange(out, at, SERVER_LINE, 0, SERVER_LINE.length);
  }
  // RFC 9110 §6.6.1: a recipient with a clock adds the Date that is missing.
  if (!hasField(head, DATE)) at = writeDate(out, at);
  if (framing === "chunked") {
    at = copyRange(out, at, CHUNKED_LINE, 0, CHUNKED_LINE.length);
  } else if (framing === "length" || (framing === "none" && head.contentLength !== -1)) {
    const length = framing === "length" ? head.bodyLength : head.contentLength;
    at = writeNumberField(out, at, CONTENT_LENGTH_NAME, length);
  }
  if (head.status === UPGRADE_REQUIRED) at = writeUpgradeOffer(out, at, fields);
  if (!keepAlive) at = copyRange(out, at, CLOSE_LINE, 0, CLOSE_LINE.length);
  else if (request.version === 10) {
    at = copyRange(out, at, KEEP_ALIVE_LINE, 0, KEEP_ALIVE_LINE.length);
  }
  out[at++] = CR;
  out[at++] = LF;
  return at;
}

/** An interim response (1xx) as bytes of its own. */
export function interimBytes(head: ResponseHead): Uint8Array {
  const out = new Uint8Array(responseHeadSize(head));
  let at = writeStatusLine(out, head);
  at = writeFields(out, at, head.fields);
  out[at++] = CR;
  out[at++] = LF;
  return out.subarray(0, at);
}

/** 101 (Switching Protocols) to `protocol`. */
export function switchingBytes(head: ResponseHead, protocol: string): Uint8Array {
  const out = new Uint8Array(responseHeadSize(head) + protocol.length);
  let at = writeStatusLine(out, head);
  at = writeFields(out, at, head.fields);
  if (head.extra !== null) at = writeFields(out, at, head.extra);
  at = writeUpgrade(out, at, protocol);
  out[at++] = CR;
  out[at++] = LF;
  return out.subarray(0, at);
}

function writeStatusLine(out: Uint8Array, head: ResponseHead): number {
  if (head.status === 200 && head.reason === "OK") {
    return copyRange(out, 0, STATUS_200, 0, STATUS_200.length);
  }
  let at = copyRange(out, 0, HTTP_11, 0, HTTP_11.length);
  at = writeLatin1(out, at, `${head.status} ${head.reason}`);
  out[at++] = CR;
  out[at++] = LF;
  return at;
}

/**
 * RFC 9110 §15.5.22: a 426 names the protocols that it asks for. It is the one response whose Upgrade
 * crosses: the client's next request may ask for one of them, and is judged then.
 */
function writeUpgradeOffer(out: Uint8Array, at: number, fields: Fields): number {
  let named = false;
  for (let i = fields.find(UPGRADE); i !== -1; i = fields.find(UPGRADE, i + 1)) {
    if (fields.valueStart(i) === fields.valueEnd(i)) continue;
    if (!named) at = copyRange(out, at, CONNECTION_UPGRADE, 0, CONNECTION_UPGRADE.length);
    named = true;
    at = copyRange(out, at, UPGRADE_NAME, 0, UPGRADE_NAME.length);
    at = copyRange(out, at, fields.bytes, fields.valueStart(i), fields.valueEnd(i));
    out[at++] = CR;
    out[at++] = LF;
  }
  return at;
}

let dateValue = "";
let dateLine = new Uint8Array(0);

/** `Date: …`, made anew once a second. */
function writeDate(out: Uint8Array, at: number): number {
  const value = httpDate();
  if (value !== dateValue) {
    dateValue = value;
    dateLine = asciiBytes(`Date: ${value}\r\n`);
  }
  return copyRange(out, at, dateLine, 0, dateLine.length);
}
