import assert from "node:assert/strict";
import { asciiBytes, Fields, HOST, OTHER, UNDERSCORE } from "../http/fields.ts";
import { HeadParser, type ParseResult } from "./head_parser.ts";

const HEAD = "GET / HTTP/1.1\r\nHost: a.test\r\nX:\t y \r\nA_b: c\r\nEmpty:\r\n\r\n";

/** Parses byte by byte; the last result and how many bytes it took. */
function parse(
  text: string,
  { maxBytes = 1024, maxFields = 10, withStartLine = true, start = 0 } = {},
): { result: ParseResult; at: number; fields: Fields; parser: HeadParser } {
  const fields = new Fields();
  const parser = new HeadParser(fields, maxBytes, maxFields);
  const bytes = new Uint8Array(start + text.length);
  bytes.set(asciiBytes(text), start);
  parser.begin(bytes, start, withStartLine);
  for (let at = 1; at <= text.length; at++) {
    let result = parser.parse(start + at);
    if (result === "start_line") result = parser.parse(start + at);
    if (result !== "pending") return { result, at, fields, parser };
  }
  return { result: "pending", at: text.length, fields, parser };
}

Deno.test("fields are ranges without surrounding whitespace, with ids of known names", () => {
  for (const start of [0, 17]) {
    const { result, at, fields, parser } = parse(HEAD + "rest", { start });
    assert.equal(result, "complete");
    assert.equal(at, HEAD.length);
    assert.equal(parser.end, start + HEAD.length);
    assert.equal(parser.startLineStart, start);
    assert.equal(parser.startLineEnd, start + "GET / HTTP/1.1".length);
    const seen = Array.from({ length: fields.count }, (_, i) => [
      fields.ids[i],
      fields.name(i),
      fields.value(i),
    ]);
    assert.deepEqual(seen, [
      [HOST, "Host", "a.test"],
      [OTHER, "X", "y"],
      [UNDERSCORE, "A_b", "c"],
      [OTHER, "Empty", ""],
    ]);
  }
});

Deno.test("a head is the same however it is split", () => {
  const whole = new Fields();
  const bytes = asciiBytes(HEAD);
  for (let cut = 0; cut <= HEAD.length; cut++) {
    const fields = new Fields();
    const parser = new HeadParser(fields, 1024, 10);
    parser.begin(bytes, 0, true);
    const results: ParseResult[] = [];
    for (const end of [cut, cut, HEAD.length, HEAD.length]) {
      if (!results.includes("complete")) results.push(parser.parse(end));
    }
    assert.equal(results.filter((result) => result === "start_line").length, 1, String(cut));
    assert.equal(results.at(-1), "complete", String(cut));
    if (cut === 0) Object.assign(whole, fields);
    assert.deepEqual(
      fields.ranges.subarray(0, 4 * fields.count),
      whole.ranges.subarray(0, 4 * whole.count),
    );
  }
});

Deno.test("an error is reported at the first byte that proves it", async (t) => {
  const malformed: [before: string, byte: string][] = [
    ["", "\n"],
    ["\r", "\r"],
    ["\r\n", "\r"],
    ["GET", "\n"],
    ["GET / HTTP/1.1\r", "G"],
    ["GET / HTTP/1.1\r\n", " "],
    ["GET / HTTP/1.1\r\n", "\n"],
    ["GET / HTTP/1.1\r\n", ":"],
    ["GET / HTTP/1.1\r\nX", " "],
    ["GET / HTTP/1.1\r\nX", "\r"],
    ["GET / HTTP/1.1\r\nX: y", "\0"],
    ["GET / HTTP/1.1\r\nX: y", "\n"],
    ["GET / HTTP/1.1\r\nX: y\r", " "],
    ["GET / HTTP/1.1\r\nX: y\r\n", "\t"],
    ["GET / HTTP/1.1\r\nX: y\r\n\r", "X"],
  ];
  for (const [before, byte] of malformed) {
    await t.step(JSON.stringify(before + byte), () => {
      const { result, at } = parse(before + byte + "more");
      assert.deepEqual([result, at], ["malformed", before.length + 1]);
    });
  }
});

Deno.test("limits hold to the byte and to the field", () => {
  const { length } = HEAD;
  assert.equal(parse(HEAD, { maxBytes: length, maxFields: 4 }).result, "complete");
  const long = parse(HEAD, { maxBytes: length - 1 });
  assert.deepEqual([long.result, long.at], ["too_long", length - 1]);
  assert.equal(long.parser.inStartLine, false);
  assert.equal(parse(HEAD, { maxBytes: 5 }).parser.inStartLine, true);
  const many = parse(HEAD, { maxFields: 3 });
  assert.deepEqual([many.result, many.at], ["too_many", HEAD.indexOf("Empty") + 1]);
});

Deno.test("a trailer section has no start line, and may be empty", () => {
  assert.equal(parse("\r\n", { withStartLine: false }).result, "complete");
  const { result, fields } = parse("X: y\r\n\r\n", { withStartLine: false });
  assert.deepEqual([result, fields.count], ["complete", 1]);
  assert.equal(parse("\n", { withStartLine: false }).result, "malformed");
});
