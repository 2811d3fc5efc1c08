/**
 * Requests and answers that any version of HTTP can carry, and what of them must be the same whichever
 * did. In: random choices, or what a client or a backend has seen. Out: cases, their bytes in HTTP/1.1
 * and frames in HTTP/2, and records to compare.
 */
import { createHash } from "node:crypto";
import type { Random } from "../fuzz/random.ts";
import type { WireMessage } from "./wire_message.ts";
import { data, type Field, headers, join } from "./h2_frames.ts";
import type { H2Message } from "./h2_peer.ts";

/** A message without its start line or pseudo-fields. */
export interface Content {
  /** Names in lower case. */
  readonly fields: readonly Field[];
  /** Null for no body at all. */
  readonly body: string | null;
  /** Its length is said before it. */
  readonly sized: boolean;
  readonly trailers: readonly Field[];
}

export interface VersionCase {
  readonly id: number;
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly cookies: readonly string[];
  readonly request: Content;
  readonly status: number;
  /** Statuses of interim answers. */
  readonly interim: readonly number[];
  readonly answer: Content;
}

/** What arrived at one end, in a form that does not depend on the version. */
export interface Arrived {
  readonly start: readonly (string | number)[];
  readonly fields: readonly Field[];
  readonly body: string;
  readonly trailers: readonly Field[];
}

/** Fields of one version alone, of one connection, or different each time. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "host",
  "te",
  "transfer-encoding",
  "x-request-id",
]);
/** What the proxy adds where a backend says nothing. */
const ADDED_FIELDS = ["date", "server"];

/** The field by which a backend knows the case. */
export const CASE_FIELD = "x-case";

// ── Making cases ──────────────────────────────────────────────────────────────────────────────

