import assert from "node:assert/strict";
import { decodeText } from "./encoding.ts";

const TEXT = "kind: Service\nname: b\u00e4r\n";

Deno.test("UTF-8 is read, with a byte order mark and without", () => {
  const bytes = new TextEncoder().encode(TEXT);
  assert.deepEqual(decodeText(bytes), { ok: true, text: TEXT });
  assert.deepEqual(
    decodeText(Uint8Array.from([0xef, 0xbb, 0xbf, ...bytes])),
    { ok: true, text: TEXT },
  );
  assert.deepEqual(decodeText(new Uint8Array()), { ok: true, text: "" });
});

Deno.test("a file with bytes of zero is no text, and is not to be converted", () => {
  const elf = [0x7f, ...new TextEncoder().encode("ELF"), 2, 1, 1, 0, 0, 0, 0xe4];
  const decoded = decodeText(Uint8Array.from(elf));
  assert.ok(!decoded.ok);
  assert.match(decoded.message, /^it is no text/);
  assert.doesNotMatch(decoded.remedy, /iconv/);
});

Deno.test("UTF-16 and Latin-1 are named, with the place of the first byte and a command", () => {
  const units = [...TEXT].flatMap((char) => [char.charCodeAt(0), 0]);
  for (
    const [bytes, ...expected] of [
      [[0xff, 0xfe, ...units], "UTF-16LE", 1, 1],
      [units, "UTF-16LE", 1, 1],
      [[0xfe, 0xff, ...units.slice(1), 0], "UTF-16BE", 1, 1],
      [[...TEXT].map((char) => char.charCodeAt(0)), "ISO-8859-1", 2, 8],
    ] as const
  ) {
    const decoded = decodeText(Uint8Array.from(bytes));
    assert.ok(!decoded.ok);
    assert.match(decoded.remedy, new RegExp(`iconv -f ${expected[0]} -t UTF-8 FILE`));
    assert.deepEqual([decoded.line, decoded.column], expected.slice(1));
  }
});
