/**
 * Header fields as ranges of bytes: no string and no object per field on the way through. In:
 * ranges that a parser has validated, or names and values of our own. Out: ids of the names that
 * the proxy acts on, and the ranges, for the next codec to copy.
 */
import { COLON, CR, HTAB, LF, SP, TOKEN, TOKEN_UNDERSCORE, VALUE } from "./grammar.ts";
import { equalsLower, equalsText } from "./letter_case.ts";

const HYPHEN = 0x2d;

/**
 * Ids of the names that the proxy acts on. 0 is any other name. `DROPPED` marks a field that ends
 * here; `UNDERSCORE` one whose name a CGI-like backend would take for another field, so that it is
 * dropped too: it has an underscore (`X_Real_IP`), or other punctuation in the place of the hyphens
 * of a name that the proxy acts on (`X.Real.IP`).
 */
export const OTHER = 0;
export const HOST = 1;
export const CONTENT_LENGTH = 2;
export const TRANSFER_ENCODING = 3;
export const CONNECTION = 4;
export const KEEP_ALIVE = 5;
export const PROXY_CONNECTION = 6;
export const TE = 7;
export const TRAILER = 8;
export const UPGRADE = 9;
export const EXPECT = 10;
export const HTTP2_SETTINGS = 11;
export const PROXY_AUTHORIZATION = 12;
export const PROXY_AUTHENTICATE = 13;
export const AUTHORIZATION = 14;
export const COOKIE = 15;
export const SERVER = 16;
export const DATE = 17;
export const CONTENT_TYPE = 18;
export const ACCEPT = 19;
export const X_FORWARDED_FOR = 20;
export const X_FORWARDED_PROTO = 21;
export const X_FORWARDED_HOST = 22;
export const X_FORWARDED_PORT = 23;
export const X_REAL_IP = 24;
export const X_REQUEST_ID = 25;
export const FORWARDED = 26;
/**
 * Names that begin with `x-forwarded-`, `x-original-` or `x-envoy-` and are none of the above,
 * `x-forwarded` itself, and `x-rewrite-url`, by which IIS and old frameworks route.
 */
export const FORWARDED_FAMILY = 27;
export const SET_COOKIE = 28;
export const WWW_AUTHENTICATE = 29;
export const CONTENT_ENCODING = 30;
export const CONTENT_RANGE = 31;
export const CACHE_CONTROL = 32;
export const MAX_FORWARDS = 33;
export const SEC_WEBSOCKET_KEY = 34;
export const SEC_WEBSOCKET_VERSION = 35;
export const USER_AGENT = 36;
export const REFERER = 37;
export const GRPC_TIMEOUT = 38;
/** A CGI-like backend takes it for the variable `HTTP_PROXY` (httpoxy, CVE-2016-5385). */
export const PROXY = 39;
/** RFC 8586: the proxies that a request has passed. */
export const CDN_LOOP = 40;
/** https://www.w3.org/TR/trace-context/ */
export const TRACEPARENT = 41;
export const TRACESTATE = 42;
/** Any other name, of a field that came never to be put into a table (RFC 7541 §6.2.3). */
export const SENSITIVE = 253;
export const UNDERSCORE = 254;
export const DROPPED = 255;

/**
 * 1 for ids that never cross from one connection to another: hop-by-hop ones (RFC 9110 §7.6.1),
 * framing, Host, dropped ones. Each codec writes its own of them.
 */
export const NEVER_CROSSES = new Uint8Array(256);
for (
  const id of [
    HOST,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    CONNECTION,
    KEEP_ALIVE,
    PROXY_CONNECTION,
    TE,
    UPGRADE,
    HTTP2_SETTINGS,
    DROPPED,
  ]
) NEVER_CROSSES[id] = 1;

