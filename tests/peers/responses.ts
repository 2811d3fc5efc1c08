/**
 * Random answers that are strictly valid. In: random choices, the request's method. Out: an answer as
 * a backend sends it, and whether the connection ends with it.
 */
import { bytesOf } from "../support/latin1.ts";
import type { Random } from "../fuzz/random.ts";
import { chunked, plainLine, randomContent, randomValue } from "./requests.ts";
import type { Field } from "./wire.ts";

export interface CaseResponse {
  /** Interim answers, ahead of the final one. */
  readonly interim: Uint8Array;
  readonly bytes: Uint8Array;
  /** The backend closes behind it. */
  readonly closes: boolean;
}

const STATUSES: readonly (readonly [number, string])[] = [
  ...Array(8).fill([200, "OK"]),
  ...[[201, "Created"], [202, "Accepted"], [203, "Other"], [206, "Partial Content"]],
  ...[[204, "No Content"], [204, "No Content"], [304, "Not Modified"], [304, "Not Modified"]],
  ...[[299, "Odd"], [301, "Moved"], [302, "Found"], [400, "Bad Request"], [401, "Unauthorized"]],
  ...[[404, "Not Found"], [418, "I'm a teapot"], [429, "Too Many Requests"], [451, "Legal \xe9"]],
  ...[[500, "Internal Server Error"], [503, "Service Unavailable"], [599, "No Such Thing"]],
] as [number, string][];

const COMMON: readonly (readonly [string, readonly string[]])[] = [
  ["Server", ["echo", "Apache/2.4 (Debian)"]],
  ["Date", ["Sat, 29 Oct 1994 19:43:31 GMT"]],
  ["Content-Type", ["text/plain", "text/html; charset=utf-8", "application/octet-stream"]],
  ["Content-Encoding", ["gzip", "br"]],
  ["Content-Language", ["de"]],
  ["Last-Modified", ["Sat, 29 Oct 1994 19:43:31 GMT"]],
  ["ETag", ['"a"', 'W/"b"']],
  ["Location", ["/there", "http://a.example/there?x", "//b.example/"]],
  ["Set-Cookie", ["a=b; Path=/; HttpOnly", "c=d; Secure; SameSite=Lax", "e="]],
  ["Set-Cookie", ["f=g; Domain=a.example"]],
  ["Vary", ["Accept-Encoding", "*"]],
  ["Cache-Control", ["no-store", "public, max-age=60"]],
  ["Expires", ["0", "Sat, 29 Oct 2044 19:43:31 GMT"]],
  ["Accept-Ranges", ["bytes"]],
  ["Retry-After", ["5"]],
  ["WWW-Authenticate", ['Basic realm="a"', "Negotiate"]],
  ["Proxy-Authenticate", ["Basic"]],
  ["Link", ["</a.css>; rel=preload"]],
  ["Via", ["1.1 inner"]],
  ["Strict-Transport-Security", ["max-age=1"]],
  ["Keep-Alive", ["timeout=5"]],
  ["Alt-Svc", ['h3=":443"']],
  ["Under_Score", ["kept"]],
  ["X.Dotted!", ["kept"]],
  ["X-Empty", [""]],
  ["X-Request-Id", ["the-backend's"]],
];

/** The answer to a request with this method; `withInterim` lets interim answers come before. */
export function randomResponse(
  random: Random,
  method: string,
  withInterim: boolean,
): CaseResponse {
  const [status, reason] = random.pick(STATUSES);
  const fields: Field[] = [];
  for (let count = random.below(10); count > 0; count--) {
    const [name, values] = random.pick(COMMON);
    if (name !== "Set-Cookie" && fields.some(([one]) => one === name)) continue;
    fields.push([name, random.pick(values)]);
  }
  fields.push(["X-Random", randomValue(random, random.oneIn(20) ? 5000 : 30)]);
  const old = random.oneIn(20);
  const bodyless = method === "HEAD" || status === 204 || status === 304;
  const content = randomContent(random);
  const framing = random.pick(old ? ["length", "close"] : ["length", "length", "chunked", "close"]);
  let body = "";
  let closes = old;
  if (status !== 204 && framing === "length") {
    fields.push(["Content-Length", String(content.length)]);
    body = content;
  } else if (status !== 204 && status !== 304 && framing === "chunked") {
    const trailers: Field[] = random.oneIn(2) ? [["X-Sum", randomValue(random, 10)]] : [];
    if (trailers.length > 0) fields.push(["Trailer", "X-Sum"]);
    fields.push(["Transfer-Encoding", "chunked"]);
    body = chunked(content, trailers, random);
  } else if (!bodyless) {
    body = content;
    closes = true;
  }
  const announces = random.oneIn(10);
  // A close that nothing announces may cross with the next request, which fails in any proxy.
  const options = announces ? ["close"] : [];
  closes ||= announces;
  if (random.oneIn(12)) {
    options.push("X-Hop");
    fields.push(["X-Hop", "1"]);
  }
  if (options.length > 0) fields.push(["Connection", options.join(", ")]);
  const phrase = random.oneIn(10) ? "" : reason;
  const head = `HTTP/1.${old ? 0 : 1} ${status} ${phrase}\r\n${fields.map(plainLine).join("")}\r\n`;
  const interim = withInterim && random.oneIn(8)
    ? "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    : "";
  return {
    interim: bytesOf(interim),
    bytes: bytesOf(head + (bodyless ? "" : body)),
    closes,
  };
}
