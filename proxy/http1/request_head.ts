/**
 * The meaning of a request's head (RFC 9110 §7, RFC 9112 §3 and §6). In: ranges that `HeadParser`
 * has found. Out: a `RequestHead` with framing, host and canonical path decided, or the error code
 * that refuses it. Whatever a backend could understand differently is refused here.
 */
import { canonicalPath, type PathOptions } from "../../shared/path/canonical_path.ts";
import { authorityAt, readAuthority } from "../http/host.ts";
import type { ErrorCode } from "../errors.ts";
import {
  asciiBytes,
  AUTHORIZATION,
  CDN_LOOP,
  CONNECTION,
  CONTENT_LENGTH,
  CONTENT_TYPE,
  COOKIE,
  EXPECT,
  fieldId,
  type Fields,
  FORWARDED,
  FORWARDED_FAMILY,
  HOST,
  latin1,
  TE,
  TRANSFER_ENCODING,
  UPGRADE,
  X_FORWARDED_FOR,
  X_FORWARDED_HOST,
  X_FORWARDED_PORT,
  X_FORWARDED_PROTO,
  X_REAL_IP,
} from "../http/fields.ts";
import { equalsLower } from "../http/letter_case.ts";
import { type RequestHead, UNKNOWN_LENGTH } from "../http/message.ts";
import { MAX_METHOD, methodAt } from "../http/method.ts";
import {
  connectionOptions,
  dropNamed,
  isKeepAlive,
  readContentLength,
  splitList,
} from "../http/field_values.ts";
import { SP, TARGET, TOKEN } from "../http/grammar.ts";
import { isGrpc } from "../grpc/content_type.ts";
import type { HeadParser } from "./head_parser.ts";
import { readUpgrade } from "./upgrade.ts";

const CHUNKED = asciiBytes("chunked");

/**
 * `Connection: host` and the like would have the proxy drop headers that backends rely on, such as
 * Authorization or X-Forwarded-For (RFC 9110 §7.6.1).
 */
const NEVER_NOMINATED: ReadonlySet<number> = new Set([
  HOST,
  CONTENT_LENGTH,
  TRANSFER_ENCODING,
  AUTHORIZATION,
  COOKIE,
  X_FORWARDED_FOR,
  X_FORWARDED_PROTO,
  X_FORWARDED_HOST,
  X_FORWARDED_PORT,
  X_REAL_IP,
  FORWARDED,
  FORWARDED_FAMILY,
  CDN_LOOP,
  EXPECT, // Who waits for a 100 would wait in vain.
]);

/** What of a head matters to its connection alone. */
export interface RequestConnection {
  keepAlive: boolean;
}

/**
 * Judges `method SP target SP version` (RFC 9112 §3) at `bytes[start, end)` and fills in method,
 * version, path, query and, from an absolute-form target, the authority.
 */
export function readRequestLine(
  bytes: Uint8Array,
  start: number,
  end: number,
  head: RequestHead,
  paths?: PathOptions,
): ErrorCode | null {
  head.method = "";
  let at = start;
  while (at < end && TOKEN[bytes[at]] !== 0) at++;
  if (at === start || at - start > MAX_METHOD || bytes[at] !== SP) return "bad_request";
  head.method = methodAt(bytes, start, at);
  if (head.method === "") return "bad_request";
  const targetStart = ++at;
  while (at < end && TARGET[bytes[at]] === 1) at++;
  const targetEnd = at;
  if (targetEnd === targetStart) return "bad_request";
  if (targetEnd === end) return "bad_request"; // HTTP/0.9
  if (bytes[at++] !== SP) return "bad_target";
  const version = readVersion(bytes, at, end);
  if (version !== 10 && version !== 11) return version;
  head.version = version;
  if (head.method === "CONNECT" || head.method === "TRACE") return "method_refused";
  return readTarget(bytes, targetStart, targetEnd, head, paths);
}

