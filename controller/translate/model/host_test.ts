import assert from "node:assert/strict";
import { readHost, readRuleHost } from "./host.ts";

Deno.test("a rule without a host applies to any host", () => {
  for (const value of [undefined, null, ""]) {
    assert.deepEqual(readRuleHost(value), { ok: true, host: "*", normalised: false });
  }
});

Deno.test("hosts become the corresponding pattern", () => {
  const cases: readonly [string, string][] = [
    ["app.example.com", "app.example.com"],
    ["*.example.com", "*.example.com"],
    ["localhost", "localhost"],
    ["App.Example.com", "app.example.com"],
    ["app.example.com.", "app.example.com"],
    ["10.0.0.300", "10.0.0.300"],
    ["1.2.3", "1.2.3"],
  ];
  for (const [written, host] of cases) {
    assert.deepEqual(readHost(written), { ok: true, host, normalised: host !== written });
  }
});

Deno.test("an invalid host is rejected with a reason", () => {
  const cases: readonly [unknown, RegExp][] = [
    ["*", /no domain after the asterisk/],
    ["a.*.com", /star/],
    ["*a.com", /star/],
    ["*.*.com", /star/],
    ["*.", /star/],
    ["10.0.0.1", /IP address/],
    ["010.00.0.1", /IP address/],
    ["10.0.0.1.", /IP address/],
    ["::1", /IP address/],
    ["[::1]", /IP address/],
    ["example.com:80", /port/],
    ["a..b", /label/],
    [".", /empty/],
    ["-a.com", /label/],
    ["a_b.com", /label/],
    ["a b.com", /label/],
    ["a.com\n", /label/],
    ["\u212aelvin.com", /label/],
    [`${"a".repeat(250)}.com`, /longer/],
    [5, /number 5/],
    [["a.com"], /a list/],
    [{}, /an object/],
  ];
  for (const [written, reason] of cases) {
    const reading = readHost(written);
    assert.ok(!reading.ok, `${written}`);
    assert.match(reading.reason, reason);
  }
});
