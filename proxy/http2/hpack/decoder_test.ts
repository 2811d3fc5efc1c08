/** What the decoder refuses, and what its work and memory are bounded by (RFC 7541, RFC 9113 §4.3). */
import assert from "node:assert/strict";
import { OTHER, SENSITIVE } from "../../http/fields.ts";
import { fieldsOfHead, fromHex, newHead, rawLiteral } from "../../../tests/support/hpack_heads.ts";
import { HpackDecoder } from "./decoder.ts";
import type { HeadBlock } from "./head_block.ts";

const REFUSED: readonly [string, string][] = [
  ["index 0", "80"],
  ["an index behind the static table, the dynamic one being empty", "be"],
  ["a huge index", "ffffffff7f"],
  ["an index that does not end", "ff80"],
  ["an index that overflows", "ffffffffffff0f"],
  ["a name's index of no entry", "7e0161"],
  ["a literal without a name", "40"],
  ["a literal without a value", "400161"],
  ["a value that is cut short", "40016105616263"],
  ["a name that is cut short", "400561"],
  ["a length that overflows", "40016180" + "ff".repeat(8)],
  ["a string longer than any block", "4001617fffffff7f61"],
  ["a string's Huffman code padded by a byte", "00016182" + "1fff"],
  ["EOS in a value", "00016184" + "3fffffff"],
  ["EOS in a name", "0084" + "3fffffff" + "0161"],
  ["a size update behind a field", "8220"],
  ["a size update past the limit", "3fe21f"],
  ["a size update that overflows", "3fffffffffff0f"],
  ["a size update that does not end", "3f80"],
];

for (const [what, hex] of REFUSED) {
  Deno.test(`${what} is a compression error`, () => {
    const bytes = fromHex(hex);
    assert.notEqual(new HpackDecoder(4096).decode(bytes, 0, bytes.length, newHead()), null);
  });
}

Deno.test("a block that is truncated within a field is a compression error", () => {
  const whole = fromHex("828684418cf1e3c2e5f23a6ba0ab90f4ff");
  const ends = [0, 1, 2, 3, whole.length];
  for (let end = 0; end <= whole.length; end++) {
    const error = new HpackDecoder(4096).decode(whole, 0, end, newHead());
    assert.equal(error === null, ends.includes(end), `${end} bytes`);
  }
});

Deno.test("size updates at the start are applied, however many", () => {
  const decoder = new HpackDecoder(4096);
  assert.deepEqual(decode(decoder, [...rawLiteral(0x40, "a", "b"), 0xbe]), [["a", "b"], [
    "a",
    "b",
  ]]);
  assert.equal(decoder.tableSize, 34);
  assert.deepEqual(decode(decoder, [0x20, ...fromHex("3fe11f"), 0x82]), [[":method", "GET"]]);
  assert.equal(decoder.tableSize, 0);
  assert.deepEqual(decode(decoder, [0x3f, 0x01, ...rawLiteral(0x40, "a", "b")]), [["a", "b"]]);
  assert.equal(decoder.tableSize, 0, "34 bytes do not go into 32");
});

Deno.test("an entry may take its name from the entry that it evicts", () => {
  const decoder = new HpackDecoder(64);
  decode(decoder, rawLiteral(0x40, "long-name-of-it", "value"));
  assert.deepEqual(decode(decoder, rawLiteral(0x7e, null, "another value")), [
    ["long-name-of-it", "another value"],
  ]);
  assert.deepEqual(decode(decoder, [0xbe]), [["long-name-of-it", "another value"]]);
});

Deno.test("a never-indexed field keeps its mark", () => {
  const head = decoded(new HpackDecoder(4096), [
    ...rawLiteral(0x10, "x-secret", "s"),
    ...rawLiteral(0x00, "x-open", "o"),
    ...rawLiteral(0x40, "x-kept", "k"),
  ]);
  assert.deepEqual([...head.fields.ids.subarray(0, 3)], [SENSITIVE, OTHER, OTHER]);
});

Deno.test("the table stays in sync after a head that is malformed, too large or a trailer section", () => {
  for (
    const head of [
      newHead(50),
      newHead(65_536, 1),
      newHead(65_536, 100, true),
      newHead(),
    ]
  ) {
    const decoder = new HpackDecoder(4096);
    const block = [
      ...rawLiteral(0x40, ":authority", "example.com"),
      ...rawLiteral(0x40, "Upper", "case"),
      ...rawLiteral(0x40, "first", "1"),
      ...rawLiteral(0x40, "second", "2"),
    ];
    assert.equal(decoder.decode(Uint8Array.from(block), 0, block.length, head), null);
    assert(head.malformed !== null || head.tooLarge);
    assert.deepEqual(decode(decoder, [0xc1, 0xbf, 0xbe]), [
      [":authority", "example.com"],
      ["first", "1"],
      ["second", "2"],
    ]);
  }
});

Deno.test("references to a large entry are not stored beyond the limit, but still counted", () => {
  const decoder = new HpackDecoder(4096);
  const block = [...rawLiteral(0x40, "a", "v".repeat(4000)), ...new Array(16_000).fill(0xbe)];
  const head = decoded(decoder, block, newHead(32_768));
  assert(head.tooLarge);
  assert.equal(head.size, 16_001 * (4001 + 32));
  assert.equal(head.fields.count, Math.floor(32_768 / (4001 + 32)));
  assert(head.fields.bytes.length <= 65_536);
});

Deno.test("a name as long as the table that is referenced repeatedly is stored no more than allowed", () => {
  const decoder = new HpackDecoder(4096);
  const block = [
    ...rawLiteral(0x40, "n".repeat(4000), ""),
    // With indexing, so that each makes an entry that pushes out the one before.
    ...new Array(8000).fill([0x7e, 0]).flat(),
    ...new Array(8000).fill([0x0f, 0x2f, 0]).flat(),
  ];
  const head = decoded(decoder, block, newHead(32_768));
  assert(head.tooLarge);
  assert.equal(head.size, 16_001 * 4032);
  assert.equal(decoder.tableSize, 4032);
});

Deno.test("fields beyond the limit are not stored, whatever their size", () => {
  const head = decoded(new HpackDecoder(4096), new Array(200).fill(0x93), newHead(32_768, 100));
  assert(head.tooLarge);
  assert.equal(head.fields.count, 100);
  assert.equal(head.size, 200 * (6 + 32));
});

Deno.test("a table larger than the default is used once the peer has announced it", () => {
  const decoder = new HpackDecoder(8192);
  const large = rawLiteral(0x40, "a", "v".repeat(6000));
  decode(decoder, large);
  assert.equal(decoder.tableSize, 0);
  decode(decoder, [...fromHex("3fe13f"), ...large]);
  assert.equal(decoder.tableSize, 6033);
});

function decode(decoder: HpackDecoder, block: readonly number[]) {
  const head = decoded(decoder, block);
  assert.equal(head.malformed, null);
  return fieldsOfHead(head);
}

function decoded(
  decoder: HpackDecoder,
  block: readonly number[],
  head: HeadBlock = newHead(),
): HeadBlock {
  assert.equal(decoder.decode(Uint8Array.from(block), 0, block.length, head), null);
  return head;
}
