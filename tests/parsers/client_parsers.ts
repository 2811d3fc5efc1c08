/**
 * Parsers of what clients send over HTTP/1.1, and of single fields, however they came. In: nothing.
 * Out: rows of the table.
 */
import { canonicalPath, isCanonicalPath } from "../../shared/path/canonical_path.ts";
import { decodedPath, decodedRoutePath, escapedPath } from "../../shared/path/decoded_path.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import {
  isToken,
  parseRequestedHeader,
  parseRequestedUrl,
} from "../../shared/path/requested_url.ts";
import { prefersJson, prefersOpenMetrics } from "../../proxy/http/accept.ts";
import { authorityAt, readAuthority } from "../../proxy/http/host.ts";
import {
  asciiBytes,
  DATE,
  Fields,
  fieldsOf,
  latin1,
  writeLatin1,
} from "../../proxy/http/fields.ts";
import { splitList, trimmed } from "../../proxy/http/field_values.ts";
import { decodedRequest } from "../../proxy/router/decoded_request.ts";
import { PLAIN_REQUEST } from "../../proxy/router/request_view.ts";
import { basicCheck } from "../../proxy/filters/access/basic.ts";
import { redirectedUrl } from "../../proxy/filters/request_redirect.ts";
import { isGrpcWeb } from "../../proxy/filters/grpc_web.ts";
import { maxForwards } from "../../proxy/filters/max_forwards.ts";
import { answerOf, valuesOf } from "../../proxy/filters/access/answer.ts";
import { cookies, isAmbiguous, variableReader } from "../../proxy/filters/access/template.ts";
import { FoldedNames } from "../../proxy/http/folded_names.ts";
import { NO_FILTERS } from "../../proxy/filters/registry.ts";
import { changedFields, changeResponse } from "../../proxy/http/changed_fields.ts";
import { addressIn, originalClient } from "../../proxy/http/forwarded_for.ts";
import {
  acceptedWebCoding,
  hasGrpc,
  webCoding,
  withoutWeb,
  withWeb,
} from "../../proxy/grpc/content_type.ts";
import { parseGrpcTimeout, readGrpcTimeout } from "../../proxy/grpc/timeout.ts";
import { ForwardedFields } from "../../proxy/http/forwarded_fields.ts";
import { prepareRequest, requestIdOf } from "../../proxy/http/forwarded_headers.ts";
import { TrustedProxies } from "../../proxy/http/trusted_proxies.ts";
import { HeadParser } from "../../proxy/http1/head_parser.ts";
import { headError, readRequestFields, readRequestLine } from "../../proxy/http1/request_head.ts";
import { requestHeadSize, writeRequestHead } from "../../proxy/http1/request_writer.ts";
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import {
  type Exchange,
  ExchangeRecord,
  hasField,
  RequestHead,
  ResponseHead,
} from "../../proxy/http/message.ts";
import { isRequestId } from "../../proxy/http/request_id.ts";
import { isTraceparent, isTracestate } from "../../proxy/http/trace_context.ts";
import { loggedReferer } from "../../proxy/telemetry/lines/kept_fields.ts";
import { LogBuffer } from "../../proxy/telemetry/lines/log_buffer.ts";
import { listParser, type Parser, textParser } from "./parser.ts";
import type { Frame } from "./pumps.ts";

const HEAD_BYTES = DEFAULT_LIMITS.requestHeadBytes;

const START = "GET / HTTP/1.1\r\nHost: a.test\r\n";
const END = "\r\n\r\n";
const X_NAME = asciiBytes("x_");

/** Something stands at both ends of the value: blanks there are not part of it. */
const fieldFrame = (name: string): Frame => [`${START}${name}: a`, `a${END}`];

const WEBSOCKET = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";

const HEAD_FRAMES: readonly Frame[] = [
  ["GET /", ` HTTP/1.1\r\nHost: a${END}`],
  ["GET /?", ` HTTP/1.1\r\nHost: a${END}`],
  ["GET http://", `/ HTTP/1.1\r\nHost: a${END}`],
  ["GET / HTTP/1.1\r\nHost: a", `a${END}`],
  ["GET / HTTP/1.1\r\nHost: [", `]:80${END}`],
  [START, `: x${END}`],
  [`${START}Upgrade: websocket\r\nConnection: upgrade, `, END],
  [`${START}Connection: upgrade\r\nUpgrade: `, END],
  [`${START}${WEBSOCKET}Sec-WebSocket-Key: `, END],
  [`${START}Transfer-Encoding: gzip, a`, `a, chunked${END}`],
  [`${START}Content-Type: application/grpc`, `a${END}`],
  ...["Connection", "TE", "Content-Length", "Expect", "Cookie"].map(fieldFrame),
];

