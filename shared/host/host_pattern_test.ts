import assert from "node:assert/strict";
import { parseHostPattern } from "./host_pattern.ts";

Deno.test("a host pattern is lower case without its trailing dot", () => {
  const accepted: [raw: string, host: string][] = [
    ["example.com", "example.com"],
    ["App.Example.COM.", "app.example.com"],
    ["*.Example.com", "*.example.com"],
    ["*", "*"],
    ["localhost", "localhost"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["a-b.c--d.1", "a-b.c--d.1"],
    ["10.0.0.1", "10.0.0.1"],
    [`${"a".repeat(100)}.com`, `${"a".repeat(100)}.com`],
    ["constructor", "constructor"],
  ];
  for (const [raw, host] of accepted) {
    assert.deepEqual(parseHostPattern(raw), { ok: true, host }, raw);
    assert.deepEqual(parseHostPattern(host), { ok: true, host }, host);
  }
});

Deno.test("an invalid host pattern is rejected with the reason", () => {
  const characters = "has a label with other than letters, digits and inner hyphens";
  const star = "has a star that is not its whole first label";
  const refused: [raw: string, reason: string][] = [
    ["", "is empty"],
    [".", "is empty"],
    ["example.com..", "has an empty label"],
    [".example.com", "has an empty label"],
    ["a..b", "has an empty label"],
    ["*.", star],
    ["*.*.com", star],
    ["a.*.com", star],
    ["*a.com", star],
    ["a_b.com", characters],
    ["-a.com", characters],
    ["a-.com", characters],
    ["a b", characters],
    ["example.com:80", characters],
    ["[::1]", characters],
    ["http://example.com", characters],
    ["bücher.example", characters],
    ["\u212aelvin.example", characters],
    ["a\r\nb", characters],
    ["a.".repeat(127) + "a", "is longer than 253 characters"],
    ["a".repeat(1024 * 1024), "is longer than 253 characters"],
  ];
  for (const [raw, reason] of refused) {
    assert.deepEqual(parseHostPattern(raw), { ok: false, reason }, raw);
  }
});