const NAMES: readonly [string, number][] = [
  ["host", HOST],
  ["content-length", CONTENT_LENGTH],
  ["transfer-encoding", TRANSFER_ENCODING],
  ["connection", CONNECTION],
  ["keep-alive", KEEP_ALIVE],
  ["proxy-connection", PROXY_CONNECTION],
  ["te", TE],
  ["trailer", TRAILER],
  ["upgrade", UPGRADE],
  ["expect", EXPECT],
  ["http2-settings", HTTP2_SETTINGS],
  ["proxy-authorization", PROXY_AUTHORIZATION],
  ["proxy-authenticate", PROXY_AUTHENTICATE],
  ["authorization", AUTHORIZATION],
  ["cookie", COOKIE],
  ["server", SERVER],
  ["date", DATE],
  ["content-type", CONTENT_TYPE],
  ["accept", ACCEPT],
  ["x-forwarded-for", X_FORWARDED_FOR],
  ["x-forwarded-proto", X_FORWARDED_PROTO],
  ["x-forwarded-host", X_FORWARDED_HOST],
  ["x-forwarded-port", X_FORWARDED_PORT],
  ["x-real-ip", X_REAL_IP],
  ["x-request-id", X_REQUEST_ID],
  ["forwarded", FORWARDED],
  ["set-cookie", SET_COOKIE],
  ["www-authenticate", WWW_AUTHENTICATE],
  ["content-encoding", CONTENT_ENCODING],
  ["content-range", CONTENT_RANGE],
  ["cache-control", CACHE_CONTROL],
  ["max-forwards", MAX_FORWARDS],
  ["sec-websocket-key", SEC_WEBSOCKET_KEY],
  ["sec-websocket-version", SEC_WEBSOCKET_VERSION],
  ["user-agent", USER_AGENT],
  ["referer", REFERER],
  ["grpc-timeout", GRPC_TIMEOUT],
  ["proxy", PROXY],
  ["cdn-loop", CDN_LOOP],
  ["traceparent", TRACEPARENT],
  ["tracestate", TRACESTATE],
  ["x-forwarded", FORWARDED_FAMILY],
  ["x-rewrite-url", FORWARDED_FAMILY],
];

const FAMILIES = ["x-forwarded-", "x-original-", "x-envoy-"].map((prefix) => asciiBytes(prefix));

/** Known names in buckets by length and first letter, so that most names compare with none. */
const BUCKETS: (readonly KnownName[] | undefined)[] = new Array(32 * 32);

interface KnownName {
  readonly bytes: Uint8Array;
  readonly id: number;
}

for (const [name, id] of NAMES) {
  const bytes = asciiBytes(name);
  const bucket = bytes.length * 32 + (bytes[0] & 31);
  BUCKETS[bucket] = [...(BUCKETS[bucket] ?? []), { bytes, id }];
}

/** The id of the name at `bytes[start, end)`; `flags` are those of all its bytes in `TOKEN`. */
export function fieldIdBy(flags: number, bytes: Uint8Array, start: number, end: number): number {
  return flags === 1 ? fieldId(bytes, start, end) : unusualId(flags, bytes, start, end);
}

function unusualId(flags: number, bytes: Uint8Array, start: number, end: number): number {
  if ((flags & TOKEN_UNDERSCORE) !== 0) return UNDERSCORE;
  const folded = bytes.slice(start, end);
  for (let i = 0; i < folded.length; i++) if (TOKEN[folded[i]] !== 1) folded[i] = HYPHEN;
  return fieldId(folded, 0, folded.length) === OTHER ? OTHER : UNDERSCORE;
}

/** The id of the name at `bytes[start, end)`, in any case. Punctuation is the parser's to see. */
export function fieldId(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length < 32) {
    const bucket = BUCKETS[length * 32 + (bytes[start] & 31)];
    if (bucket !== undefined) {
      for (let i = 0; i < bucket.length; i++) {
        if (equalsLower(bytes, start, bucket[i].bytes)) return bucket[i].id;
      }
    }
  }
  if (length > 8 && (bytes[start] | 0x20) === 0x78 && bytes[start + 1] === 0x2d) {
    for (const prefix of FAMILIES) {
      if (length >= prefix.length && equalsLower(bytes, start, prefix)) return FORWARDED_FAMILY;
    }
  }
  return OTHER;
}

/** The bytes of an ASCII string. */
export function asciiBytes(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** The string of a short range of bytes, one character a byte (latin1). */
export function latin1(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length > MAX_CODES) return longLatin1(bytes, start, end);
  const codes = CODES[length];
  for (let i = 0; i < length; i++) codes[i] = bytes[start + i];
  return String.fromCharCode.apply(null, codes);
}

function longLatin1(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (; start + MAX_CODES < end; start += MAX_CODES) {
    text += latin1(bytes, start, start + MAX_CODES);
  }
  return text + latin1(bytes, start, end);
}

/** Characters that are made into a string at once. */
const MAX_CODES = 64;

/**
 * Where their codes stand, by how many there are. One call for all of them makes a flat string; one
 * of parts is joined when it is first looked up, which costs more than to make it.
 */
const CODES: readonly number[][] = Array.from(
  { length: MAX_CODES + 1 },
  (_, length) => new Array<number>(length).fill(0),
);

