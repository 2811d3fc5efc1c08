/** Requests' heads as RFC 9113 §8.2 and §8.3 judge them, with everything in doubt refused. */
import assert from "node:assert/strict";
import { get, literals, post, request } from "../../tests/support/h2_frames.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { RequestHead } from "../http/message.ts";
import { HpackDecoder } from "./hpack/decoder.ts";
import { HeadBlock } from "./hpack/head_block.ts";
import { readRequestHead, trailersProblem } from "./request_head.ts";

type Field = readonly [string, string];

function read(
  fields: readonly Field[],
  ended = true,
  limits = DEFAULT_LIMITS,
): { head: RequestHead; verdict: string } {
  const block = new HeadBlock();
  block.begin(limits.requestHeadBytes, limits.requestFields, false);
  const bytes = literals(fields);
  assert.equal(new HpackDecoder(4096).decode(bytes, 0, bytes.length, block), null);
  const head = new RequestHead(block.fields);
  const problem = readRequestHead(block, head, ended, limits);
  return { head, verdict: problem === null ? "" : problem.code ?? `! ${problem.malformed}` };
}

/** A GET without one of its pseudo-fields. */
function without(name: string): Field[] {
  return get("/").filter(([field]) => field !== name);
}

function replaced(name: string, value: string): Field[] {
  return get("/").map((field) => field[0] === name ? [name, value] : field);
}

Deno.test("a request is read as the equivalent HTTP/1.1 request", () => {
  const { head, verdict } = read([
    [":method", "GET"],
    [":scheme", "https"],
    [":authority", "A.test:8443"],
    [":path", "/x/%7euser/../y?q=1&r"],
    ["accept", "*/*"],
  ]);
  assert.equal(verdict, "");
  const { method, host, authority, path, query, version, bodyLength, contentLength } = head;
  assert.deepEqual(
    { method, host, authority, path, query, version, bodyLength, contentLength },
    {
      method: "GET",
      host: "a.test",
      authority: "A.test:8443",
      path: "/x/y",
      query: "?q=1&r",
      version: 20,
      bodyLength: 0,
      contentLength: -1,
    },
  );
  assert.ok(head.acceptsTrailers);
  assert.equal(head.fields.value(0), "*/*");
});

Deno.test("the length of a body is known, unknown or zero", () => {
  assert.equal(read(post("/", [["content-length", "5"]]), false).head.bodyLength, 5);
  assert.equal(read(post("/"), false).head.bodyLength, -1);
  assert.equal(read(post("/"), true).head.bodyLength, 0);
  assert.equal(read(post("/", [["content-length", "0"]]), true).verdict, "");
});

Deno.test("other properties of a request are recorded", () => {
  const { head } = read(
    post("/", [
      ["expect", "100-Continue"],
      ["content-type", "application/grpc+proto"],
      ["te", "Trailers"],
    ]),
    false,
  );
  assert.ok(head.expectsContinue);
  assert.ok(head.isGrpc);
});

Deno.test("Host may replace :authority or accompany it", () => {
  assert.equal(read([...without(":authority"), ["host", "b.test"]]).head.authority, "b.test");
  const both = read([...replaced(":authority", "B.test"), ["host", "b.TEST"]]);
  assert.equal(both.verdict, "");
  assert.equal(both.head.authority, "B.test");
});

