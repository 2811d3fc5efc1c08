import assert from "node:assert/strict";
import { fieldsOf } from "../http/fields.ts";
import { RequestHead, UNKNOWN_LENGTH } from "../http/message.ts";
import { HpackDecoder } from "./hpack/decoder.ts";
import { HpackEncoder, SIZE_UPDATES } from "./hpack/encoder.ts";
import { HeadBlock } from "./hpack/head_block.ts";
import { requestHeadBound, writeRequestHead } from "./request_writer.ts";

/** A head with these, as a parser of clients' requests leaves it. */
function head(changes: Partial<RequestHead>, fields: [string, string][] = []): RequestHead {
  const own = fieldsOf(fields);
  const request = Object.assign(new RequestHead(), { method: "GET", path: "/", ...changes });
  request.fields.clear(own.bytes);
  for (let i = 0; i < own.count; i++) {
    request.fields.push(
      own.ids[i],
      own.nameStart(i),
      own.nameEnd(i),
      own.valueStart(i),
      own.valueEnd(i),
    );
  }
  return request;
}

/** What a backend reads of it. */
function written(request: RequestHead, added: [string, string][] = [], host = "a.test"): string[] {
  const encoder = new HpackEncoder();
  const fields = fieldsOf(added);
  const bound = requestHeadBound(request, fields, host) + SIZE_UPDATES;
  const out = new Uint8Array(bound);
  const start = encoder.begin(out, 0);
  const end = writeRequestHead(encoder, out, start, request, fields, host, true);
  assert.equal(end <= bound, true);
  const block = new HeadBlock();
  block.begin(100_000, 200, false);
  assert.equal(new HpackDecoder(4096).decode(out, 0, end, block), null);
  assert.equal(block.malformed, null);
  const lines = [
    `${block.method} ${block.scheme} ${block.authority} ${block.path} ${block.protocol}`,
  ];
  for (let i = 0; i < block.fields.count; i++) {
    lines.push(`${block.fields.name(i)}: ${block.fields.value(i)}`);
  }
  return lines;
}

Deno.test("a request has its pseudo-header fields first, then its fields in lower case, then added ones", () => {
  assert.deepEqual(
    written(
      head({ path: "/a", query: "?b=c", bodyLength: 5, contentLength: 5, method: "PATCH" }, [
        ["Host", "a.test"],
        ["X-One", "1"],
        ["Connection", "close"],
        ["Content-Length", "5"],
        ["Cookie", "a=b; c=d"],
      ]),
      [["X-Request-Id", "id"]],
    ),
    [
      "PATCH https a.test /a?b=c null",
      "x-one: 1",
      "cookie: a=b; c=d",
      "x-request-id: id",
      "content-length: 5",
    ],
  );
});

Deno.test("te: trailers is forwarded if the client accepts trailers, and nothing else of TE is", () => {
  assert.deepEqual(written(head({ acceptsTrailers: true }, [["TE", "gzip, trailers"]])), [
    "GET https a.test / null",
    "te: trailers",
  ]);
  assert.deepEqual(written(head({ isGrpc: true })).at(-1), "te: trailers");
  assert.deepEqual(written(head({}, [["TE", "gzip"]])).length, 1);
});

Deno.test("a body of unknown length has no content-length", () => {
  const lines = written(head({ method: "POST", bodyLength: UNKNOWN_LENGTH }));
  assert.deepEqual(lines, ["POST https a.test / null"]);
});

Deno.test("a request without a host has no :authority", () => {
  assert.deepEqual(written(head({ version: 10 }), [], "")[0], "GET https null / null");
});

Deno.test("Expect is forwarded if there is a body to wait for", () => {
  const expecting = { expectsContinue: true, method: "POST" };
  const fields: [string, string][] = [["Expect", "100-continue"]];
  assert.equal(
    written(head({ ...expecting, bodyLength: 5 }, fields)).includes("expect: 100-continue"),
    true,
  );
  assert.equal(written(head({ ...expecting, bodyLength: 0 }, fields)).length, 1);
});

Deno.test("a WebSocket upgrade becomes an extended CONNECT, without a key", () => {
  assert.deepEqual(
    written(head({ upgrade: "websocket", path: "/chat" }, [
      ["Upgrade", "websocket"],
      ["Connection", "Upgrade"],
      ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
      ["Sec-WebSocket-Version", "13"],
    ])),
    ["CONNECT https a.test /chat websocket", "sec-websocket-version: 13"],
  );
});

Deno.test("a WebSocket upgrade that declares no body still gets its tunnel", () => {
  const lines = written(
    head({ upgrade: "websocket", contentLength: 0 }, [["Content-Length", "0"]]),
  );
  assert.deepEqual(lines, ["CONNECT https a.test / websocket"]);
});
