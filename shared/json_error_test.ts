import assert from "node:assert/strict";
import { locateJsonError } from "./json_error.ts";

function describe(text: string): string | null {
  const error = locateJsonError(text);
  return error === null ? null : `${error.line}:${error.column} ${error.message}`;
}

Deno.test("an error in JSON is reported with its line and column", () => {
  const table: [text: string, error: string][] = [
    ["", "1:1 the text ends too early"],
    [" \n ", "2:2 the text ends too early"],
    ["{", "1:2 the text ends too early"],
    ['{"a": 1', "1:8 the text ends too early"],
    ['{"rules": [\n  {"host": "exam', "2:17 the text ends too early"],
    ['"a\\', "1:4 the text ends too early"],
    ['"a\\u12', "1:7 the text ends too early"],
    ["[tru", "1:5 the text ends too early"],
    ["-", "1:2 the text ends too early"],
    ['{"a" 1}', '1:6 ":" is expected'],
    ['{"a": 1 "b": 2}', '1:9 "," or "}" is expected'],
    ['{\n  "a": 1,\n}', "3:1 a field's name in double quotes is expected"],
    ["{a: 1}", '1:2 a field\'s name in double quotes or "}" is expected'],
    ["{'a': 1}", '1:2 a field\'s name in double quotes or "}" is expected'],
    ["[1,]", "1:4 a value is expected"],
    ["[,]", '1:2 a value or "]" is expected'],
    ["[1 2]", '1:4 "," or "]" is expected'],
    ["[1}", '1:3 "," or "]" is expected'],
    ["{}}", "1:3 nothing more is expected"],
    ["[01]", '1:3 "," or "]" is expected'],
    ["[+1]", '1:2 a value or "]" is expected'],
    ["[NaN]", '1:2 a value or "]" is expected'],
    ["[1.]", '1:3 "," or "]" is expected'],
    ['["a\nb"]', "1:4 a string may not hold a control character"],
    ['["a\\x"]', "1:4 an escape is broken"],
    ['["\\u12g4"]', "1:3 an escape is broken"],
    ["// why\n{}", "1:1 a value is expected"],
    ["\ufeff{}", "1:1 a value is expected"],
  ];
  for (const [text, error] of table) assert.equal(describe(text), error, JSON.stringify(text));
});

Deno.test("an error is reported exactly where JSON.parse rejects the text", () => {
  const whole = '{"a": [1, -2.5e+7, true, null, {"b\\u00e9\\n": "x"}], "c": {}, "d": [], "e": 0}';
  const bytes = '{}[]",:\\tn0-.eE u\n\u0001';
  const isJson = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  let refused = 0;
  const compare = (text: string) => {
    if (!isJson(text)) refused++;
    assert.equal(describe(text) === null, isJson(text), JSON.stringify(text));
  };
  compare(whole);
  for (let at = 0; at <= whole.length; at++) {
    assert.equal(locateJsonError(whole.slice(0, at))?.endsEarly ?? true, true, `cut at ${at}`);
    compare(whole.slice(0, at) + whole.slice(at + 1));
    for (const byte of bytes) {
      compare(whole.slice(0, at) + byte + whole.slice(at));
      compare(whole.slice(0, at) + byte + whole.slice(at + 1));
    }
  }
  assert.ok(refused > 1000);
});

Deno.test("deep and long texts are parsed to their end", () => {
  assert.equal(describe("[".repeat(1_000_000)), "1:1000001 the text ends too early");
  assert.equal(describe(`["${"a".repeat(5_000_000)}"`), "1:5000004 the text ends too early");
  assert.equal(describe('{"a":'.repeat(100_000) + "]"), "1:500001 a value is expected");
});