/** The code for a head in `bytes` that `parser` has not taken. */
export function headError(
  result: "malformed" | "too_long" | "too_many",
  parser: HeadParser,
  bytes: Uint8Array,
): ErrorCode {
  if (result === "malformed") return "bad_request";
  if (result === "too_many" || !parser.inStartLine) return "head_too_large";
  // A line without end is the target's fault, unless not even the method ends.
  const blank = bytes.indexOf(SP, parser.startLineStart);
  const isMethod = blank === -1 || blank - parser.startLineStart > MAX_METHOD;
  return isMethod ? "bad_request" : "target_too_long";
}

/** `HTTP/1.1` at `bytes[start, end)`, and nothing behind it. */
function readVersion(bytes: Uint8Array, start: number, end: number): 10 | 11 | ErrorCode {
  // "HTTP/" DIGIT "." DIGIT
  if (
    end - start !== 8 || bytes[start] !== 0x48 || bytes[start + 1] !== 0x54 ||
    bytes[start + 2] !== 0x54 || bytes[start + 3] !== 0x50 || bytes[start + 4] !== 0x2f ||
    bytes[start + 6] !== 0x2e
  ) return "bad_request";
  const major = bytes[start + 5] - 0x30;
  const minor = bytes[start + 7] - 0x30;
  if (major < 0 || major > 9 || minor < 0 || minor > 9) return "bad_request";
  if (major !== 1 || minor > 1) return "bad_version";
  return minor === 1 ? 11 : 10;
}

/** Origin-form and absolute-form (RFC 9112 §3.2); the others have no meaning here. */
function readTarget(
  bytes: Uint8Array,
  start: number,
  end: number,
  head: RequestHead,
  paths: PathOptions | undefined,
): ErrorCode | null {
  head.authority = "";
  let pathStart = start;
  if (bytes[start] !== 0x2f) {
    const text = latin1(bytes, start, end);
    const absolute = /^https?:\/\/([^/?]*)/i.exec(text);
    if (absolute === null || absolute[1] === "") return "bad_target";
    head.authority = absolute[1];
    pathStart = start + absolute[0].length;
  }
  let pathEnd = pathStart;
  while (pathEnd < end && bytes[pathEnd] !== 0x3f) pathEnd++;
  head.query = pathEnd === end ? "" : latin1(bytes, pathEnd, end);
  const raw = pathEnd === pathStart ? "/" : latin1(bytes, pathStart, pathEnd);
  const canonical = canonicalPath(raw, paths);
  if (!canonical.ok) return "bad_target";
  head.path = canonical.path;
  head.received = raw;
  return null;
}

/** Judges the fields of a head whose request line has been read. */
export function readRequestFields(
  head: RequestHead,
  connection: RequestConnection,
): ErrorCode | null {
  const { fields } = head;
  const { ids, count } = fields;
  let host = -1;
  let contentLength = -1;
  let transferEncoding = -1;
  head.expectsContinue = false;
  head.acceptsTrailers = false;
  head.isGrpc = false;
  head.upgrade = "";
  head.extra = null;
  let connectionFields = 0;
  for (let i = 0; i < count; i++) {
    switch (ids[i]) {
      case HOST:
        if (host !== -1) return "bad_host";
        host = i;
        break;
      case CONTENT_LENGTH:
        // RFC 9110 §8.6 lets equal lengths pass; peers differ on it, so a second one is refused.
        if (contentLength !== -1) return "bad_framing";
        contentLength = i;
        break;
      case TRANSFER_ENCODING:
        if (transferEncoding !== -1) return "bad_framing";
        transferEncoding = i;
        break;
      case CONNECTION:
        connectionFields++;
        break;
      case EXPECT: {
        if (head.version === 10) {
          fields.drop(i); // RFC 9110 §10.1.1: ignored
          break;
        }
        if (head.expectsContinue || fields.value(i).toLowerCase() !== "100-continue") {
          return "bad_expectation";
        }
        head.expectsContinue = true;
        break;
      }
      case TE: {
        const codings = splitList(fields.value(i));
        if (codings.some((coding) => /^trailers$/i.test(coding))) head.acceptsTrailers = true;
        break;
      }
      case CONTENT_TYPE:
        if (isGrpc(fields.bytes, fields.valueStart(i), fields.valueEnd(i))) head.isGrpc = true;
        break;
    }
  }
  return readHost(head, host) ??
    readFraming(head, contentLength, transferEncoding) ??
    readConnection(head, connectionFields, connection);
}

