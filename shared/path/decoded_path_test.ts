import assert from "node:assert/strict";
import { canonicalPath } from "./canonical_path.ts";
import { decodedPath, escapedPath } from "./decoded_path.ts";

Deno.test("a decoded path is nginx's $uri", () => {
  const paths: Readonly<Record<string, string | null>> = {
    "/": "/",
    "/a/b": "/a/b",
    "//a///b//": "/a/b/",
    "/./a/.": "/a/",
    "/a/b/..": "/a/",
    "/a//../b": "/b",
    "/a/b%2fc/../d": "/a/b/d",
    "/x%2f..%2fa": "/a",
    "/%2e%2E/a": null,
    "/..": null,
    "//..": null,
    "/a/../..": null,
    "/a/...": "/a/...",
    "/.a/..b": "/.a/..b",
    "/%61%2520": "/a%20",
    "/a%3Fb%23c%5C%20": "/a?b#c\\ ",
    "/%C3%A9": "/\xc3\xa9",
    "/a;b": "/a;b",
    "/a%00": null,
    "/a%4": null,
    "/a%zz": null,
  };
  for (const [received, decoded] of Object.entries(paths)) {
    assert.equal(decodedPath(received), decoded, received);
  }
});

Deno.test("a path that is escaped again is canonical, and decodes to the same", () => {
  const all = Array.from({ length: 0x5f }, (_, i) => String.fromCharCode(0x20 + i)).join("");
  const decoded = `/x${all}\xc3\xa9\xff`;
  const escaped = escapedPath(decoded);
  const canonical = canonicalPath(escaped);
  assert.deepEqual(canonical, { ok: true, path: escaped });
  assert.equal(decodedPath(escaped), decoded);
});

Deno.test("a path that leads above the root ends there for servers that stay at the root", () => {
  const paths: Readonly<Record<string, string | null>> = {
    "/..%2fp": "/p",
    "/..": "/",
    "/a/../../b/../../p": "/p",
    "/x%2f..%2f..%2fp/.": "/p/",
    "/a/../p": "/p",
    "/a%00": null,
  };
  for (const [path, decoded] of Object.entries(paths)) {
    assert.equal(decodedPath(path, true), decoded, path);
  }
});
