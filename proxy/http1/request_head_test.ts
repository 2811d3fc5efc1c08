import assert from "node:assert/strict";
import { asciiBytes } from "../http/fields.ts";
import { RequestHead, UNKNOWN_LENGTH } from "../http/message.ts";
import { HeadParser } from "./head_parser.ts";
import { readRequestFields, readRequestLine } from "./request_head.ts";

/** Reads a whole head into `head`; the error's code, or null. */
function read(text: string, head = new RequestHead()): {
  code: string | null;
  head: RequestHead;
  keepAlive: boolean;
} {
  const bytes = asciiBytes(text);
  const parser = new HeadParser(head.fields, bytes.length, 100);
  parser.begin(bytes, 0, true);
  assert.equal(parser.parse(bytes.length), "start_line");
  const connection = { keepAlive: false };
  const code = readRequestLine(bytes, parser.startLineStart, parser.startLineEnd, head);
  if (code !== null) return { code, head, keepAlive: false };
  assert.equal(parser.parse(bytes.length), "complete");
  return { code: readRequestFields(head, connection), head, keepAlive: connection.keepAlive };
}

Deno.test("a head has the meaning of its request line and fields", () => {
  const { code, head, keepAlive } = read(
    "PUT /a/../b?c HTTP/1.1\r\nHost: A.Test.:80\r\nContent-Length: 5\r\nExpect: 100-continue\r\n" +
      "TE: gzip, trailers\r\nContent-Type: application/grpc+proto\r\n\r\n",
  );
  assert.equal(code, null);
  const { method, host, authority, path, query, version, bodyLength, contentLength } = head;
  assert.deepEqual(
    { method, host, authority, path, query, version, bodyLength, contentLength, keepAlive },
    {
      method: "PUT",
      host: "a.test",
      authority: "A.Test.:80",
      path: "/b",
      query: "?c",
      version: 11,
      bodyLength: 5,
      contentLength: 5,
      keepAlive: true,
    },
  );
  assert.deepEqual([head.expectsContinue, head.acceptsTrailers, head.isGrpc], [true, true, true]);
});

Deno.test("nothing of a head is left for the next one on the same connection", () => {
  const head = new RequestHead();
  read(
    "POST http://b.test/x?y HTTP/1.1\r\nHost: b.test\r\nTransfer-Encoding: chunked\r\n" +
      "Expect: 100-continue\r\nTE: trailers\r\nContent-Type: application/grpc\r\n\r\n",
    head,
  );
  assert.equal(head.bodyLength, UNKNOWN_LENGTH);
  const { code, keepAlive } = read("GET / HTTP/1.0\r\n\r\n", head);
  assert.deepEqual([code, keepAlive], [null, false]);
  assert.deepEqual(
    [head.method, head.host, head.authority, head.path, head.query, head.version],
    ["GET", "", "", "/", "", 10],
  );
  assert.deepEqual([head.bodyLength, head.contentLength], [0, -1]);
  assert.deepEqual([head.expectsContinue, head.acceptsTrailers, head.isGrpc], [
    false,
    false,
    false,
  ]);
});

Deno.test("whether a connection persists follows from version and options", () => {
  const stays = (minor: number, connection: string) =>
    read(`GET / HTTP/1.${minor}\r\nHost: a\r\n${connection}\r\n`).keepAlive;
  assert.equal(stays(1, ""), true);
  assert.equal(stays(0, ""), false);
  assert.equal(stays(0, "Connection: Keep-Alive\r\n"), true);
  assert.equal(stays(1, "Connection: x, CLOSE\r\n"), false);
  assert.equal(stays(0, "Connection: keep-alive\r\nConnection: close\r\n"), false);
});

Deno.test("the first error decides: framing and host before the rest", () => {
  const refused: [fields: string, code: string][] = [
    ["Connection: host\r\n", "bad_host"],
    ["Host: a\r\nContent-Length: x\r\nConnection: host\r\n", "bad_framing"],
    ["Host: a\r\nConnection: host\r\n", "bad_request"],
    ["Host: a\r\nExpect: x\r\nContent-Length: x\r\n", "bad_expectation"],
    ["Host: a\r\nTransfer-Encoding: gzip, chunked\r\n", "coding_unknown"],
    ["Host: a\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 1\r\n", "bad_framing"],
  ];
  for (const [fields, code] of refused) {
    assert.equal(read(`POST / HTTP/1.1\r\n${fields}\r\n`).code, code, fields);
  }
  assert.equal(read("CONNECT a:443 HTTP/9.9\r\n\r\n").code, "bad_version");
  assert.equal(read("CONNECT a:443 HTTP/1.1\r\n\r\n").code, "method_refused");
});
