/** What the encoder puts into its table and what not, and that any decoder reads what it writes. */
import assert from "node:assert/strict";
import { asciiBytes, fieldsOf, HOST, SENSITIVE } from "../../http/fields.ts";
import { Random } from "../../../tests/fuzz/random.ts";
import {
  type Field,
  fieldsOfHead,
  newHead,
  toHex,
  writeHead,
} from "../../../tests/support/hpack_heads.ts";
import { HpackDecoder } from "./decoder.ts";
import { fieldBound, fieldsBound, HpackEncoder, SIZE_UPDATES } from "./encoder.ts";
import { STATIC_TABLE, staticName } from "./static_table.ts";

const out = new Uint8Array(65_536);

/** The bytes of a head with one field, of each of `rounds` times in turn. */
function lengths(name: string, value: string, rounds = 3): number[] {
  const encoder = new HpackEncoder();
  return Array.from({ length: rounds }, () => writeHead(encoder, out, [[name, value]]));
}

Deno.test("every entry of the static table is found by its name, and sent as one byte", () => {
  for (const [i, [name, value]] of STATIC_TABLE.entries()) {
    const first = STATIC_TABLE.findIndex((entry) => entry[0] === name);
    assert.equal(staticName(asciiBytes(name), 0, name.length), first + 1);
    assert.equal(staticName(asciiBytes(`${name}x`), 0, name.length + 1), 0);
    const isSecret = ["authorization", "cookie", "proxy-authorization", "set-cookie"]
      .includes(name);
    if (isSecret || name === ":authority" && value === "") continue;
    assert.equal(writeHead(new HpackEncoder(), out, [[name, value]]), 1, name);
    assert.equal(out[0], 0x80 | i + 1);
  }
});

Deno.test("a field that is known to repeat is indexed from the second time on", () => {
  for (
    const [name, value] of [
      ["content-type", "text/html; charset=utf-8"],
      ["Date", "Sun, 22 Nov 2026 00:26:22 GMT"],
      [":authority", "shop.example.com"],
      [":status", "301"],
    ]
  ) {
    const [first, second, third] = lengths(name, value);
    assert(first > 1);
    assert.deepEqual([second, third], [1, 1], name);
  }
});

Deno.test("other fields are indexed from the third time on, and a field that occurs once is not", () => {
  const [first, second, third] = lengths("X-Frame-Options", "SAMEORIGIN");
  assert.equal(first, second);
  assert.equal(third, 1);
  const encoder = new HpackEncoder();
  writeHead(encoder, out, [["server", "one"]]);
  for (let i = 0; i < 1000; i++) writeHead(encoder, out, [["x-trace", String(i)]]);
  assert.equal(writeHead(encoder, out, [["server", "one"]]), 1, "pushed out by what never repeats");
});

Deno.test("fields that change with every message are never indexed", () => {
  for (
    const [name, value] of [
      ["content-length", "12345"],
      ["etag", '"33a64df5"'],
      ["x-request-id", "4f3c2b1a-1234-5678-9abc-def012345678"],
      [":path", "/assets/app.js"],
    ]
  ) {
    const [first, , third, last] = lengths(name, value, 4);
    assert(first > 2 && third === first && last === first, name);
    assert.equal(out[0] & 0xf0, 0, name);
  }
});

Deno.test("secrets are never indexed, here and on later hops", () => {
  for (const name of ["Authorization", "cookie", "set-cookie", "Proxy-Authorization"]) {
    const [first, , third] = lengths(name, "a=0123456789012345678901234567890123456789");
    assert.equal(third, first);
    assert.equal(out[0] & 0xf0, 0x10, name);
  }
  const fields = fieldsOf([["x-api-key", "secret"]]);
  fields.ids[0] = SENSITIVE;
  const encoder = new HpackEncoder();
  for (let i = 0; i < 3; i++) encoder.fields(out, 0, fields, new Uint8Array(256));
  assert.equal(out[0], 0x10);
});

Deno.test("names are sent in lower case, and skipped fields are not sent", () => {
  const skips = new Uint8Array(256);
  skips[HOST] = 1;
  const fields = fieldsOf([["Host", "a"], ["Content-TYPE", "b"], ["X-Custom", "C"]]);
  const encoder = new HpackEncoder();
  const decoder = new HpackDecoder(4096);
  for (let round = 0; round < 4; round++) {
    const head = newHead();
    assert.equal(decoder.decode(out, 0, encoder.fields(out, 0, fields, skips), head), null);
    assert.deepEqual(fieldsOfHead(head), [["content-type", "b"], ["x-custom", "C"]]);
  }
});

Deno.test("names that differ only in case share an entry", () => {
  const encoder = new HpackEncoder();
  writeHead(encoder, out, [["Content-Type", "text/plain"]]);
  assert.equal(writeHead(encoder, out, [["content-type", "text/plain"]]), 1);
});