/** Ranges a field: name start and end, value start and end. */
const STRIDE = 4;

/** Fields that there is room for at first. */
const ROOM = 16;

/**
 * Bytes of memory from which small lists are cut, one behind the other and never twice: a buffer of
 * its own costs a list more than everything else that it consists of. A list that lives long keeps all
 * of its piece, which is why pieces are small.
 */
const PIECE = 4096;

/** Bytes above which a list has a buffer of its own. */
const MAX_SHARED = 1024;

let piece = new ArrayBuffer(PIECE);
let pieceUsed = 0;

/**
 * A list of fields in the order in which they came. The ranges point into `bytes`, which belongs to
 * the connection that parsed them: they hold until its exchange ends.
 */
export class Fields {
  bytes: Uint8Array = EMPTY;
  count = 0;
  ids: Uint8Array;
  /** nameStart, nameEnd, valueStart, valueEnd of each field. */
  ranges: Int32Array;

  /** @param ids of as many fields as there is room for at first, and their ranges. */
  constructor(
    ids: Uint8Array = new Uint8Array(ROOM),
    ranges: Int32Array = new Int32Array(ROOM * STRIDE),
  ) {
    this.ids = ids;
    this.ranges = ranges;
  }

  /** With room for so many fields, and zeroed bytes of its own. */
  static sized(count: number, length: number): Fields {
    const size = (count * (STRIDE * 4 + 1) + length + 3) & ~3;
    if (size > MAX_SHARED) return cut(new ArrayBuffer(size), 0, count, length);
    if (pieceUsed + size > PIECE) {
      piece = new ArrayBuffer(PIECE);
      pieceUsed = 0;
    }
    const start = pieceUsed;
    pieceUsed += size;
    return cut(piece, start, count, length);
  }

  /** With room for the fields of most requests; for lists that live as long as a client connection. */
  static usual(): Fields {
    return Fields.sized(ROOM, 0);
  }

  clear(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.count = 0;
  }

  push(id: number, nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
    if (this.count === this.ids.length) this.#grow();
    const at = this.count * STRIDE;
    this.ids[this.count] = id;
    this.ranges[at] = nameStart;
    this.ranges[at + 1] = nameEnd;
    this.ranges[at + 2] = valueStart;
    this.ranges[at + 3] = valueEnd;
    this.count++;
  }

  /** Index of the first field with this id from `from` on, or -1. */
  find(id: number, from = 0): number {
    for (let i = from; i < this.count; i++) if (this.ids[i] === id) return i;
    return -1;
  }

  drop(index: number): void {
    this.ids[index] = DROPPED;
  }

  /** Bytes from the first field to the last. */
  get extent(): number {
    return this.count === 0 ? 0 : this.valueEnd(this.count - 1) - this.nameStart(0);
  }

  nameStart(index: number): number {
    return this.ranges[index * STRIDE];
  }

  nameEnd(index: number): number {
    return this.ranges[index * STRIDE + 1];
  }

  valueStart(index: number): number {
    return this.ranges[index * STRIDE + 2];
  }

  valueEnd(index: number): number {
    return this.ranges[index * STRIDE + 3];
  }

  /** The value as a string, one character a byte. */
  value(index: number): string {
    return latin1(this.bytes, this.valueStart(index), this.valueEnd(index));
  }

  /**
   * The values of all lines with this name in lower case, joined by "," (RFC 9110 §5.3; those of
   * Cookie by "; ", RFC 9113 §8.2.3), bytes beyond ASCII read as UTF-8; null for none.
   */
  joined(name: string): string | null {
    let text: string | null = null;
    for (let i = 0; i < this.count; i++) {
      if (this.ids[i] === DROPPED) continue;
      const start = this.nameStart(i);
      if (this.nameEnd(i) - start !== name.length) continue;
      if (!equalsText(this.bytes, start, name)) continue;
      const value = this.value(i);
      text = text === null ? value : `${text}${name === "cookie" ? "; " : ","}${value}`;
    }
    return text === null ? null : decoded(text);
  }

  /** Writes a value over the one that is there, which is no shorter. */
  shrink(index: number, value: string): void {
    const start = this.valueEnd(index) - value.length;
    writeLatin1(this.bytes, start, value);
    this.ranges[index * STRIDE + 2] = start;
  }