const FORWARDED_FRAMES: readonly Frame[] = [
  [`${START}X-Forwarded-For: 10.0.0.1, `, `, 10.0.0.1${END}`],
  ...["X-Forwarded-Host", "X-Real-IP", "X-Request-Id", "CDN-Loop", "X_"].map(fieldFrame),
];

const REPLY_FRAMES: readonly Frame[] = [
  ...["Accept", "Grpc-Timeout"].map(fieldFrame),
  [`${START}Content-Type: application/grpc-web`, `a${END}`],
  ["OPTIONS * HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 1", END],
];

/** Reads a head as a connection does, however malformed it is. */
function readHead(bytes: Uint8Array, head: RequestHead, parser: HeadParser): void {
  parser.begin(bytes, 0, true);
  let result = parser.parse(bytes.length);
  if (result === "start_line") {
    if (
      readRequestLine(bytes, parser.startLineStart, parser.startLineEnd, head, DEFAULT_LIMITS)
    ) return;
    result = parser.parse(bytes.length);
  }
  if (result === "complete") readRequestFields(head, { keepAlive: true });
  else if (result !== "pending" && result !== "start_line") headError(result, parser, bytes);
}

function newHead(): { head: RequestHead; parser: HeadParser } {
  const head = new RequestHead();
  return { head, parser: new HeadParser(head.fields, HEAD_BYTES, DEFAULT_LIMITS.requestFields) };
}

const FORWARDED = new ForwardedFields({ value: "pingress-0123456789abcdef" });
const TRUSTED = new TrustedProxies(CidrList.parse("10.0.0.0/8, fd00::/8") as CidrList);

/** What is done with a head that came from a trusted proxy, up to the head for the backend. */
function forward(request: RequestHead): void {
  const client = { address: "10.0.0.1", secure: true, localPort: 443, trusted: true };
  const record = new ExchangeRecord();
  const exchange = { request, client, record, added: null } as unknown as Exchange;
  requestIdOf(exchange);
  prepareRequest(exchange, TRUSTED, FORWARDED);
  const out = new Uint8Array(requestHeadSize(request, exchange.added) + request.authority.length);
  writeRequestHead(out, request, exchange.added, request.authority);
}

const MERGING = { mergeSlashes: true, refuseEscapedSlashes: false };

/** Parsers of one text, each by the function that reads it. */
const TEXTS: Readonly<
  Record<string, readonly [frames: readonly Frame[], read: (text: string) => unknown]>
> = {
  "proxy/http/accept.ts prefersJson": [
    [['a/b;"', '"'], ["application/json;q=", "a"]],
    (text) => prefersJson([text]),
  ],
  "proxy/http/accept.ts prefersOpenMetrics": [
    [['a/b;"', '"'], ["application/openmetrics-text;version=", "1"], ["text/plain;q=", ";q="]],
    (text) => prefersOpenMetrics([text]),
  ],
  "proxy/filters/request_redirect.ts redirectedUrl": [
    [["/", ""]],
    (path) =>
      redirectedUrl(
        {
          kind: "request-redirect",
          status: 302,
          scheme: "https",
          path: { value: "/", prefix: "/" },
        },
        { host: "", path, query: "" },
      ),
  ],
  "proxy/http/field_values.ts splitList": [[["a", "a"]], splitList],
  "proxy/http/field_values.ts trimmed": [[["a", "a"]], trimmed],
  "proxy/http/forwarded_for.ts addressIn": [[["[", "]:80"], ["::", "]"]], addressIn],
  "proxy/http/request_id.ts isRequestId": [[["a", "a"]], isRequestId],
  "proxy/grpc/timeout.ts parseGrpcTimeout": [[["1", "S"]], parseGrpcTimeout],
  "proxy/grpc/content_type.ts webCoding": [[["application/grpc-web", ""]], webCoding],
  "proxy/grpc/content_type.ts withoutWeb": [[["application/grpc-web", ""]], withoutWeb],
  "proxy/grpc/content_type.ts withWeb": [[], (text) => withWeb(text, "text")],
  "shared/path/canonical_path.ts canonicalPath": [
    [["/", ""]],
    (text) => canonicalPath(text, MERGING),
  ],
  "shared/path/canonical_path.ts isCanonicalPath": [[["/", ""]], isCanonicalPath],
  "shared/path/decoded_path.ts decodedPath": [[["/", ""]], decodedPath],
  "proxy/router/decoded_request.ts decodedRequest": [
    [["/", ""]],
    (path: string) => decodedRequest(path, PLAIN_REQUEST),
  ],
  "shared/path/decoded_path.ts decodedRoutePath": [[["/", ""]], decodedRoutePath],
  "shared/path/decoded_path.ts escapedPath": [[["/", ""]], escapedPath],
  "shared/path/requested_url.ts parseRequestedHeader": [[["a: ", ""]], parseRequestedHeader],
  "proxy/filters/access/basic.ts basicCheck": [
    [["Basic ", ""], ["Basic ", "=="], ["basic  ", "="]],
    (text) => askWithLogin(text),
  ],
  "shared/path/requested_url.ts isToken": [[["a", "a"]], isToken],
  "proxy/http/fields.ts fieldsOf": [[["a", "a"]], (text) => {
    try {
      return fieldsOf([["a", text]]);
    } catch {
      return null;
    }
  }],
};