const METHODS = ["GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PURGE"];
const SEGMENTS = ["a", "b.c", "%41", "%c3%a4", "~x", "..", ".", "", "a;b=c", "a%20b", "@", "a+b,c"];
const REFUSED_SEGMENTS = ["%2f", "%00", "%5c", "%zz"];
const STATUSES = [200, 200, 200, 201, 204, 301, 304, 404, 500, 503];
/** A body that any window takes at once, in bytes. */
const MAX_BODY = 60_000;
/** Longer ones are compared by their digest, in bytes. */
const SHORT_BODY = 200;
/** What names are made of besides upper-case letters. */
const NAME = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+.^`|~-";

export function randomCase(random: Random, id: number): VersionCase {
  const method = random.pick(METHODS);
  const status = random.pick(STATUSES);
  const hasBody = random.oneIn(2);
  return {
    id,
    method,
    target: randomTarget(random),
    host: random.pick(["a.test", "b.example:8080", "[::1]:80", "xn--bcher-kva.example"]),
    cookies: Array.from(
      { length: random.pick([0, 0, 1, 2, 5]) },
      (_, i) => `c${i}=${value(random)}`,
    ),
    request: content(random, hasBody, [[CASE_FIELD, String(id)], ...REQUEST_FIELDS]),
    status,
    interim: random.oneIn(6) ? [103] : [],
    answer: content(random, status !== 204 && status !== 304, ANSWER_FIELDS),
  };
}

const REQUEST_FIELDS: readonly Field[] = [
  ["accept", "text/html, */*;q=0.1"],
  ["accept-encoding", "gzip, br"],
  ["user-agent", "Test/1.0 (some; system)"],
  ["referer", "https://a.test/x?y"],
  ["authorization", "Bearer abc.def"],
  ["content-type", "text/plain; charset=utf-8"],
  ["range", "bytes=0-10"],
  ["if-none-match", '"x"'],
  ["x-forwarded-for", "1.2.3.4"],
  ["x-original-url", "/admin"],
  ["x_underscore", "1"],
  ["cache-control", "no-cache"],
];
const ANSWER_FIELDS: readonly Field[] = [
  ["content-type", "text/html"],
  ["cache-control", "max-age=60"],
  ["set-cookie", "a=b; Path=/"],
  ["set-cookie", "c=d; HttpOnly"],
  ["server", "test"],
  ["date", "Sun, 22 Nov 2026 00:26:22 GMT"],
  ["location", "/elsewhere?a=b"],
  ["etag", 'W/"1"'],
  ["vary", "accept-encoding"],
  ["www-authenticate", 'Basic realm="x"'],
];

function content(random: Random, hasBody: boolean, known: readonly Field[]): Content {
  const fields: Field[] = known.filter(([name]) => name === CASE_FIELD || random.oneIn(3));
  for (let i = random.below(12); i > 0; i--) {
    fields.splice(random.below(fields.length + 1), 0, [name(random), value(random)]);
  }
  const sized = random.oneIn(2);
  return {
    fields,
    body: hasBody ? body(random) : null,
    sized,
    trailers: hasBody && !sized && random.oneIn(3)
      ? Array.from({ length: random.between(1, 3) }, () => [name(random), value(random)])
      : [],
  };
}

function randomTarget(random: Random): string {
  const segments = Array.from(
    { length: random.below(5) },
    () => random.pick(random.oneIn(60) ? REFUSED_SEGMENTS : SEGMENTS),
  );
  const query = random.pick(["", "", "?", "?a=b&c=%20d", "?x=/../y?z", "?%zz[]{}|"]);
  return `/${segments.join("/")}${query}`;
}

function name(random: Random): string {
  const length = random.between(1, 20);
  return `x-${Array.from({ length }, () => NAME[random.below(NAME.length)]).join("")}`;
}

function value(random: Random): string {
  const length = random.oneIn(20) ? random.below(500) : random.below(30);
  const bytes = Array.from({ length }, () => {
    if (random.oneIn(30)) return random.between(0x80, 0xff);
    return random.oneIn(15) ? random.pick([0x20, 0x09]) : random.between(0x21, 0x7e);
  });
  return String.fromCharCode(...bytes).replace(/^[ \t]+|[ \t]+$/g, "").replaceAll(";", ",");
}

function body(random: Random): string {
  const length = random.pick([0, 1, 100, random.below(5000), random.below(MAX_BODY)]);
  const start = random.below(100);
  return String.fromCharCode(
    ...Uint8Array.from({ length: Math.min(length, 97) }, (_, i) => (start + i * 7) & 0xff),
  ).repeat(Math.ceil(length / 97)).slice(0, length);
}

// ── As bytes ──────────────────────────────────────────────────────────────────────────────────

/** The request in HTTP/1.1, names in any case. */
export function requestText(one: VersionCase, random: Random): string {
  const { method, target, host, cookies, request } = one;
  const fields = cookies.length === 0
    ? request.fields
    : [...request.fields, ["cookie", cookies.join("; ")] as const];
  const start =
    `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nTE: trailers\r\nConnection: TE\r\n`;
  return start + contentText({ ...request, fields }, random, true);
}

/** The answers in HTTP/1.1: interim ones, and the final one. */
export function answerText(one: VersionCase, random: Random): string {
  const interim = one.interim.map((status) => `HTTP/1.1 ${status} Interim\r\nLink: </a>\r\n\r\n`);
  const start = `${interim.join("")}HTTP/1.1 ${one.status} Some Reason\r\n`;
  return start + contentText(one.answer, random, one.method !== "HEAD");
}

function contentText(content: Content, random: Random, withBody: boolean): string {
  const { fields, body, sized, trailers } = content;
  let text = fields.map(([name, value]) => `${anyCase(name, random)}: ${value}\r\n`).join("");
  if (body === null) return `${text}\r\n`;
  text += sized ? `Content-Length: ${body.length}\r\n\r\n` : "Transfer-Encoding: chunked\r\n\r\n";
  if (!withBody) return text;
  if (sized) return text + body;
  for (const piece of pieces(body, random)) text += `${piece.length.toString(16)}\r\n${piece}\r\n`;
  return `${text}0\r\n${trailers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
}

