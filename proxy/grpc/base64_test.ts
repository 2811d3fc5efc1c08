import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Random } from "../../tests/fuzz/random.ts";
import { asciiBytes } from "../http/fields.ts";
import { Base64Decoder, decodedSize, encodeBase64, encodedSize } from "./base64.ts";

function bytesOf(random: Random, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, () => random.below(256));
}

/** What `parts` come to one after another; null where they are malformed or end too early. */
function decoded(parts: readonly Uint8Array[]): Uint8Array | null {
  const decoder = new Base64Decoder();
  const bytes: number[] = [];
  for (const part of parts) {
    const out = new Uint8Array(decodedSize(part.length));
    const count = decoder.decode(part, out);
    if (count === -1) return null;
    bytes.push(...out.subarray(0, count));
  }
  return decoder.isWhole ? Uint8Array.from(bytes) : null;
}

Deno.test("bytes of every length are encoded as in Node", () => {
  const random = new Random(64);
  for (let length = 0; length < 300; length++) {
    const bytes = bytesOf(random, length);
    const out = new Uint8Array(encodedSize(length));
    assert.equal(encodeBase64(bytes, out), out.length);
    assert.equal(Buffer.from(out).toString("latin1"), Buffer.from(bytes).toString("base64"));
  }
});

Deno.test("texts with padding and splits anywhere are decoded to the original bytes", () => {
  const random = new Random(65);
  for (let i = 0; i < 2_000; i++) {
    const written = Array.from({ length: random.between(1, 5) }, () => {
      return bytesOf(random, random.below(20));
    });
    const text = asciiBytes(written.map((part) => Buffer.from(part).toString("base64")).join(""));
    const parts: Uint8Array[] = [];
    for (let at = 0; at < text.length;) {
      const end = Math.min(text.length, at + random.below(9));
      parts.push(text.subarray(at, end));
      at = end;
    }
    assert.deepEqual(decoded(parts), Uint8Array.from(written.flatMap((part) => [...part])));
  }
});

const MALFORMED: Readonly<Record<string, string>> = {
  "ends within a group": "AAAAAA",
  "has a group of one digit": "A",
  "begins with padding": "====",
  "has padding after one digit": "A===",
  "has a digit after padding": "AA=A",
  "has a blank": "AAAA AAAA",
  "has a line end": "AAAA\r\n",
  "has a digit of base64url": "AA-_",
  "has a NUL": "AAA\0",
};

for (const [what, text] of Object.entries(MALFORMED)) {
  Deno.test(`text that ${what} is not base64, however it is split`, () => {
    const bytes = asciiBytes(text);
    assert.equal(decoded([bytes]), null);
    assert.equal(decoded(Array.from(bytes, (byte) => Uint8Array.of(byte))), null);
  });
}
