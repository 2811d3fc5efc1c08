/**
 * The meaning of a response's head (RFC 9112 §4 and §6.3). In: ranges that `HeadParser` has found.
 * Out: a `ResponseHead` with its framing, or what is wrong with it, for the log. A backend's message
 * that could be read in two ways is refused like a client's.
 */
import {
  asciiBytes,
  CONNECTION,
  CONTENT_LENGTH,
  latin1,
  TRANSFER_ENCODING,
} from "../http/fields.ts";
import { equalsLower } from "../http/letter_case.ts";
import { type ResponseHead, UNKNOWN_LENGTH } from "../http/message.ts";
import {
  connectionOptions,
  dropNamed,
  isKeepAlive,
  readContentLength,
} from "../http/field_values.ts";
import { isDigit, SP } from "../http/grammar.ts";

const CHUNKED = asciiBytes("chunked");

/** What of a response's head matters to its connection alone. */
export interface ResponseConnection {
  keepAlive: boolean;
  /** The body ends with the connection. */
  untilClose: boolean;
}

/**
 * Judges `HTTP/1.x SP status [SP reason]` at `bytes[start, end)`. Returns the version (10 or 11), or
 * 0 for a line that is none. A missing blank before an empty reason is common and harmless.
 */
export function readStatusLine(
  bytes: Uint8Array,
  start: number,
  end: number,
  head: ResponseHead,
): 0 | 10 | 11 {
  if (
    end - start < 12 || bytes[start] !== 0x48 || bytes[start + 1] !== 0x54 ||
    bytes[start + 2] !== 0x54 || bytes[start + 3] !== 0x50 || bytes[start + 4] !== 0x2f ||
    bytes[start + 5] !== 0x31 || bytes[start + 6] !== 0x2e || bytes[start + 8] !== SP
  ) return 0;
  const minor = bytes[start + 7] - 0x30;
  if (minor !== 0 && minor !== 1) return 0;
  let status = 0;
  for (let i = start + 9; i < start + 12; i++) {
    if (!isDigit(bytes[i])) return 0;
    status = status * 10 + (bytes[i] - 0x30);
  }
  if (status < 100 || status > 599) return 0;
  if (end > start + 12 && bytes[start + 12] !== SP) return 0;
  head.status = status;
  const isOk = end === start + 15 && bytes[start + 13] === 0x4f && bytes[start + 14] === 0x4b;
  head.reason = isOk ? "OK" : latin1(bytes, start + 13, end);
  return minor === 1 ? 11 : 10;
}

/** Judges the fields, for a response to `method`. Null, or what is wrong. */
export function readResponseFields(
  head: ResponseHead,
  version: 10 | 11,
  method: string,
  connection: ResponseConnection,
): string | null {
  const { fields } = head;
  const { ids, count } = fields;
  let contentLength = -1;
  let transferEncoding = -1;
  let connectionFields = 0;
  for (let i = 0; i < count; i++) {
    switch (ids[i]) {
      case CONTENT_LENGTH:
        if (contentLength !== -1) return "two Content-Length fields";
        contentLength = i;
        break;
      case TRANSFER_ENCODING:
        if (transferEncoding !== -1) return "two Transfer-Encoding fields";
        transferEncoding = i;
        break;
      case CONNECTION:
        connectionFields++;
        break;
    }
  }
  connection.keepAlive = version === 11;
  connection.untilClose = false;
  head.contentLength = -1;
  if (contentLength !== -1) {
    head.contentLength = readContentLength(
      fields.bytes,
      fields.valueStart(contentLength),
      fields.valueEnd(contentLength),
    );
    if (head.contentLength === -1) return "a Content-Length that is no length";
    if (transferEncoding !== -1) return "both Content-Length and Transfer-Encoding";
  }
  if (transferEncoding !== -1) {
    const start = fields.valueStart(transferEncoding);
    if (
      version === 10 || fields.valueEnd(transferEncoding) - start !== CHUNKED.length ||
      !equalsLower(fields.bytes, start, CHUNKED)
    ) return "a Transfer-Encoding that is not chunked";
  }
  if (connectionFields > 0 && !readConnection(head, version, connectionFields, connection)) {
    return "a malformed Connection field";
  }
  const { status } = head;
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) {
    // RFC 9112 §6.3: no body, whatever the fields say; 204 and 1xx carry no length either.
    head.bodyLength = 0;
    if (status < 200 || status === 204) head.contentLength = -1;
  } else if (transferEncoding !== -1) {
    head.bodyLength = UNKNOWN_LENGTH;
  } else if (contentLength !== -1) {
    head.bodyLength = head.contentLength;
  } else {
    head.bodyLength = UNKNOWN_LENGTH;
    connection.untilClose = true;
    connection.keepAlive = false;
  }
  return null;
}

/** Persistence, and the fields that end here because Connection names them. */
function readConnection(
  { fields }: ResponseHead,
  version: 10 | 11,
  connectionFields: number,
  connection: ResponseConnection,
): boolean {
  if (connectionFields === 1 && isKeepAlive(fields, fields.find(CONNECTION))) {
    connection.keepAlive = true;
    return true;
  }
  const options = connectionOptions(fields);
  if (options === null) return false;
  let close = false;
  let keep = false;
  for (const option of options) {
    if (option === "close") close = true;
    else if (option === "keep-alive") keep = true;
    else if (option !== "upgrade" && option !== "te") dropNamed(fields, asciiBytes(option));
  }
  connection.keepAlive = !close && (version === 11 || keep);
  return true;
}