function anyCase(name: string, random: Random): string {
  return random.oneIn(2) ? name : name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

/** The request in HTTP/2; cookies as crumbs. */
export function requestFrames(one: VersionCase, stream: number, random: Random): Uint8Array {
  const { method, target, host, cookies, request } = one;
  const head: Field[] = [
    [":method", method],
    [":scheme", "http"],
    [":path", target],
    [":authority", host],
    ...request.fields,
    ...cookies.map((crumb) => ["cookie", crumb] as const),
  ];
  return contentFrames(stream, head, request, random, true);
}

/** The answers in HTTP/2. */
export function answerFrames(one: VersionCase, stream: number, random: Random): Uint8Array {
  const interim = one.interim.map((status) =>
    headers(stream, [[":status", String(status)], ["link", "</a>"]])
  );
  const head: Field[] = [[":status", String(one.status)], ...one.answer.fields];
  return join(
    ...interim,
    contentFrames(stream, head, one.answer, random, one.method !== "HEAD"),
  );
}

function contentFrames(
  stream: number,
  head: readonly Field[],
  { body, sized, trailers }: Content,
  random: Random,
  withBody: boolean,
): Uint8Array {
  if (body === null) return headers(stream, head, { end: true });
  const sizedHead = sized ? [...head, ["content-length", String(body.length)] as const] : head;
  if (!withBody) return headers(stream, sizedHead, { end: true });
  const parts = pieces(body, random).map((piece) => data(stream, piece));
  parts.push(
    trailers.length > 0
      ? headers(stream, trailers, { end: true })
      : data(stream, "", { end: true }),
  );
  return join(headers(stream, sizedHead), ...parts);
}

function pieces(body: string, random: Random): string[] {
  const parts: string[] = [];
  for (let at = 0; at < body.length;) {
    const part = body.slice(at, at + (random.oneIn(2) ? 16_000 : random.between(1, 16_000)));
    parts.push(part);
    at += part.length;
  }
  return parts;
}

// ── As it arrived ─────────────────────────────────────────────────────────────────────────────

/** A request or an answer that came by HTTP/1.1; `interim` are the statuses before an answer. */
export function arrivedByHttp1(message: WireMessage, interim: readonly number[] = []): Arrived {
  const [line, ...rest] = message.head.trimEnd().split("\r\n");
  const fields = rest.map(fieldOf);
  const isAnswer = line.startsWith("HTTP/");
  const [method, target] = line.split(" ");
  const start: (string | number)[] = isAnswer
    ? [...interim, Number(target)]
    : [method, target, valueOf(fields, "host") ?? "(no Host)"];
  if (!message.complete) start.push(`cut: ${message.fault}`);
  return arrived(
    start,
    fields,
    message.body,
    message.trailers.split("\r\n", -1).flatMap(
      (line) => line === "" ? [] : [fieldOf(line)],
    ),
  );
}

/** The same by HTTP/2. */
export function arrivedByHttp2(message: H2Message): Arrived {
  const heads = [...message.heads];
  const trailers = message.trailers === null ? [] : heads.pop() ?? [];
  const final = heads.at(-1) ?? [];
  const of = (name: string) => valueOf(final, name) ?? `(no ${name})`;
  const start: (string | number)[] = valueOf(final, ":status") === undefined
    ? [of(":method"), of(":path"), of(":authority")]
    : heads.map((head) => Number(valueOf(head, ":status")));
  if (!message.ended) start.push(`reset: ${message.reset}`);
  return arrived(start, final.filter(([name]) => !name.startsWith(":")), message.body, trailers);
}

function arrived(
  start: readonly (string | number)[],
  fields: readonly Field[],
  body: string,
  trailers: readonly Field[],
): Arrived {
  const own = fields.filter(([name]) => !OWN_FIELDS.has(name));
  return { start, fields: own, body: briefly(body), trailers };
}

/** A body as it is compared: whole where it is short; our own pages without what differs. */
export function briefly(body: string): string {
  const text = body.replace(/^Request id: [0-9a-f]{32}$/m, "Request id: …");
  if (text.length < SHORT_BODY) return text;
  return `${text.length} bytes, ${createHash("sha256").update(text, "latin1").digest("hex")}`;
}

function fieldOf(line: string): Field {
  const colon = line.indexOf(":");
  return [
    line.slice(0, colon).toLowerCase(),
    line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, ""),
  ];
}

export function valueOf(fields: readonly Field[], name: string): string | undefined {
  return fields.find((field) => field[0] === name)?.[1];
}

/** An answer without what the proxy adds where it `isOwn`, or its backend did not say it. */
export function withoutAdded(answer: Arrived, one: VersionCase, isOwn: boolean): Arrived {
  const given = isOwn ? [] : one.answer.fields;
  const added = ADDED_FIELDS.filter((name) => valueOf(given, name) === undefined);
  return { ...answer, fields: answer.fields.filter(([name]) => !added.includes(name)) };
}
