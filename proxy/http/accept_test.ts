/** Which form a local reply takes, by Accept. */
import assert from "node:assert/strict";
import { ACCEPT_BYTES, prefersJson, prefersOpenMetrics } from "./accept.ts";

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

const SCRAPERS: readonly (readonly [accept: string, openMetrics: boolean])[] = [
  // Prometheus 2.42, and 3.5 with and without native histograms.
  [
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75," +
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    true,
  ],
  [
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5," +
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;" +
    "escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
    true,
  ],
  [
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;" +
    "q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5," +
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;" +
    "escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
    true,
  ],
  ["application/openmetrics-text", true],
  ['Application/OpenMetrics-Text; version="1.0.0"; charset=utf-8', true],
  ["text/plain;version=0.0.4;q=0.5, application/openmetrics-text;q=0.5", true],
  ["", false],
  ["*/*", false],
  ["application/*", false],
  ["text/plain;version=0.0.4", false],
  ["text/plain, application/openmetrics-text;q=0.9", false],
  ["application/openmetrics-text;version=0.0.1", false],
  ["application/openmetrics-text;version=2.0.0", false],
  ["application/openmetrics-text;q=0", false],
  ["application/openmetrics-text;q=2", false],
  ["application/openmetrics-text;q=1;q=1", false],
];

for (const [accept, openMetrics] of SCRAPERS) {
  Deno.test(`Accept: ${accept} gets metrics as ${openMetrics ? "OpenMetrics" : "text"}`, () => {
    assert.equal(prefersOpenMetrics([accept]), openMetrics);
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
