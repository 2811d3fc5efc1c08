import assert from "node:assert/strict";
import { ALL_FIELDS, parseFields } from "./options.ts";

Deno.test("fields are chosen by their names, in any order", () => {
  assert.deepEqual(parseFields("status"), ["status"]);
  assert.deepEqual(parseFields("status, path,time"), ["status", "path", "time"]);
  assert.deepEqual(parseFields(ALL_FIELDS.join(",")), ALL_FIELDS);
});

Deno.test("a field that is unknown, empty or named twice is rejected with a remedy", () => {
  const cases: readonly [text: string, wrong: RegExp][] = [
    ["time,statsu", /^"statsu" is no field of the access log; did you mean status\?$/],
    ["Status", /^"Status" is no field of the access log; did you mean status\?$/],
    ["time,", /^"" is no field of the access log; the fields are time, log, /],
    ["constructor", /^"constructor" is no field of the access log; the fields are time, log, /],
    ["time,path,time", /^"time" is in it twice$/],
  ];
  for (const [text, wrong] of cases) {
    const parsed = parseFields(text);
    assert.ok(typeof parsed === "string", text);
    assert.match(parsed, wrong);
  }
});
