/** The examples of RFC 7541 Appendix C, both ways where our encoder has the choice that they show. */
import assert from "node:assert/strict";
import { HpackDecoder } from "./decoder.ts";
import { HpackEncoder } from "./encoder.ts";
import { ALWAYS } from "./indexing.ts";
import { integer, readInteger, writeInteger } from "./integer.ts";
import { STATIC_COUNT } from "./static_table.ts";
import {
  type Field,
  fieldsOfHead,
  fromHex,
  newHead,
  toHex,
  writeHead,
} from "../../../tests/support/hpack_heads.ts";

Deno.test("integers are encoded as in Appendix C.1", () => {
  for (
    const [value, mask, hex] of [[10, 0x1f, "0a"], [1337, 0x1f, "1f9a0a"], [
      42,
      0xff,
      "2a",
    ]] as const
  ) {
    const out = new Uint8Array(8);
    assert.equal(toHex(out.subarray(0, writeInteger(out, 0, 0, mask, value))), hex);
    const bytes = fromHex(hex);
    assert(readInteger(bytes, 0, bytes.length, mask));
    assert.deepEqual(integer, { value, end: bytes.length });
  }
});

const SINGLE: readonly [string, string, Field, number][] = [
  ["C.2.1", "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", [
    "custom-key",
    "custom-header",
  ], 55],
  ["C.2.2", "040c 2f73 616d 706c 652f 7061 7468", [":path", "/sample/path"], 0],
  ["C.2.3", "1008 7061 7373 776f 7264 0673 6563 7265 74", ["password", "secret"], 0],
  ["C.2.4", "82", [":method", "GET"], 0],
];

for (const [section, hex, field, tableSize] of SINGLE) {
  Deno.test(`the field of Appendix ${section} is decoded`, () => {
    const decoder = new HpackDecoder(4096);
    const head = newHead();
    const bytes = fromHex(hex);
    assert.equal(decoder.decode(bytes, 0, bytes.length, head), null);
    assert.deepEqual(fieldsOfHead(head), [field]);
    assert.equal(decoder.tableSize, tableSize);
  });
}

interface Exchange {
  readonly hex: string;
  readonly fields: readonly Field[];
  readonly tableSize: number;
}

const REQUESTS: readonly (readonly Field[])[] = [
  [[":method", "GET"], [":scheme", "http"], [":path", "/"], [":authority", "www.example.com"]],
  [
    [":method", "GET"],
    [":scheme", "http"],
    [":path", "/"],
    [":authority", "www.example.com"],
    ["cache-control", "no-cache"],
  ],
  [
    [":method", "GET"],
    [":scheme", "https"],
    [":path", "/index.html"],
    [":authority", "www.example.com"],
    ["custom-key", "custom-value"],
  ],
];
const RESPONSES: readonly (readonly Field[])[] = [
  [
    [":status", "302"],
    ["cache-control", "private"],
    ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
    ["location", "https://www.example.com"],
  ],
  [
    [":status", "307"],
    ["cache-control", "private"],
    ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
    ["location", "https://www.example.com"],
  ],
  [
    [":status", "200"],
    ["cache-control", "private"],
    ["date", "Mon, 21 Oct 2013 20:13:22 GMT"],
    ["location", "https://www.example.com"],
    ["content-encoding", "gzip"],
    ["set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"],
  ],
];

function exchanges(
  heads: readonly (readonly Field[])[],
  tableSizes: readonly number[],
  ...hexes: readonly string[]
): readonly Exchange[] {
  return heads.map((fields, i) => ({ hex: hexes[i], fields, tableSize: tableSizes[i] }));
}

const SERIES: readonly [string, number, boolean, readonly Exchange[]][] = [
  [
    "C.3",
    4096,
    false,
    exchanges(
      REQUESTS,
      [57, 110, 164],
      "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
      "8286 84be 5808 6e6f 2d63 6163 6865",
      "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ),
  ],
  [
    "C.4",
    4096,
    true,
    exchanges(
      REQUESTS,
      [57, 110, 164],
      "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
      "8286 84be 5886 a8eb 1064 9cbf",
      "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ),
  ],
  [
    "C.5",
    256,
    false,
    exchanges(
      RESPONSES,
      [222, 222, 215],
      "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133" +
        "2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70" +
        "6c65 2e63 6f6d",
      "4803 3330 37c1 c0bf",
      "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d" +
        "54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049" +
        "5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e" +
        "3d31",
    ),
  ],
  [
    "C.6",
    256,
    true,
    exchanges(
      RESPONSES,
      [222, 222, 215],
      "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6" +
        "2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
      "4883 640e ffc1 c0bf",
      "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab" +
        "77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f" +
        "9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ),
  ],
];

for (const [section, tableSize, isCoded, series] of SERIES) {
  Deno.test(`the heads of Appendix ${section} are decoded`, () => {
    const decoder = new HpackDecoder(tableSize);
    const head = newHead();
    for (const { hex, fields, tableSize } of series) {
      head.begin(65_536, 100, false);
      const bytes = fromHex(hex);
      assert.equal(decoder.decode(bytes, 0, bytes.length, head), null);
      assert.equal(head.malformed, null);
      assert.deepEqual(fieldsOfHead(head), fields);
      assert.equal(decoder.tableSize, tableSize);
    }
  });
  if (!isCoded) continue; // Our encoder uses the Huffman code wherever that is no longer.
  Deno.test(`the heads of Appendix ${section} are encoded to the same bytes`, () => {
    const encoder = new HpackEncoder(new Uint8Array(STATIC_COUNT + 1).fill(ALWAYS));
    encoder.setTableLimit(tableSize);
    const out = new Uint8Array(1024);
    assert.equal(encoder.begin(out, 0), tableSize === 4096 ? 0 : 3);
    for (const { hex, fields } of series) {
      assert.equal(toHex(out.subarray(0, writeHead(encoder, out, fields))), hex.replace(/ /g, ""));
    }
  });
}
