/**
 * Requests that came by HTTP/2, as a backend of HTTP/1.1 reads them. In: a head that was accepted.
 * Out: what it says in one line; or an exception where HTTP/1.1's parser, reading what HTTP/1.1's
 * writer makes of it, refuses it or understands something else.
 */
import {
  CONNECTION,
  DROPPED,
  type Fields,
  NEVER_CROSSES,
  TRAILER,
} from "../../proxy/http/fields.ts";
import { HeadParser } from "../../proxy/http1/head_parser.ts";
import { readRequestFields, readRequestLine } from "../../proxy/http1/request_head.ts";
import { requestHeadSize, writeRequestHead } from "../../proxy/http1/request_writer.ts";
import { RequestHead } from "../../proxy/http/message.ts";

/** Larger than any head that is accepted. */
const MAX_BYTES = 1024 * 1024;
const MAX_FIELDS = 1000;

/** What a request of HTTP/2 must not have (RFC 9113 §8.2.2), and what it may have once. */
const FORBIDDEN = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
const SINGLE = ["host", "content-length"];

export function checkAsHttp1(request: RequestHead): string {
  checkNames(request.fields);
  const { method, path, query, host, authority, bodyLength, contentLength, upgrade } = request;
  const bytes = new Uint8Array(requestHeadSize(request, null) + authority.length);
  const end = writeRequestHead(bytes, request, null, authority);
  const fields = crossing(request.fields);
  const head = new RequestHead();
  const parser = new HeadParser(head.fields, MAX_BYTES, MAX_FIELDS);
  parser.begin(bytes, 0, true);
  const start = parser.parse(end);
  if (start !== "start_line") throw new Error(`HTTP/1.1: ${start}`);
  const line = readRequestLine(bytes, parser.startLineStart, parser.startLineEnd, head);
  if (line !== null) throw new Error(`HTTP/1.1: ${line}`);
  const whole = parser.parse(end);
  if (whole !== "complete" || parser.end !== end) throw new Error(`HTTP/1.1: ${whole}`);
  const refusal = readRequestFields(head, { keepAlive: true });
  if (refusal !== null) throw new Error(`HTTP/1.1: ${refusal}`);
  const same = [
    [method, head.method],
    [path, head.path],
    [query, head.query],
    [host, head.host],
    [authority, head.authority],
    [bodyLength, head.bodyLength],
    [contentLength, head.contentLength],
    [upgrade, head.upgrade],
    [fields, crossing(head.fields)],
  ];
  for (const [ours, read] of same) {
    if (JSON.stringify(ours) !== JSON.stringify(read)) {
      throw new Error(`HTTP/1.1 reads ${JSON.stringify(read)} in place of ${JSON.stringify(ours)}`);
    }
  }
  return JSON.stringify([method, path + query, authority, bodyLength]);
}

/** The fields that go on, as pairs. */
function crossing(fields: Fields): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i < fields.count; i++) {
    const id = fields.ids[i];
    if (NEVER_CROSSES[id] === 1 || id === DROPPED || id === CONNECTION) continue;
    // Trailers of a request end before a backend of HTTP/1.1, and are not announced to it.
    if (id === TRAILER) continue;
    pairs.push([fields.name(i).toLowerCase(), fields.value(i)]);
  }
  return pairs;
}

function checkNames(fields: Fields): void {
  const names = Array.from({ length: fields.count }, (_, i) => fields.name(i));
  for (const [i, name] of names.entries()) {
    if (FORBIDDEN.includes(name)) throw new Error(`${name} is accepted`);
    if (name === "te" && fields.value(i) !== "trailers") throw new Error("te is accepted");
    if (SINGLE.includes(name) && names.indexOf(name) !== i) throw new Error(`${name} twice`);
  }
}