const LOGINS = { verify: () => false };

function askWithLogin(text: string): unknown {
  const check = basicCheck({ credentials: "x", realm: "" }, { loginsOf: () => LOGINS });
  const fields = { find: (_: number, from = 0) => from === 0 ? 0 : -1, value: () => text };
  const x = { request: { fields }, client: {}, record: { clientAddress: "10.0.0.1" } };
  return check.check(x as unknown as Exchange);
}

export const CLIENT_PARSERS: readonly Parser[] = [
  textParser({
    name: "the head of a request of HTTP/1.1",
    functions: [
      "proxy/http1/head_parser.ts new HeadParser",
      "proxy/http1/head_parser.ts HeadParser.begin",
      "proxy/http1/request_head.ts readRequestLine",
      "proxy/http1/request_head.ts headError",
      "proxy/http1/request_head.ts readRequestFields",
      "proxy/http1/upgrade.ts readUpgrade",
      "proxy/http1/upgrade.ts upgradeOf",
      "proxy/http/method.ts methodAt",
      "proxy/http/field_values.ts connectionOptions",
      "proxy/http/field_values.ts isKeepAlive",
      "proxy/http/field_values.ts dropNamed",
      "proxy/http/field_values.ts readContentLength",
      "proxy/http/fields.ts Fields.clear",
      "proxy/http/fields.ts fieldIdBy",
      "proxy/http/fields.ts fieldId",
      "proxy/http/letter_case.ts equalsLower",
      "proxy/http/letter_case.ts equalsText",
      "proxy/grpc/content_type.ts isGrpc",
    ],
    bytes: HEAD_BYTES,
    frames: HEAD_FRAMES,
    pumps: ["Connection: a\r\n", "Connection: a, b\r\n", "TE: trailers\r\n", "Cookie: a\r\n"],
    read: (text) => {
      const bytes = asciiBytes(text);
      const { head, parser } = newHead();
      return () => readHead(bytes, head, parser);
    },
  }),
  textParser({
    name: "the head of a request of HTTP/1.1 that comes byte by byte",
    functions: [],
    bytes: HEAD_BYTES,
    frames: [fieldFrame("Cookie"), ["GET /", ""]],
    only: ["a", " ", "a: b\r\n", "/", "\r\n"],
    read: (text) => {
      const bytes = asciiBytes(text);
      const { parser } = newHead();
      return () => {
        parser.begin(bytes, 0, true);
        for (let end = 1; end <= bytes.length; end++) parser.parse(end);
      };
    },
  }),
  textParser({
    name: "the fields of a client that nobody trusts",
    functions: [
      "proxy/http/forwarded_fields.ts ForwardedFields.of",
      "proxy/http/fields.ts writeValue",
    ],
    bytes: HEAD_BYTES,
    only: ["a", ".", ":", "é"],
    read: (text) => () => {
      FORWARDED.of({ address: "10.0.0.1", localPort: 80, secure: false }, text, false);
    },
  }),
  textParser({
    name: "the fields of a request that goes on to a backend",
    functions: [
      "proxy/http/loop_mark.ts countMarks",
      "proxy/http/forwarded_for.ts originalClient",
      "proxy/http1/request_writer.ts requestHeadSize",
      "proxy/http1/request_writer.ts writeRequestHead",
      "proxy/http1/head_writer.ts fieldsSize",
      "proxy/http1/head_writer.ts writeFields",
      "proxy/http1/head_writer.ts copyRange",
      "proxy/http1/head_writer.ts writeUpgrade",
    ],
    bytes: HEAD_BYTES,
    frames: FORWARDED_FRAMES,
    pumps: [
      "10.0.0.1,",
      "X-Forwarded-For: 10.0.0.1\r\n",
      "CDN-Loop: pingress-0123456789abcdef\r\n",
      "pingress-0123456789abcdef,",
      "pingress-0123456789abcde",
    ],
    read: (text) => {
      const bytes = asciiBytes(text);
      const { head, parser } = newHead();
      return () => {
        readHead(bytes, head, parser);
        forward(head);
      };
    },
  }),
  textParser({
    name: "what gRPC and local replies read of a request",
    functions: [
      "proxy/grpc/content_type.ts hasGrpc",
      "proxy/grpc/content_type.ts acceptedWebCoding",
      "proxy/grpc/timeout.ts readGrpcTimeout",
      "proxy/filters/grpc_web.ts isGrpcWeb",
      "proxy/filters/registry.ts RouteFilters.chainFor",
      "proxy/http/changed_fields.ts changedFields",
      "proxy/http/changed_fields.ts changeResponse",
      "proxy/http/changed_fields.ts extended",
      "proxy/http/changed_fields.ts withoutNamed",
      "proxy/http/field_values.ts hasNamed",
      "proxy/http/message.ts hasField",
    ],
    bytes: HEAD_BYTES,
    frames: REPLY_FRAMES,
    read: (text) => {
      const bytes = asciiBytes(text);
      const { head, parser } = newHead();
      return () => {
        readHead(bytes, head, parser);
        hasGrpc(head.fields);
        acceptedWebCoding(head.fields, "text");
        readGrpcTimeout(head.fields);
        head.method = "POST";
        isGrpcWeb(head);
        NO_FILTERS.chainFor(head, true);
        changedFields(head.fields, [X_NAME], head.fields);
        const response = new ResponseHead(head.fields);
        changeResponse(response, [X_NAME], head.fields);
        changeResponse(response, [X_NAME], head.fields);
        hasField(response, DATE);
        head.method = "OPTIONS";
        maxForwards.request!({ request: head } as Exchange);
      };
    },
  }),
  textParser({
    name: "what external authentication reads of a head",
    functions: [
      "proxy/filters/access/answer.ts answerOf",
      "proxy/filters/access/answer.ts valuesOf",
      "proxy/filters/access/template.ts cookies",
      "proxy/filters/access/template.ts isAmbiguous",
      "proxy/filters/access/template.ts variableReader",
      "proxy/http/folded_names.ts FoldedNames.dropFrom",
      "proxy/http/folded_names.ts FoldedNames.has",
      "proxy/http/folded_names.ts FoldedNames.withStars",
    ],
    bytes: HEAD_BYTES,
    frames: [
      ...["Cookie", "X-User"].map(fieldFrame),
      ["GET /?a=", ` HTTP/1.1\r\nHost: a${END}`],
      [`${START}X.User`, `: a${END}`],
    ],
    pumps: ["a=b; ", "s=1;", "a=b&", "X-User: a\r\n", "X.", "Set-Cookie: a=b\r\n"],
    read: (text) => {
      const bytes = asciiBytes(text);
      const { head, parser } = newHead();
      const names = FoldedNames.withStars(["x-user", "x-original-*"]);
      return () => {
        readHead(bytes, head, parser);
        const x = { request: head, record: new ExchangeRecord(), added: null } as Exchange;
        for (const name of ["arg_a", "cookie_s", "http_x_user", "escaped_request_uri"]) {
          variableReader(name)(x);
        }
        cookies(x, "s");
        isAmbiguous(x, "s");
        valuesOf(head.fields, "x-user");
        answerOf({ status: 200, fields: head.fields }, ["x-user"]);
        names.has(text);
        names.dropFrom(head.fields);
      };
    },
  }),
  ...Object.entries(TEXTS).map(([name, [frames, read]]) =>
    textParser({
      name: name.replace(/.* /, ""),
      functions: [name],
      bytes: HEAD_BYTES,
      frames,
      read: (text) => () => read(text),
    })
  ),
  textParser({
    name: "a list of lines of Accept",
    functions: ["proxy/http/accept.ts prefersJson"],
    bytes: HEAD_BYTES,
    frames: [['a/b;"', ""], ["application/json;q=", ""]],
    read: (text) => {
      const lines = Array.from({ length: 8 }, (_, i) => text.slice(i * text.length / 8));
      return () => prefersJson(lines);
    },
  }),
  textParser({
    name: "an authority",
    functions: ["proxy/http/host.ts readAuthority", "proxy/http/host.ts authorityAt"],
    bytes: HEAD_BYTES,
    frames: [["[", "]"], ["a.test:", ""], ["[", "]:80"], ["a", ".test"]],
    read: (text) => {
      const bytes = asciiBytes(text);
      return () => {
        readAuthority(authorityAt(bytes, 0, bytes.length));
        // The last one is remembered, and would cost nothing.
        readAuthority("a.test");
      };
    },
  }),
  textParser({
    name: "the elements of X-Forwarded-For",
    functions: ["proxy/http/forwarded_for.ts originalClient"],
    bytes: HEAD_BYTES,
    frames: [["10.0.0.1,", "10.0.0.1"]],
    only: ["10.0.0.1,", "fd00::1,", "[fd00::1]:80,", "::ffff:10.0.0.1,", "a,", "10.1.1.1:80,"],
    read: (text) => {
      const elements = text.split(",");
      return () => originalClient(elements, "10.0.0.1", TRUSTED);
    },
  }),
  textParser({
    name: "fields as text and bytes",
    functions: [
      "proxy/http/fields.ts asciiBytes",
      "proxy/http/fields.ts latin1",
      "proxy/http/fields.ts writeLatin1",
      "proxy/http/fields.ts Fields.shrink",
      "proxy/http/fields.ts Fields.replaceLast",
    ],
    bytes: HEAD_BYTES,
    only: ["a", "\xe9", " "],
    read: (text) => {
      const fields = new Fields();
      return () => {
        const bytes = asciiBytes(text);
        fields.clear(bytes);
        fields.push(0, 0, 0, 0, bytes.length);
        fields.shrink(0, latin1(bytes, 0, bytes.length));
        fields.replaceLast(text.slice(0, -2));
        writeLatin1(bytes, 0, text);
      };
    },
  }),
  textParser({
    name: "headers of a trace",
    functions: [
      "proxy/http/trace_context.ts isTraceparent",
      "proxy/http/trace_context.ts isTracestate",
    ],
    bytes: HEAD_BYTES,
    read: (text) => {
      const bytes = asciiBytes(text);
      return () => {
        isTraceparent(bytes, 0, bytes.length);
        isTracestate(text);
        // Longer ones are dropped unread.
        isTracestate(text.slice(0, 512));
      };
    },
  }),
  textParser({
    name: "a value in the access log",
    functions: [
      "proxy/telemetry/lines/log_buffer.ts LogBuffer.quoted",
      "proxy/telemetry/lines/log_buffer.ts LogBuffer.latin1",
      "proxy/telemetry/lines/log_buffer.ts LogBuffer.escapedAsNginx",
      "proxy/telemetry/lines/kept_fields.ts loggedReferer",
    ],
    bytes: HEAD_BYTES,
    read: (text) => {
      const bytes = asciiBytes(text.slice(0, 512));
      const buffer = new LogBuffer(4096);
      return () => {
        buffer.quoted(text);
        buffer.latin1(bytes, 0, bytes.length);
        buffer.escapedAsNginx(text);
        loggedReferer(text, false);
        buffer.take();
      };
    },
  }),
  listParser({
    name: "a path of the admin port and of explain",
    functions: ["shared/path/requested_url.ts parseRequestedUrl"],
    count: HEAD_BYTES,
    read: {
      "slashes": (count) => urlOf("http://a/", "/", count),
      "colons": (count) => urlOf("a:", ":", count),
      "letters before ://": (count) => urlOf("a", "a+", count),
      "digits of a port": (count) => urlOf("http://a:", "0", count),
      "labels": (count) => urlOf("http://", "a.", count),
      "signs above ASCII": (count) => urlOf("http://a/", "é/", count),
      "escapes": (count) => urlOf("http://a/%", "%2", count),
      "marks": (count) => urlOf("http://[", ":", count),
      "questions": (count) => urlOf("http://a", "?#", count),
    },
  }),
];

function urlOf(before: string, pump: string, count: number): () => void {
  const text = before + pump.repeat(count / pump.length);
  return () => parseRequestedUrl(text);
}
