/** Which form a local reply takes, by Accept. */
import assert from "node:assert/strict";
import { ACCEPT_BYTES, prefersJson } from "./accept.ts";

const CASES: readonly (readonly [lines: readonly string[], json: boolean])[] = [
  [[], false],
  [[""], false],
  [["*/*"], false],
  [["text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"], false],
  [["application/json"], true],
  [["Application/JSON"], true],
  [["application/*"], true],
  [["application/json, text/plain, */*"], true],
  [["text/plain, application/json"], true],
  [["image/png", "application/json"], true],
  [["application/json;q=0.5, */*;q=0.1"], true],
  [["application/json ; q=0.5 , text/*;q=0.4"], true],
  [["application/json;q=0.5, */*"], false],
  [["application/json;q=0.5, text/*;q=0.6"], false],
  [["application/json;q=0.9, text/plain"], false],
  // The most specific range gives a form's weight.
  [["application/json;q=0.5, text/plain;q=0.1, */*"], true],
  [["application/json;q=0.1, application/*, text/plain;q=0.5"], false],
  [["application/json;q=0.1, application/json;q=0.9, text/plain;q=0.5"], true],
  [["application/json;q=0"], false],
  [["application/json;q=0.000, text/plain;q=0"], false],
  // Odd, so text.
  [["application/json;q=2"], false],
  [["application/json;q=0.1234"], false],
  [["application/json;q="], false],
  [["application/json;charset=utf-8"], false],
  [["application/json;q=1;q=1"], false],
  [['application/json;"'], false],
  [["application/jsonp"], false],
  [["constructor"], false],
];

for (const [lines, json] of CASES) {
  Deno.test(`Accept: ${lines.join(" | ")} gets ${json ? "JSON" : "text"}`, () => {
    assert.equal(prefersJson(lines), json);
  });
}

Deno.test("Accept is read up to its limit over all lines, without an element that the limit cuts", () => {
  const json = "application/json";
  const upTo = (bytes: number) => "x".repeat(bytes - 1) + ",";
  assert.ok(prefersJson([upTo(ACCEPT_BYTES - json.length) + json]));
  assert.ok(!prefersJson([upTo(ACCEPT_BYTES - json.length + 1) + json]));
  assert.ok(prefersJson([upTo(ACCEPT_BYTES - json.length), json]));
  assert.ok(!prefersJson([upTo(ACCEPT_BYTES), json]));
  // Cut behind its first byte of a weight, it would count for more than it says.
  assert.ok(!prefersJson([upTo(ACCEPT_BYTES - json.length) + `${json};q=0`]));
});

Deno.test("lines beyond the limit are not read", () => {
  let fetched = 0;
  const lines = function* () {
    for (;;) {
      fetched++;
      yield ";".repeat(ACCEPT_BYTES / 2);
    }
  };
  assert.ok(!prefersJson(lines()));
  assert.equal(fetched, 2);
});
