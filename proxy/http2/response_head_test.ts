import assert from "node:assert/strict";
import { ResponseHead, UNKNOWN_LENGTH } from "../http/message.ts";
import { HpackDecoder } from "./hpack/decoder.ts";
import { HpackEncoder } from "./hpack/encoder.ts";
import { HeadBlock } from "./hpack/head_block.ts";
import { readResponseHead, readTrailers } from "./response_head.ts";
import { asciiBytes } from "../http/fields.ts";

type Pairs = readonly (readonly [string, string])[];

/** A block as the decoder lays it out; `:status` as it is given. */
function decoded(pairs: Pairs, isTrailers = false): HeadBlock {
  const encoder = new HpackEncoder();
  const out = new Uint8Array(16_384);
  let end = encoder.begin(out, 0);
  for (const [name, value] of pairs) end = encoder.pair(out, end, asciiBytes(name), value);
  const block = new HeadBlock();
  block.begin(8_192, 20, isTrailers);
  assert.equal(new HpackDecoder(4096).decode(out, 0, end, block), null);
  return block;
}

const ok = (more: Pairs = []): Pairs => [[":status", "200"], ...more];

Deno.test("a response's framing follows from its fields, the method and END_STREAM", () => {
  const cases: readonly [string, string, Pairs, boolean, number, number][] = [
    ["no length", "GET", ok(), false, UNKNOWN_LENGTH, -1],
    ["a length", "GET", ok([["content-length", "5"]]), false, 5, 5],
    ["an end", "GET", ok(), true, 0, -1],
    ["an end with length 0", "GET", ok([["content-length", "0"]]), true, 0, 0],
    ["HEAD", "HEAD", ok([["content-length", "5"]]), true, 0, 5],
    ["HEAD without its end", "HEAD", ok([["content-length", "5"]]), false, 0, 5],
    ["304", "GET", [[":status", "304"], ["content-length", "5"]], true, 0, 5],
    ["204", "GET", [[":status", "204"], ["content-length", "5"]], true, 0, -1],
    ["103", "GET", [[":status", "103"], ["link", "x"]], false, 0, -1],
  ];
  for (const [name, method, pairs, isEnd, bodyLength, contentLength] of cases) {
    const head = new ResponseHead();
    assert.equal(readResponseHead(decoded(pairs), method, isEnd, head), null, name);
    assert.deepEqual([head.bodyLength, head.contentLength], [bodyLength, contentLength], name);
    assert.equal(head.status, Number(pairs[0][1]), name);
  }
});

Deno.test("a status has its usual reason phrase, for HTTP/1.1 clients", () => {
  for (const [status, reason] of [["200", "OK"], ["404", "Not Found"], ["299", ""]]) {
    const head = new ResponseHead();
    readResponseHead(decoded([[":status", status]]), "GET", true, head);
    assert.equal(head.reason, reason);
  }
});

Deno.test("each error of a head has its own message", () => {
  const cases: readonly [Pairs, boolean, RegExp][] = [
    [[], true, /without :status/],
    [[["a", "b"]], true, /without :status/],
    [[[":status", "600"]], true, /:status that is none/],
    [[[":status", "99"]], true, /:status is no status/],
    [[[":status", "101"]], false, /101/],
    [[[":status", "103"]], true, /ends the stream/],
    [[[":method", "GET"], [":status", "200"]], true, /request's pseudo-field/],
    [[["a", "b"], [":status", "200"]], true, /:status behind a field/],
    [ok([["connection", "close"]]), true, /connection/],
    [ok([["te", "trailers"]]), true, /te/],
    [ok([["content-length", "1"], ["content-length", "1"]]), false, /two content-length/],
    [ok([["content-length", "-1"]]), false, /no length/],
    [ok([["content-length", "1"]]), true, /less DATA/],
    [ok([["a", "x".repeat(9_000)]]), true, /too large/],
    [ok(Array.from({ length: 21 }, (_, i) => [`a${i}`, ""] as const)), true, /too large/],
  ];
  for (const [pairs, isEnd, wrong] of cases) {
    const said = readResponseHead(decoded(pairs), "GET", isEnd, new ResponseHead());
    assert.match(said ?? "nothing", wrong);
  }
});

Deno.test("trailers keep the fields that are allowed there", () => {
  const fields = readTrailers(decoded([["grpc-status", "0"], ["content-length", "3"]], true));
  assert.equal(typeof fields, "object");
  if (typeof fields === "string") return;
  const { count, ids } = fields.copy();
  assert.deepEqual([count, ids[0]], [1, 0]);
  assert.match(String(readTrailers(decoded([[":status", "200"]], true))), /:status in trailers/);
});