/** A verdict that begins with `!` ends the stream; any other is the code of an answer. */
const VERDICTS: readonly [
  what: string,
  fields: readonly Field[],
  verdict: RegExp,
  ended?: false,
][] = [
  ["no :method", without(":method"), /^! no :method/],
  ["no :scheme", without(":scheme"), /^! no :scheme/],
  ["no :path", without(":path"), /^! no :path/],
  ["an empty :path", replaced(":path", ""), /^! no :path/],
  ["no authority at all", without(":authority"), /^bad_host$/],
  ["an empty authority", replaced(":authority", ""), /^bad_host$/],
  [":status", [...get("/"), [":status", "200"]], /^! :status/],
  [":status alone among the first", [[":status", "200"], ...get("/")], /^! :status/],
  ["a repeated :path", [[":path", "/"], ...get("/")], /^! :path twice/],
  ["a late pseudo-field", [["a", "b"], ...get("/")], /^! :method behind a field/],
  ["an unknown pseudo-field", [[":x", "y"], ...get("/")], /^! unknown pseudo-field/],
  ["an upper-case name", get("/", [["A", "b"]]), /^! upper case/],
  ["an empty name", get("/", [["", "b"]]), /^! empty field name/],
  ["a blank in a name", get("/", [["a b", "c"]]), /^! bad byte in a field name/],
  ["a line feed in a value", get("/", [["a", "b\nc"]]), /^! bad byte in a field value/],
  ["a NUL in a value", get("/", [["a", "b\0"]]), /^! bad byte in a field value/],
  ["a blank before a value", get("/", [["a", " b"]]), /^! white space/],
  ["a blank in :method", replaced(":method", "GE T"), /^! bad byte in :method/],
  ["an empty :method", replaced(":method", ""), /^! bad byte in :method/],
  ["a method in lower case", replaced(":method", "get"), /^bad_request$/],
  ["a method without end", replaced(":method", "M".repeat(33)), /^bad_request$/],
  ["TRACE", request("TRACE", "/"), /^method_refused$/],
  ["CONNECT", [[":method", "CONNECT"], [":authority", "a.test:443"]], /^method_refused$/],
  ["CONNECT with a path", request("CONNECT", "/"), /^! CONNECT with/],
  ["a scheme that is none", replaced(":scheme", "ht tp"), /^! bad byte in :scheme/],
  ["another scheme", replaced(":scheme", "ftp"), /^bad_request$/],
  ["a blank in :path", replaced(":path", "/a b"), /^! bad byte in :path/],
  ["a fragment", replaced(":path", "/a#b"), /^! bad byte in :path/],
  ["a line break in :path", replaced(":path", "/a\r\nb"), /^! bad byte/],
  ["obs-text in :path", replaced(":path", "/\xe9"), /^! bad byte in :path/],
  ["a path without a slash", replaced(":path", "a"), /^bad_target$/],
  ["an absolute URL as path", replaced(":path", "http://b.test/"), /^bad_target$/],
  ["*", request("OPTIONS", "*"), /^bad_target$/],
  ["a path above the root", replaced(":path", "/../a"), /^bad_target$/],
  ["a blank in :authority", replaced(":authority", "a test"), /^! bad byte in :authority/],
  ["a user in :authority", replaced(":authority", "u@a.test"), /^bad_host$/],
  ["a bad port", replaced(":authority", "a.test:65536"), /^bad_host$/],
  ["another Host", get("/", [["host", "other.test"]]), /^bad_host$/],
  ["two Hosts", get("/", [["host", "a.test"], ["host", "a.test"]]), /^bad_host$/],
  ["connection", get("/", [["connection", "close"]]), /^! connection, which/],
  ["keep-alive", get("/", [["keep-alive", "1"]]), /^! keep-alive, which/],
  ["proxy-connection", get("/", [["proxy-connection", "close"]]), /^! proxy-connection, which/],
  ["transfer-encoding", post("/", [["transfer-encoding", "chunked"]]), /^! transfer-enc/, false],
  ["upgrade", get("/", [["upgrade", "h2c"]]), /^! upgrade, which/],
  ["te: gzip", get("/", [["te", "gzip"]]), /^! te other/],
  ["te: trailers, gzip", get("/", [["te", "trailers, gzip"]]), /^! te other/],
  ["two lengths", post("/", [["content-length", "1"], ["content-length", "1"]]), /^bad_framing$/],
  ["a length in hex", post("/", [["content-length", "0x1"]]), /^bad_framing$/, false],
  ["a length without a body", post("/", [["content-length", "1"]]), /^! less DATA/],
  ["an unknown expectation", post("/", [["expect", "more"]]), /^bad_expectation$/, false],
  [":protocol without CONNECT", [...get("/"), [":protocol", "websocket"]], /^! :protocol without/],
];

