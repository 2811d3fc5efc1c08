import assert from "node:assert/strict";
import { parseRequestedHeader, parseRequestedUrl } from "./requested_url.ts";

Deno.test("host and path are as sent by a client", () => {
  for (
    const [text, expected] of [
      ["https://app.example.com/path", "https app.example.com /path"],
      ["HTTP://App.Example.Com.:8080/A?b=c#d", "http app.example.com /A ?b=c"],
      ["app.example.com/api", "http app.example.com /api"],
      ["https://app.example.com", "https app.example.com /"],
      ["https://app.example.com?x=/y", "https app.example.com / ?x=/y"],
      ["http://a/b?x?y=ü+z#?no", "http a /b ?x?y=%C3%BC+z"],
      ["http://a/b#?no", "http a /b"],
      ["http://a/b/../c/%2e%2E//d", "http a /b/../c/%2e%2E//d"],
      ["http://a/ü", "http a /%C3%BC"],
      ["http://a/\ud800", "http a /%EF%BF%BD"],
      ["http://bücher.example/", "http xn--bcher-kva.example /"],
      ["http://[::1]:80/", "http [::1] /"],
      ["http://127.0.0.1/", "http 127.0.0.1 /"],
      ["ws://a/b", "http a /b"],
      ["WSS://a:8443/b", "https a /b"],
      ["grpc://a/x.Y/Z", "http a /x.Y/Z"],
      ["grpcs://a/x.Y/Z", "https a /x.Y/Z"],
    ]
  ) {
    const url = parseRequestedUrl(text);
    const { scheme, host, rawPath, query } = url!;
    assert.equal([scheme, host, rawPath, query].join(" ").trimEnd(), expected);
  }
});

Deno.test("a URL has the port that is written, also that of its scheme", () => {
  for (
    const [text, port] of [
      ["http://a/", null],
      ["http://a:80/", 80],
      ["https://a:443", 443],
      ["a:8080/x:1", 8080],
      ["http://[::1]/", null],
      ["http://[::1]:10042/", 10_042],
    ] as const
  ) {
    assert.equal(parseRequestedUrl(text)?.port, port, text);
  }
});

Deno.test("an invalid URL is rejected", () => {
  for (
    const text of [
      "",
      "/path",
      "http://",
      "ftp://a/b",
      "http://a:b:c/",
      "http://u:p@a/",
      "http://a b/",
    ]
  ) {
    assert.equal(parseRequestedUrl(text), null, text);
  }
});

Deno.test("a header is parsed as in curl", () => {
  assert.deepEqual(parseRequestedHeader("X-Beta: yes"), ["X-Beta", "yes"]);
  assert.deepEqual(parseRequestedHeader("X-Beta:a: b "), ["X-Beta", "a: b"]);
  assert.deepEqual(parseRequestedHeader("X-Beta:"), ["X-Beta", ""]);
  for (
    const text of ["", ":", ": yes", "X-Beta", "X Beta: yes", "X-Beta : yes", "X-Beta: a\r\nb: c"]
  ) {
    assert.equal(parseRequestedHeader(text), null, text);
  }
});