/** RFC 9112 §3.2: one Host, well-formed, and the same as an absolute-form target's. */
function readHost(head: RequestHead, index: number): ErrorCode | null {
  if (index === -1) {
    if (head.version === 11) return "bad_host";
    if (head.authority === "") {
      head.host = "";
      return null;
    }
  } else {
    const { fields } = head;
    const value = authorityAt(fields.bytes, fields.valueStart(index), fields.valueEnd(index));
    if (head.authority !== "" && head.authority.toLowerCase() !== value.toLowerCase()) {
      return "bad_host";
    }
    head.authority = value;
  }
  const host = readAuthority(head.authority);
  if (host === null) return "bad_host";
  head.host = host;
  return null;
}

/** RFC 9112 §6.3, with every case that peers read differently refused. */
function readFraming(
  head: RequestHead,
  contentLength: number,
  transferEncoding: number,
): ErrorCode | null {
  const { fields } = head;
  head.contentLength = -1;
  if (transferEncoding !== -1) {
    if (contentLength !== -1 || head.version === 10) return "bad_framing";
    const start = fields.valueStart(transferEncoding);
    const length = fields.valueEnd(transferEncoding) - start;
    if (length === CHUNKED.length && equalsLower(fields.bytes, start, CHUNKED)) {
      head.bodyLength = UNKNOWN_LENGTH;
      return null;
    }
    // A list of well-formed codings that ends in chunked is only unknown (501); anything else lies.
    const codings = splitList(fields.value(transferEncoding));
    const wellFormed = codings.length > 1 &&
      codings.every((coding) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(coding)) &&
      codings.filter((coding) => /^chunked$/i.test(coding)).length === 1 &&
      /^chunked$/i.test(codings[codings.length - 1]);
    return wellFormed ? "coding_unknown" : "bad_framing";
  }
  if (contentLength === -1) {
    head.bodyLength = 0;
    return null;
  }
  const length = readContentLength(
    fields.bytes,
    fields.valueStart(contentLength),
    fields.valueEnd(contentLength),
  );
  if (length === -1) return "bad_framing";
  head.contentLength = head.bodyLength = length;
  return null;
}

/** Connection's options: persistence, and the fields that end here because it names them. */
function readConnection(
  head: RequestHead,
  connectionFields: number,
  connection: RequestConnection,
): ErrorCode | null {
  connection.keepAlive = head.version === 11;
  if (connectionFields === 0) return null;
  const { fields } = head;
  if (connectionFields === 1 && isKeepAlive(fields, fields.find(CONNECTION))) {
    connection.keepAlive = true;
    return null;
  }
  const options = connectionOptions(fields);
  if (options === null) return "bad_request";
  let close = false;
  let keep = false;
  let upgrade = false;
  for (const option of options) {
    if (option === "close") close = true;
    else if (option === "keep-alive") keep = true;
    else if (option === "upgrade") upgrade = true;
    else if (option !== "te") {
      const error = nominate(fields, option);
      if (error !== null) return error;
    }
  }
  connection.keepAlive = !close && (head.version === 11 || keep);
  if (upgrade && fields.find(UPGRADE) !== -1) head.upgrade = readUpgrade(head);
  // A client that asks for a tunnel reads no gRPC errors.
  if (head.upgrade !== "") head.isGrpc = false;
  return null;
}

function nominate(fields: Fields, option: string): ErrorCode | null {
  const name = asciiBytes(option);
  // X_Real_IP and X.Real.IP are X-Real-IP to a backend that reads names as CGI variables.
  if (NEVER_NOMINATED.has(fieldId(asciiBytes(option.replace(/[^0-9a-z]/g, "-")), 0, name.length))) {
    return "bad_request";
  }
  dropNamed(fields, name);
  return null;
}
