/**
 * The meaning of a request's head in HTTP/2 (RFC 9113 §8.2, §8.3, RFC 8441). In: fields and
 * pseudo-fields that HPACK's decoder has laid out. Out: a `RequestHead` as HTTP/1.1 would have given
 * it; or that the head is malformed, which ends its stream; or the error that it is answered with.
 */
import { canonicalPath, type PathOptions } from "../../shared/path/canonical_path.ts";
import { readAuthority } from "../http/host.ts";
import type { ErrorCode } from "../errors.ts";
import {
  asciiBytes,
  CONNECTION,
  CONTENT_LENGTH,
  CONTENT_TYPE,
  EXPECT,
  type Fields,
  HOST,
  KEEP_ALIVE,
  PROXY_CONNECTION,
  SEC_WEBSOCKET_KEY,
  SEC_WEBSOCKET_VERSION,
  TE,
  TRANSFER_ENCODING,
  UPGRADE,
} from "../http/fields.ts";
import { equalsLower } from "../http/letter_case.ts";
import { readContentLength } from "../http/field_values.ts";
import { TARGET } from "../http/grammar.ts";
import { isGrpc } from "../grpc/content_type.ts";
import type { Limits } from "../http/limits.ts";
import { type RequestHead, UNKNOWN_LENGTH } from "../http/message.ts";
import { MAX_METHOD } from "../http/method.ts";
import type { HeadBlock } from "./hpack/head_block.ts";

/** What is wrong with a head. */
export type HeadProblem =
  /** RFC 9113 §8.1.1: the stream ends with PROTOCOL_ERROR. */
  | { readonly malformed: string; readonly code: null }
  /** The stream is answered. */
  | { readonly malformed: null; readonly code: ErrorCode };

const malformed = (text: string): HeadProblem => ({ malformed: text, code: null });
const refused = (code: ErrorCode): HeadProblem => ({ malformed: null, code });

/** Fields that belong to one connection of HTTP/1.1 (RFC 9113 §8.2.2). */
const CONNECTION_SPECIFIC = new Uint8Array(256);
for (const id of [CONNECTION, KEEP_ALIVE, PROXY_CONNECTION, TRANSFER_ENCODING, UPGRADE]) {
  CONNECTION_SPECIFIC[id] = 1;
}