  /**
   * Writes another value into the last field, for which `fieldsOf` has made room. False, and
   * nothing has changed, where there is too little, or the value is not of visible ASCII alone.
   */
  replaceLast(value: string): boolean {
    const { bytes } = this;
    const valueRange = (this.count - 1) * STRIDE + 2;
    const start = this.ranges[valueRange];
    if (start + value.length + 2 > bytes.length) return false;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code <= 0x20 || code >= 0x7f) return false;
    }
    const end = writeLatin1(bytes, start, value);
    bytes[end] = 0x0d;
    bytes[end + 1] = 0x0a;
    this.ranges[valueRange + 1] = end;
    return true;
  }

  name(index: number): string {
    return latin1(this.bytes, this.nameStart(index), this.nameEnd(index));
  }

  /** A copy that owns its bytes, without the dropped fields. */
  copy(): Fields {
    const pairs: [string, string][] = [];
    for (let i = 0; i < this.count; i++) {
      if (this.ids[i] !== DROPPED) pairs.push([this.name(i), this.value(i)]);
    }
    return fieldsOf(pairs);
  }

  #grow(): void {
    const room = Math.max(ROOM, this.ids.length * 2);
    const ids = new Uint8Array(room);
    ids.set(this.ids);
    this.ids = ids;
    const ranges = new Int32Array(room * STRIDE);
    ranges.set(this.ranges);
    this.ranges = ranges;
  }
}

const EMPTY = new Uint8Array(0);

/** An empty list in `buffer` from `start`, a multiple of 4. */
function cut(buffer: ArrayBuffer, start: number, count: number, length: number): Fields {
  const ids = start + count * STRIDE * 4;
  const fields = new Fields(
    new Uint8Array(buffer, ids, count),
    new Int32Array(buffer, start, count * STRIDE),
  );
  if (length > 0) fields.bytes = new Uint8Array(buffer, ids + count, length);
  return fields;
}

const UTF8 = new TextDecoder();

/** The text of which each character is a byte of UTF-8. */
function decoded(text: string): string {
  return /[\x80-\xff]/.test(text) ? UTF8.decode(asciiBytes(text)) : text;
}

/**
 * Fields of our own making, laid out as `name: value CRLF` lines. Throws on a name or value that
 * would break out of its line (CR, LF, NUL, a name that is no token): prevents response splitting
 * by our own redirects and local replies (RFC 9110 §5.5).
 *
 * @param room bytes that the last value may grow by; see `replaceLast`.
 */
export function fieldsOf(pairs: readonly (readonly [string, string])[], room = 0): Fields {
  let length = room;
  for (const [name, value] of pairs) length += name.length + value.length + 4;
  const fields = Fields.sized(pairs.length, length);
  const { bytes } = fields;
  let at = 0;
  for (const [name, value] of pairs) {
    const nameStart = at;
    at = writeAllowed(bytes, at, name, TOKEN);
    if (at <= nameStart) throw new TypeError("Cannot add field: bad name");
    const nameEnd = at;
    bytes[at++] = COLON;
    bytes[at++] = SP;
    const valueStart = at;
    at = writeAllowed(bytes, at, value, VALUE);
    const isPadded = at > valueStart && (isBlank(bytes[valueStart]) || isBlank(bytes[at - 1]));
    if (at < valueStart || isPadded) {
      throw new TypeError(`Cannot add field ${name}: bad byte in value`);
    }
    fields.push(fieldId(bytes, nameStart, nameEnd), nameStart, nameEnd, valueStart, at);
    bytes[at++] = CR;
    bytes[at++] = LF;
  }
  return fields;
}

/** Writes a value as `fieldsOf` does; the position after it. The caller has made room. Throws as that does. */
export function writeValue(bytes: Uint8Array, at: number, value: string): number {
  const end = writeAllowed(bytes, at, value, VALUE);
  if (end < at || end > at && (isBlank(bytes[at]) || isBlank(bytes[end - 1]))) {
    throw new TypeError("Cannot add field: bad byte in value");
  }
  return end;
}

function isBlank(byte: number): boolean {
  return byte === SP || byte === HTAB;
}

/**
 * Writes one byte a character, none of which `table` has 0 for; the position after it, or -1 for text
 * that has another character. Not by a regular expression: a new connection has seven fields written.
 */
function writeAllowed(bytes: Uint8Array, at: number, text: string, table: Uint8Array): number {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0xff || table[code] === 0) return -1;
    bytes[at++] = code;
  }
  return at;
}

/** Writes one byte a character; the position after it. The caller has made room. */
export function writeLatin1(bytes: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
  return at;
}