for (const [what, fields, verdict, ended] of VERDICTS) {
  Deno.test(`a request with ${what} is ${verdict.source}`, () => {
    assert.match(read(fields, ended ?? true).verdict, verdict);
  });
}

Deno.test("a head over the limits gets a response, and its first fields are kept", () => {
  const many = Array.from({ length: 101 }, (_, i): Field => [`x-${i}`, "y"]);
  assert.equal(read(get("/", many)).verdict, "head_too_large");
  assert.equal(read(get("/", [["x", "y".repeat(40_000)]])).verdict, "head_too_large");
  assert.equal(read(get("/" + "a".repeat(40_000))).verdict, "target_too_long");
});

const WEBSOCKET: readonly Field[] = [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  [":scheme", "https"],
  [":authority", "a.test"],
  [":path", "/chat"],
  ["sec-websocket-version", "13"],
];

Deno.test("extended CONNECT is an upgrade, with a key that HTTP/2 does not use (RFC 8441)", () => {
  const { head, verdict } = read(WEBSOCKET, false);
  assert.equal(verdict, "");
  assert.deepEqual([head.method, head.upgrade, head.bodyLength], ["GET", "websocket", 0]);
  const names = Array.from({ length: head.fields.count }, (_, i) => head.fields.name(i));
  assert.deepEqual(names, ["sec-websocket-version", "sec-websocket-key"]);
  assert.match(head.fields.value(1), /^[A-Za-z0-9+/]{22}==$/);
});

Deno.test("extended CONNECT that cannot become a tunnel is rejected", () => {
  const verdict = (fields: readonly Field[], ended = false) => read(fields, ended).verdict;
  assert.equal(verdict(WEBSOCKET, true), "bad_request");
  assert.equal(verdict(WEBSOCKET.slice(0, 5)), "bad_request");
  assert.equal(verdict([...WEBSOCKET, ["content-length", "3"]]), "bad_request");
  for (const protocol of ["h2c", "H2C", "http/1.1"]) {
    assert.equal(
      verdict(WEBSOCKET.map((field) => field[0] === ":protocol" ? [":protocol", protocol] : field)),
      "bad_request",
    );
  }
});

Deno.test("trailers may have neither pseudo-header fields nor connection-specific ones", () => {
  const problem = (fields: readonly Field[]) => {
    const block = new HeadBlock();
    block.begin(1_000, 10, true);
    const bytes = literals(fields);
    assert.equal(new HpackDecoder(4096).decode(bytes, 0, bytes.length, block), null);
    return trailersProblem(block);
  };
  assert.equal(problem([["grpc-status", "0"]]), null);
  assert.match(problem([[":path", "/"]])!, /:path in trailers/);
  assert.match(problem([["connection", "close"]])!, /belongs to HTTP\/1.1/);
  assert.match(problem([["te", "trailers"]])!, /belongs to HTTP\/1.1/);
});

Deno.test("each proxy's settings decide whether slashes are merged and escaped ones rejected", () => {
  const strict = { ...DEFAULT_LIMITS, mergeSlashes: true, refuseEscapedSlashes: true };
  const paths = (path: string) =>
    [DEFAULT_LIMITS, strict, DEFAULT_LIMITS].map((limits) => {
      const { head, verdict } = read(replaced(":path", path), true, limits);
      return verdict || head.path + head.query;
    });
  assert.deepEqual(paths("//admin?a=//b"), ["//admin?a=//b", "/admin?a=//b", "//admin?a=//b"]);
  assert.deepEqual(paths("/a%2fb"), ["/a%2Fb", "bad_target", "/a%2Fb"]);
  assert.deepEqual(paths("/a%5Cb"), ["/a%5Cb", "bad_target", "/a%5Cb"]);
  assert.deepEqual(paths("/a?q=%2f"), ["/a?q=%2f", "/a?q=%2f", "/a?q=%2f"]);
});