const TRAILERS = asciiBytes("trailers");
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*$/;
/** Visible ASCII: what an authority may be made of, whether or not it is one. */
const VISIBLE = /^[\x21-\x7e]*$/;
/** One or two tokens: `protocol-name ["/" protocol-version]` (RFC 9110 §7.8). */
const PROTOCOL = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\/[!#$%&'*+.^_`|~0-9A-Za-z-]+)?$/;

/**
 * Reads `block` into `head`, whose fields are the block's. Null, or what is wrong; then what could
 * be read is in `head`: its method at least, if there is one. `ended`: END_STREAM came along.
 */
export function readRequestHead(
  block: HeadBlock,
  head: RequestHead,
  ended: boolean,
  limits: Limits,
): HeadProblem | null {
  head.method = block.method ?? "";
  head.host =
    head.authority =
    head.path =
    head.received =
    head.query =
      "";
  // Also for a head that is refused: a gRPC error is a 200, which would open the tunnel.
  head.upgrade = block.protocol?.toLowerCase() ?? "";
  head.version = 20;
  head.bodyLength = head.contentLength = -1;
  head.expectsContinue = head.isGrpc = head.isGrpcByHttp2 = false;
  head.acceptsTrailers = true;
  head.extra = null;
  if (block.malformed !== null) return malformed(block.malformed);
  if (block.tooLarge) return refused(block.path === null ? "target_too_long" : "head_too_large");
  const problem = readControl(block, head, limits) ?? readFields(head, block.authority, ended) ??
    readProtocol(block, head, ended);
  if (problem === null) setLength(head, ended);
  return problem;
}

/** What is wrong with a trailer section, or null. */
export function trailersProblem(block: HeadBlock): string | null {
  if (block.malformed !== null) return block.malformed;
  const { ids, count } = block.fields;
  for (let i = 0; i < count; i++) {
    if (CONNECTION_SPECIFIC[ids[i]] === 1 || ids[i] === TE) {
      return connectionSpecific(block.fields, i);
    }
  }
  return null;
}

function connectionSpecific(fields: Fields, index: number): string {
  return `${fields.name(index)}, which belongs to HTTP/1.1`;
}

/** RFC 9113 §8.3.1 and §8.5: the pseudo-fields. */
function readControl(
  block: HeadBlock,
  head: RequestHead,
  paths: PathOptions,
): HeadProblem | null {
  const { method, scheme, path, protocol } = block;
  if (block.status !== -1) return malformed(":status in a request");
  if (method === null) return malformed("no :method");
  const problem = methodProblem(method);
  if (problem !== null) return problem;
  if (method === "CONNECT" && protocol === null) {
    if (scheme !== null || path !== null) return malformed("CONNECT with :scheme or :path");
    return refused("method_refused");
  }
  if (protocol !== null && method !== "CONNECT") return malformed(":protocol without CONNECT");
  if (scheme === null) return malformed("no :scheme");
  if (path === null || path === "") return malformed("no :path");
  if (scheme !== "http" && scheme !== "https") {
    return SCHEME.test(scheme) ? refused("bad_request") : malformed("bad byte in :scheme");
  }
  if (method === "TRACE") return refused("method_refused");
  return readPath(path, head, paths);
}

function methodProblem(method: string): HeadProblem | null {
  if (method === "GET" || method === "POST") return null;
  if (!TOKEN.test(method)) return malformed("bad byte in :method");
  // A lenient backend could take one with lower-case letters for another.
  return method.length > MAX_METHOD || /[a-z]/.test(method) ? refused("bad_request") : null;
}

/** The last target read, and how: clients ask for the same again and again. */
let lastTarget = "";
let lastPaths: PathOptions | null = null;
let lastPath = "";
let lastReceived = "";
let lastQuery = "";

function readPath(target: string, head: RequestHead, paths: PathOptions): HeadProblem | null {
  if (target !== lastTarget || paths !== lastPaths) {
    for (let i = 0; i < target.length; i++) {
      if (TARGET[target.charCodeAt(i)] === 0) return malformed("bad byte in :path");
    }
    const mark = target.indexOf("?");
    const received = mark === -1 ? target : target.slice(0, mark);
    const canonical = canonicalPath(received, paths);
    if (!canonical.ok) {
      head.received = received;
      return refused("bad_target");
    }
    lastTarget = target;
    lastPaths = paths;
    lastPath = canonical.path;
    lastReceived = received;
    lastQuery = mark === -1 ? "" : target.slice(mark);
  }
  head.path = lastPath;
  head.received = lastReceived;
  head.query = lastQuery;
  return null;
}

function readFields(
  head: RequestHead,
  authority: string | null,
  ended: boolean,
): HeadProblem | null {
  const { fields } = head;
  const { ids, count } = fields;
  let host = -1;
  let contentLength = -1;
  for (let i = 0; i < count; i++) {
    const id = ids[i];
    if (CONNECTION_SPECIFIC[id] === 1) return malformed(connectionSpecific(fields, i));
    switch (id) {
      case HOST:
        if (host !== -1) return refused("bad_host");
        host = i;
        break;
      case CONTENT_LENGTH:
        if (contentLength !== -1) return refused("bad_framing");
        contentLength = i;
        break;
      case TE: {
        const start = fields.valueStart(i);
        const isTrailers = fields.valueEnd(i) - start === TRAILERS.length &&
          equalsLower(fields.bytes, start, TRAILERS);
        if (!isTrailers) return malformed("te other than trailers");
        break;
      }
      case EXPECT:
        if (head.expectsContinue || fields.value(i).toLowerCase() !== "100-continue") {
          return refused("bad_expectation");
        }
        head.expectsContinue = true;
        break;
      case CONTENT_TYPE:
        if (isGrpc(fields.bytes, fields.valueStart(i), fields.valueEnd(i))) head.isGrpc = true;
        break;
    }
  }
  const problem = readHost(head, authority, host);
  if (problem !== null || contentLength === -1) return problem;
  head.contentLength = readContentLength(
    fields.bytes,
    fields.valueStart(contentLength),
    fields.valueEnd(contentLength),
  );
  if (head.contentLength === -1) return refused("bad_framing");
  return ended && head.contentLength > 0 ? malformed("less DATA than content-length") : null;
}

/** RFC 9113 §8.3.1: `:authority`, or Host, or both when they are the same. */
function readHost(head: RequestHead, authority: string | null, index: number): HeadProblem | null {
  if (authority !== null && !VISIBLE.test(authority)) return malformed("bad byte in :authority");
  head.authority = authority ?? "";
  if (index !== -1) {
    const value = head.fields.value(index);
    if (authority !== null && authority.toLowerCase() !== value.toLowerCase()) {
      return refused("bad_host");
    }
    head.authority = authority ?? value;
  }
  const host = readAuthority(head.authority);
  if (host === null) return refused("bad_host");
  head.host = host;
  return null;
}

/**
 * Extended CONNECT (RFC 8441 §4) becomes what HTTP/1.1 says in its place: a GET with Upgrade. What
 * could smuggle is refused, as there.
 */
function readProtocol(block: HeadBlock, head: RequestHead, ended: boolean): HeadProblem | null {
  if (block.protocol === null) return null;
  if (!PROTOCOL.test(block.protocol)) return malformed("bad byte in :protocol");
  const protocol = head.upgrade;
  // There is no going on without the tunnel, as a plain request could.
  if (ended || head.contentLength !== -1 || /^(h2c?|http)(\/|$)/.test(protocol)) {
    return refused("bad_request");
  }
  const { fields } = head;
  if (protocol === "websocket") {
    const version = fields.find(SEC_WEBSOCKET_VERSION);
    const isOne = version !== -1 && fields.find(SEC_WEBSOCKET_VERSION, version + 1) === -1;
    if (!isOne || fields.value(version) !== "13") return refused("bad_request");
    // HTTP/2 has no use for a key; whoever goes on by HTTP/1.1 makes its own.
    for (let i = fields.find(SEC_WEBSOCKET_KEY); i !== -1; i = fields.find(SEC_WEBSOCKET_KEY)) {
      fields.drop(i);
    }
    block.add(WEBSOCKET_KEY_NAME, websocketKey(), SEC_WEBSOCKET_KEY);
  }
  head.method = "GET";
  // A tunnel is no gRPC call, whatever its Content-Type.
  head.expectsContinue = head.isGrpc = false;
  if (fields.find(EXPECT) !== -1) fields.drop(fields.find(EXPECT));
  return null;
}

const WEBSOCKET_KEY_NAME = asciiBytes("sec-websocket-key");

/** 16 random bytes in base64 (RFC 6455 §4.1). */
function websocketKey(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16))));
}

function setLength(head: RequestHead, ended: boolean): void {
  if (ended || head.upgrade !== "") head.bodyLength = 0;
  else head.bodyLength = head.contentLength === -1 ? UNKNOWN_LENGTH : head.contentLength;
}
