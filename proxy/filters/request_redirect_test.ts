import assert from "node:assert/strict";
import { redirectedUrl, type RequestRedirect } from "./request_redirect.ts";

const REQUESTED = { host: "a.test", path: "/foo/bar", query: "?q=1" };

type Change = Partial<Pick<RequestRedirect, "scheme" | "host" | "port" | "path">>;

function urlOf(change: Change, request: Partial<typeof REQUESTED> = {}): string {
  return redirectedUrl(
    { kind: "request-redirect", status: 302, scheme: "http", ...change },
    { ...REQUESTED, ...request },
  );
}

Deno.test("a redirect changes what it names of the URL, and keeps the rest and the query", () => {
  const cases: readonly [change: Change, url: string][] = [
    [{}, "http://a.test/foo/bar?q=1"],
    [{ host: "b.test" }, "http://b.test/foo/bar?q=1"],
    [{ scheme: "https" }, "https://a.test/foo/bar?q=1"],
    [{ scheme: "https", port: 443 }, "https://a.test/foo/bar?q=1"],
    [{ scheme: "https", port: 80 }, "https://a.test:80/foo/bar?q=1"],
    [{ port: 80 }, "http://a.test/foo/bar?q=1"],
    [{ port: 8080 }, "http://a.test:8080/foo/bar?q=1"],
    [{ path: { value: "/other" } }, "http://a.test/other?q=1"],
  ];
  for (const [change, url] of cases) assert.equal(urlOf(change), url);
});

// The table of HTTPPathModifier in the API's reference.
Deno.test("the prefix that a route matches is replaced by whole segments", () => {
  const cases: readonly [path: string, prefix: string, value: string, to: string][] = [
    ["/foo/bar", "/foo", "/xyz", "/xyz/bar"],
    ["/foo/bar", "/foo", "/xyz/", "/xyz/bar"],
    ["/foo/bar", "/foo/", "/xyz", "/xyz/bar"],
    ["/foo/bar", "/foo/", "/xyz/", "/xyz/bar"],
    ["/foo", "/foo", "/xyz", "/xyz"],
    ["/foo/", "/foo", "/xyz", "/xyz/"],
    ["/foo/bar", "/foo", "/", "/bar"],
    ["/foo/", "/foo", "/", "/"],
    ["/foo", "/foo", "/", "/"],
    ["/foo", "/", "/xyz", "/xyz/foo"],
    ["/", "/", "/xyz", "/xyz/"],
  ];
  for (const [path, prefix, value, to] of cases) {
    const url = urlOf({ path: { value, prefix } }, { path, query: "" });
    assert.equal(url, `http://a.test${to}`, `${path}: ${prefix} becomes ${value}`);
  }
});

Deno.test("a request without a host is redirected to a path of the same one", () => {
  assert.equal(urlOf({}, { host: "", path: "//evil.test/a" }), "/evil.test/a?q=1");
  assert.equal(urlOf({ host: "b.test" }, { host: "" }), "http://b.test/foo/bar?q=1");
});
