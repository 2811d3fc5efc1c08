/**
 * Random requests that are strictly valid, with canonical targets. In: random choices and a number.
 * Out: a request as data, and its bytes. Everything that RFC 9110 and 9112 let a client vary is
 * varied; nothing that they forbid, or that we refuse on purpose, is there.
 */
import { bytesOf } from "../support/latin1.ts";
import type { Random } from "../fuzz/random.ts";
import type { Field } from "./wire.ts";

/** The field by which both ends know a case. */
export const CASE_FIELD = "X-Case";

export interface CaseRequest {
  readonly id: number;
  readonly method: string;
  readonly version: "HTTP/1.1" | "HTTP/1.0";
  readonly framing: "none" | "length" | "chunked";
  /** Host's value; null without one. */
  readonly host: string | null;
  /** The client says TE: trailers, and its version has them. */
  readonly takesTrailers: boolean;
  /** The body waits for 100 (Continue). */
  readonly expects: boolean;
  /** The client says that it is the connection's last request. */
  readonly closes: boolean;
  readonly head: Uint8Array;
  readonly body: Uint8Array;
}

const METHODS = [
  ...["GET", "GET", "GET", "GET", "POST", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"],
  ...["PROPFIND", "REPORT", "MKCOL", "M-SEARCH", "PURGE", "SEARCH"],
];
const HOSTS = [
  ...["a.example", "A.Example", "a.example:8080", "xn--bcher-kva.example", "a-b_c.example"],
  ...["192.0.2.1", "[2001:db8::1]", "[2001:db8::1]:80", "a.example.", "localhost", "a.example:"],
];
/** Bytes of a segment or query that a canonical target has as they are. */
const PCHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@";
const ESCAPES = ["%20", "%2F", "%5C", "%25", "%22", "%C3%A9", "%3F", "%23", "%3B", "%FF"];
const TOKEN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
const VALUE =
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \t!\"#$%&'()*+,-./:;" +
  "<=>?@[\\]^_`{|}~\x80\x85\xa0\xc3\xa9\xff";
/** Fields as clients send them; a second element gives the choices for the value. */
const COMMON: readonly (readonly [string, readonly string[]])[] = [
  ["Accept", ["*/*", "text/html, application/json;q=0.9", ""]],
  ["Accept-Encoding", ["gzip, br", "identity", "gzip;q=0, *"]],
  ["Accept-Language", ["de, en;q=0.5"]],
  ["User-Agent", ["Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0"]],
  ["Cookie", ["a=b", 'a=b; c="d e"; f=', "session=0123456789abcdef"]],
  ["Authorization", ["Basic YTpi", "Bearer a.b-c_d~e+f/g="]],
  ["Cache-Control", ["no-cache", "max-age=0, no-store"]],
  ["Pragma", ["no-cache"]],
  ["Referer", ["http://a.example/x?y#z"]],
  ["Origin", ["null", "https://b.example:8443"]],
  ["If-None-Match", ['"a", W/"b"', "*"]],
  ["If-Modified-Since", ["Sat, 29 Oct 1994 19:43:31 GMT"]],
  ["Range", ["bytes=0-99, 200-"]],
  ["TE", ["trailers", "trailers, deflate;q=0.5", ""]],
  ["Upgrade", ["h2c"]],
  ["Via", ["1.1 front", "2 edge (comment)"]],
  ["Max-Forwards", ["3"]],
  ["Keep-Alive", ["timeout=5, max=100"]],
  ["Proxy-Connection", ["keep-alive"]],
  ["Proxy-Authorization", ["Basic YTpi"]],
  ["Forwarded", ["for=192.0.2.60;proto=http", 'for="[2001:db8::1]"']],
  ["X-Forwarded-For", ["203.0.113.9", "203.0.113.9, 10.0.0.1"]],
  ["X-Forwarded-Proto", ["https"]],
  ["X-Forwarded-Host", ["evil.example"]],
  ["X-Forwarded-Port", ["443"]],
  ["X-Forwarded-Prefix", ["/app"]],
  ["X-Real-IP", ["203.0.113.9"]],
  ["X-Request-Id", ["client-chosen"]],
  ["X-Original-URL", ["/admin"]],
  ["X-Envoy-External-Address", ["203.0.113.9"]],
  ["X_Real_IP", ["203.0.113.9"]],
  ["Under_Score", ["dropped"]],
  ["X.Dotted!", ["a"]],
  ["X-Empty", [""]],
];
/** Fields that mean the same however often they come; others are singletons. */
const REPEATABLE = new Set(["Accept", "Cookie", "Cache-Control", "Via", "X-Forwarded-For", "TE"]);

export function randomRequest(random: Random, id: number): CaseRequest {
  const method = random.pick(METHODS);
  const version = random.oneIn(12) ? "HTTP/1.0" : "HTTP/1.1";
  const host = random.pick(HOSTS);
  const framing = version === "HTTP/1.0"
    ? random.pick(["none", "length"] as const)
    : random.pick(["none", "none", "length", "chunked"] as const);
  const content = framing === "none" ? "" : randomContent(random);
  const expects = version === "HTTP/1.1" && content !== "" && random.oneIn(6);
  const fields: Field[] = [];
  const options: string[] = [];
  if (version === "HTTP/1.1" || random.oneIn(2)) fields.push(["Host", host]);
  addCommon(fields, random);
  if (fields.some(([name]) => name === "TE")) options.push("TE");
  if (fields.some(([name]) => name === "Upgrade")) options.push("Upgrade");
  if (random.oneIn(12)) {
    options.push("X-Hop");
    fields.push(["X-Hop", "1"]);
  }
  const closes = version === "HTTP/1.0" ? !random.oneIn(2) : random.oneIn(12);
  if (closes && version === "HTTP/1.1") options.push("close");
  else if (!closes && (version === "HTTP/1.0" || random.oneIn(8))) options.push("keep-alive");
  if (options.length > 0) fields.push(["Connection", options.join(random.pick([",", ", ", " ,"]))]);
  fields.push([CASE_FIELD, String(id)]);
  if (expects) fields.push(["Expect", random.pick(["100-continue", "100-Continue"])]);
  if (framing === "length") fields.push(["Content-Length", lengthOf(content, random)]);
  let body = content;
  if (framing === "chunked") {
    const trailers: Field[] = random.oneIn(4) ? [["X-Sum", randomValue(random, 12)]] : [];
    fields.push(["Transfer-Encoding", random.pick(["chunked", "Chunked"])]);
    if (trailers.length > 0 && random.oneIn(2)) fields.push(["Trailer", "X-Sum"]);
    body = chunked(content, trailers, random);
  }
  const target = randomTarget(random);
  // nginx refuses an underscore in a target's host, though not in Host.
  const isAbsolute = version === "HTTP/1.1" && random.oneIn(8) && !host.includes("_");
  const form = isAbsolute ? `http://${host}` : "";
  const lines = shuffled(fields, random).map((field) => lineOf(field, random));
  const start = random.oneIn(20) ? "\r\n" : "";
  const head = `${start}${method} ${form}${target} ${version}\r\n${lines.join("")}\r\n`;
  return {
    id,
    method,
    version,
    framing,
    host: fields.some(([name]) => name === "Host") ? host : null,
    takesTrailers: version === "HTTP/1.1" &&
      fields.some(([name, value]) => name === "TE" && value.startsWith("trailers")),
    expects,
    closes,
    head: bytesOf(head),
    body: bytesOf(body),
  };
}

function addCommon(fields: Field[], random: Random): void {
  for (let count = random.below(12); count > 0; count--) {
    const [name, values] = random.pick(COMMON);
    if (fields.some(([one]) => one === name) && !REPEATABLE.has(name)) continue;
    fields.push([name, random.pick(values)]);
  }
  for (let count = random.below(4); count > 0; count--) {
    const length = random.oneIn(20) ? random.between(1000, 6000) : random.below(40);
    fields.push([
      `X-${randomText(random, TOKEN, random.between(1, 20))}`,
      randomValue(random, length),
    ]);
  }
  // As many as both proxies take, now and then.
  if (random.oneIn(40)) {
    for (let i = 0; i < 60; i++) {
      fields.push([`X-Many-${i % 7}`, String(i)]);
    }
  }
}

function randomTarget(random: Random): string {
  let path = "";
  for (let segments = random.between(1, 5); segments > 0; segments--) {
    path += `/${random.oneIn(6) ? "" : randomSegment(random)}`;
  }
  const query = random.oneIn(3)
    ? `?${randomSegment(random)}${random.pick(["", "?", "/", "&=%41"])}`
    : "";
  return path + query;
}

function randomSegment(random: Random): string {
  const long = random.oneIn(40) ? 1000 : 12;
  let segment = "";
  for (let length = random.between(1, long); length > 0; length--) {
    segment += random.oneIn(10) ? random.pick(ESCAPES) : PCHARS[random.below(PCHARS.length)];
  }
  // Dot segments are not canonical.
  return /^\.{1,2}$/.test(segment) ? "dots" : segment;
}

/** Mostly short; now and then longer than any buffer on the way. */
export function randomContent(random: Random): string {
  const length = random.oneIn(20)
    ? random.between(60_000, 200_000)
    : random.oneIn(5)
    ? random.between(1000, 20_000)
    : random.below(200);
  let content = "";
  for (let i = 0; i < length; i += 16) {
    content += random.oneIn(8)
      ? "0\r\n\r\nGET /smug"
      : String.fromCharCode(random.below(256)).repeat(16);
  }
  return content.slice(0, length);
}

/** A chunked body with sizes, extensions and trailers in any spelling that is valid. */
export function chunked(content: string, trailers: readonly Field[], random: Random): string {
  let body = "";
  for (let at = 0; at < content.length;) {
    const size = Math.min(content.length - at, random.pick([1, 7, 100, 5000, 70_000]));
    const digits = size.toString(16).padStart(random.oneIn(8) ? 6 : 1, "0");
    const extension = random.oneIn(8) ? random.pick([";a", ";a=b", ';a="b;\\" c"', ";a=b;c"]) : "";
    const spelled = random.oneIn(4) ? digits.toUpperCase() : digits;
    body += `${spelled}${extension}\r\n${content.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${body}${random.pick(["0", "0", "000"])}\r\n${trailers.map(plainLine).join("")}\r\n`;
}

export function plainLine([name, value]: Field): string {
  return `${name}: ${value}\r\n`;
}

function lengthOf(content: string, random: Random): string {
  return `${random.oneIn(10) ? "00" : ""}${content.length}`;
}

/** Fields whose value nginx reads: it takes a tab beside it for a part of it, and refuses the request. */
const READ_BY_NGINX = new Set([
  ...["Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect", CASE_FIELD],
]);

/** A field's line: its name in any case, any blanks around its value. */
function lineOf([name, value]: Field, random: Random): string {
  const spelled = random.pick([name, name, name, name.toLowerCase(), name.toUpperCase()]);
  const before = random.pick([" ", " ", " ", "", "  ", "\t", " \t "]);
  const line = `${spelled}:${before}${value}${random.pick(["", "", "", " ", "\t "])}\r\n`;
  return READ_BY_NGINX.has(name) ? line.replaceAll("\t", " ") : line;
}

/** Text that may be a field's value, without blanks at its ends. */
export function randomValue(random: Random, length: number): string {
  return randomText(random, VALUE, length).replace(/^[ \t]+|[ \t]+$/g, "");
}

function randomText(random: Random, alphabet: string, length: number): string {
  let text = "";
  while (text.length < length) text += alphabet[random.below(alphabet.length)];
  return text;
}

/** Another order, but for fields of one name, whose order means something. */
function shuffled(fields: readonly Field[], random: Random): Field[] {
  const order = [...fields];
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
