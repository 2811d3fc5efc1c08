import assert from "node:assert/strict";
import { isLoopback, parseServiceMapping, parseTarget } from "./service_mapping.ts";

Deno.test("a mapping has a Service or one of its ports, and a target", () => {
  for (
    const [text, expected] of [
      ["default/web=127.0.0.1:3000", ["default", "web", null, ["127.0.0.1 3000"]]],
      ["a/b:http=[::1]:80", ["a", "b", "http", ["::1 80"]]],
      ["a/b:8080=localhost:3000", ["a", "b", "8080", ["127.0.0.1 3000", "::1 3000"]]],
    ] as const
  ) {
    const mapping = parseServiceMapping(text);
    if (typeof mapping === "string") throw new Error(mapping);
    const endpoints = mapping.target.endpoints.map(({ address, port }) => `${address} ${port}`);
    assert.deepEqual([mapping.namespace, mapping.name, mapping.port, endpoints], expected);
  }
});

Deno.test("an invalid mapping is reported with the syntax", () => {
  for (
    const text of ["web=127.0.0.1:3000", "default/web", "a/b/c=127.0.0.1:1", "", "a/b:=127.0.0.1:1"]
  ) {
    assert.match(
      String(parseServiceMapping(text)),
      /^of the form NAMESPACE\/SERVICE=HOST:PORT/,
      text,
    );
  }
  for (
    const host of [
      "3000",
      "example.com:80",
      "127.0.0.1",
      "127.0.0.1:0",
      "127.0.0.1:65536",
      "::1:80",
    ]
  ) {
    assert.match(
      String(parseServiceMapping(`default/web=${host}`)),
      /^a mapping to an IP address \(or localhost\) and a port/,
      host,
    );
  }
});

Deno.test("only loopback addresses are this machine", () => {
  assert.ok(isLoopback("127.0.0.1") && isLoopback("127.255.0.9") && isLoopback("::1"));
  for (const text of ["10.0.0.1", "127.example.com", "0.0.0.0", "::", "::ffff:127.0.0.1", ""]) {
    assert.ok(!isLoopback(text), text);
  }
});

Deno.test("spaces around a target are ignored", () => {
  assert.equal(parseTarget(" 127.0.0.1:80 ")?.text, "127.0.0.1:80");
});
