import assert from "node:assert/strict";
import { LogBuffer, pieceOf } from "./log_buffer.ts";

function written(write: (out: LogBuffer) => void): string {
  const out = new LogBuffer(16);
  write(out);
  return new TextDecoder().decode(out.take());
}

Deno.test("a value is a JSON string that parses to itself, without control characters", () => {
  const values = [
    "",
    "plain",
    'a"b',
    "a\\b",
    "a\nb",
    "\x00\x1b[1m",
    "\x7f\x85",
    "é\xff",
    "…\u202e",
  ];
  for (const value of values) {
    const text = written((out) => out.quoted(value));
    assert.equal(JSON.parse(text), value);
    const isShown = (char: string) => char >= " " && !(char >= "\x7f" && char <= "\x9f");
    assert.ok([...text].every((char) => isShown(char) && char !== "\u202e"), text);
  }
});

Deno.test("the same value in bytes gives the same string", () => {
  for (const value of ["", "id-1", 'a"b', "\x00", "\xe9\x80"]) {
    const bytes = Uint8Array.from(`<${value}>`, (char) => char.charCodeAt(0));
    const text = written((out) => out.latin1(bytes, 1, bytes.length - 1));
    assert.equal(text, written((out) => out.quoted(value)));
  }
});

Deno.test("a value is truncated after 1 KiB, followed by its length", () => {
  const cases: [value: string, shown: string][] = [
    ["a".repeat(1024), "a".repeat(1024)],
    ["a".repeat(1025), "a".repeat(1024)],
    ["a".repeat(30_000), "a".repeat(1024)],
    // Six bytes each in JSON, two each, or two with an odd one before.
    ["\x80".repeat(1024), "\x80".repeat(170)],
    ["\x01".repeat(30_000), "\x01".repeat(170)],
    ['"'.repeat(512), '"'.repeat(512)],
    ['"'.repeat(513), '"'.repeat(512)],
    [`a${"\\".repeat(600)}`, `a${"\\".repeat(511)}`],
    [`a${"\xe9".repeat(600)}`, `a${"\xe9".repeat(511)}`],
    ["…".repeat(600), "…".repeat(341)],
  ];
  for (const [value, shown] of cases) {
    const mark = value === shown ? "" : `… (${value.length} characters)`;
    const text = written((out) => out.quoted(value));
    assert.equal(JSON.parse(text), shown + mark);
    assert.ok(new TextEncoder().encode(text).length <= 1024 + 32, `${text.length} bytes`);
  }
});

Deno.test("numbers are written as in JSON", () => {
  const integers = [0, 7, 10, 99, 100, 999_999_999, 1_000_000_000, 2 ** 53, -1, 0.5];
  for (const value of integers) assert.equal(written((out) => out.integer(value)), String(value));
  const times = [0, 0.001, 0.01, 0.1, 1, 1.5, 1.0004, 1.2345, 59.999, 1e5, 1e9, -0.25];
  for (const value of times) {
    const expected = String(Math.round(value * 1000) / 1000);
    assert.equal(written((out) => out.thousandths(value)), expected, String(value));
  }
});

Deno.test("parts of any length are written next to each other unchanged", () => {
  const texts = ["", "a", "ab", "abc", "abcd", "abcde", `","log":"access"`, "x".repeat(511)];
  for (const text of texts) {
    const all = written((out) => {
      for (let i = 0; i < 5; i++) {
        out.piece(pieceOf(text));
        out.padded(i, 3);
      }
    });
    assert.equal(all, [0, 1, 2, 3, 4].map((i) => `${text}00${i}`).join(""));
  }
});

Deno.test("a buffer holds any amount, and is empty once taken", () => {
  const out = new LogBuffer(16);
  for (let round = 0; round < 2; round++) {
    let expected = "";
    for (let i = 0; i < 500; i++) {
      out.quoted("x".repeat(i));
      out.integer(i);
      expected += `"${"x".repeat(i)}"${i}`;
    }
    assert.equal(out.length, expected.length);
    assert.equal(new TextDecoder().decode(out.take()), expected);
    assert.equal(out.length, 0);
  }
});

Deno.test("nginx's escapes leave visible ASCII alone, and what is too long is cut off", () => {
  const all = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code));
  const shown = [...all].map((char) =>
    char >= " " && char <= "~" && char !== '"' && char !== "\\"
      ? char
      : `\\x${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`
  ).join("");
  assert.equal(written((out) => out.escapedAsNginx(all)), shown);
  assert.equal(written((out) => out.escapedAsNginx("a".repeat(1025))), "a".repeat(1024));
  assert.equal(written((out) => out.escapedAsNginx('"'.repeat(9999))), "\\x22".repeat(1024));
});
