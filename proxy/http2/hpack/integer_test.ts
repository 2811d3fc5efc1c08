/** Integers of RFC 7541 §5.1 at their bounds. */
import assert from "node:assert/strict";
import { fromHex, toHex } from "../../../tests/support/hpack_heads.ts";
import { integer, MAX_INTEGER_BYTES, readInteger, writeInteger } from "./integer.ts";

Deno.test("integers are decoded for each prefix length, and the bits above the prefix are kept", () => {
  for (const mask of [0x0f, 0x1f, 0x3f, 0x7f]) {
    for (const value of [0, 1, mask - 1, mask, mask + 1, 127, 128, 4096, 16_384, 2 ** 28 - 1]) {
      const out = new Uint8Array(MAX_INTEGER_BYTES);
      const end = writeInteger(out, 0, mask + 1, mask, value);
      assert.equal(out[0] & ~mask, mask + 1);
      assert(readInteger(out, 0, end, mask), toHex(out));
      assert.deepEqual(integer, { value, end });
    }
  }
});

Deno.test("unterminated, oversized and overlong integers are rejected", () => {
  for (const hex of ["7f", "7f80", "7f808080", "7f8080808001", "7fffffffff7f", "7f8080808000"]) {
    const bytes = fromHex(hex);
    assert.equal(readInteger(bytes, 0, bytes.length, 0x7f), false, hex);
  }
});

Deno.test("an integer that its block cuts off is rejected", () => {
  const bytes = fromHex("7f8001");
  assert.equal(readInteger(bytes, 0, 2, 0x7f), false);
  assert(readInteger(bytes, 0, 3, 0x7f));
});