Deno.test("a change of the peer's table size is sent with the next head: the smallest and the last", () => {
  const encoder = new HpackEncoder();
  writeHead(encoder, out, [["server", "one"]]);
  encoder.setTableLimit(65_536);
  assert.equal(encoder.begin(out, 0), 0, "no more than 4,096 is used");
  encoder.setTableLimit(0);
  encoder.setTableLimit(1000);
  assert.equal(toHex(out.subarray(0, encoder.begin(out, 0))), "20" + "3fc907");
  assert.equal(encoder.begin(out, 0), 0, "it is told once");
  assert(writeHead(encoder, out, [["server", "one"]]) > 1, "the table was emptied");
  encoder.setTableLimit(65_536);
  assert.equal(toHex(out.subarray(0, encoder.begin(out, 0))), "3fe11f");
  assert.equal(writeHead(encoder, out, [["server", "one"]]), 1, "growing keeps what is there");
});

Deno.test("a peer without a table gets literals only", () => {
  const encoder = new HpackEncoder();
  encoder.setTableLimit(0);
  assert.equal(writeHead(encoder, out, [["server", "one"]]), 1 + 5);
  for (let i = 0; i < 3; i++) {
    assert.equal(writeHead(encoder, out, [["server", "one"]]), 5);
    assert.equal(out[0] & 0xc0, 0);
  }
});

Deno.test("a field that would fill most of the table is not indexed", () => {
  const encoder = new HpackEncoder();
  writeHead(encoder, out, [["server", "one"]]);
  for (let i = 0; i < 3; i++) {
    assert(writeHead(encoder, out, [["vary", "v".repeat(4000)]]) > 2000);
  }
  assert.equal(writeHead(encoder, out, [["server", "one"]]), 1);
});

Deno.test("random heads are decoded to the same heads, within the bounds, as table sizes change", () => {
  const random = new Random(2026);
  for (let round = 0; round < 40; round++) {
    const encoder = new HpackEncoder();
    const decoder = new HpackDecoder(4096);
    const known = Array.from({ length: 60 }, () => randomField(random));
    for (let message = 0; message < 60; message++) {
      if (random.oneIn(10)) encoder.setTableLimit(random.pick([0, 64, 200, 1000, 4096, 65_536]));
      const fields: Field[] = random.oneIn(2) ? [[":status", String(random.between(100, 999))]] : [
        [":method", random.pick(["GET", "POST", "DELETE", "x"])],
        [":scheme", random.pick(["http", "https", "ws"])],
        [":path", random.pick(["/", "/index.html", "/a?b", `/${random.below(1000)}`, "*"])],
        [":authority", random.pick(["a.example", "b.example:8080"])],
      ];
      for (let i = random.below(30); i > 0; i--) {
        fields.push(random.oneIn(4) ? randomField(random) : random.pick(known));
      }
      const bound = fields.reduce(
        (sum, [name, value]) => sum + fieldBound(name.length, value.length),
        SIZE_UPDATES,
      );
      const length = writeHead(encoder, out, fields);
      assert(length <= bound);
      const head = newHead(1 << 20);
      assert.equal(decoder.decode(out, 0, length, head), null);
      assert.equal(head.malformed, null);
      assert.deepEqual(
        fieldsOfHead(head),
        fields.map(([name, value]) => [name.toLowerCase(), value]),
      );
    }
  }
});

Deno.test("fields with colliding hashes cost literals and no more", () => {
  // Alike in length, first, middle and last bytes.
  const encoder = new HpackEncoder();
  const decoder = new HpackDecoder(4096);
  const many = Array.from({ length: 50 }, (_, i): Field => {
    const digits = String(i).padStart(2, "0");
    return ["server", `a${digits}aaaaaaaaaaaaaaaaaaa`];
  });
  for (let round = 0; round < 3; round++) {
    const length = writeHead(encoder, out, many);
    const head = newHead(1 << 20);
    assert.equal(decoder.decode(out, 0, length, head), null);
    assert.deepEqual(fieldsOfHead(head), many);
    assert(length <= fieldsBound(fieldsOf(many)));
  }
});

function randomField(random: Random): Field {
  const name = random.oneIn(2)
    ? random.pick(STATIC_TABLE.slice(14))[0]
    : random.pick(["X-", "grpc-", "Sec-Fetch-"]) + "abcdefghij".slice(0, random.between(1, 10));
  const length = random.oneIn(30) ? random.below(3000) : random.below(40);
  let value = "";
  for (let i = 0; i < length; i++) {
    value += String.fromCharCode(
      random.oneIn(50) ? random.between(0x80, 0xff) : random.between(0x21, 0x7e),
    );
  }
  return [name, value];
}
