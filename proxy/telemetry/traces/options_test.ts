import assert from "node:assert/strict";
import { dialledHost, parseOtlpEndpoint } from "./options.ts";

Deno.test("an endpoint is http or https with a host, and gets the path of traces", () => {
  const cases: readonly [text: string, url: string | null, dialled?: string][] = [
    ["http://otel:4318", "http://otel:4318/v1/traces", "otel:4318"],
    ["http://otel:4318/", "http://otel:4318/v1/traces", "otel:4318"],
    ["http://otel:4318/v1/traces", "http://otel:4318/v1/traces", "otel:4318"],
    [
      "https://api.example.com/otlp",
      "https://api.example.com/otlp/v1/traces",
      "api.example.com:443",
    ],
    ["http://10.0.0.7", "http://10.0.0.7/v1/traces", "10.0.0.7:80"],
    ["http://[fd00::1]:4318", "http://[fd00::1]:4318/v1/traces", "[fd00::1]:4318"],
    ["HTTP://OTEL", "http://otel/v1/traces", "otel:80"],
    ["otel:4318", null],
    ["grpc://otel:4317", null],
    ["http://", null],
    ["http://user:password@otel:4318", null],
    ["http://otel:4318?a=b", null],
    ["http://otel:4318#a", null],
    ["http://otel:99999", null],
    ["http://a b", null],
  ];
  for (const [text, url, dialled] of cases) {
    assert.equal(parseOtlpEndpoint(text), url, text);
    if (url !== null) assert.equal(dialledHost(url), dialled);
  }
});
