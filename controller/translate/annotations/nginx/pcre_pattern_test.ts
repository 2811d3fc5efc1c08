import assert from "node:assert/strict";
import { regexLocation } from "./location.ts";
import { readPcre } from "./pcre_pattern.ts";

/** By path what its location takes, and what it does not. */
const LOCATIONS: Readonly<Record<string, readonly [takes: string[], leaves: string[]]>> = {
  "/": [["/", "/a"], []],
  "/api": [["/api", "/API/x", "/apix"], ["/ap", "/x/api"]],
  "/api(/|$)(.*)": [["/api", "/Api/", "/api/x"], ["/apix"]],
  "/a|/b": [["/a", "/ax", "/x/b", "/b"], ["/x/a", "/c"]],
  "/a|^/b": [["/a", "/bx"], ["/x/b"]],
  "/(?:a|b)$": [["/a", "/B"], ["/a/", "/c"]],
  "/[a-c]+/[^X-Z]": [["/Cab/a"], ["/d/a", "/a/x", "/a/"]],
  "/[^/]+\\.html": [["/a.html", "/A.HTMLX"], ["/ahtml", "/a/b.html"]],
  "/v\\d{1,2}(?:/|$)": [["/v1", "/V12/x"], ["/v", "/v123"]],
  "/a b/\\?c?": [["/a%20b/%3F"], ["/a b/?", "/ab/"]],
  "/é": [["/%C3%A9", "/%C3%A9x"], ["/é"]],
  "/[{}]*x": [["/{}x", "/x"], ["/("]],
  "/a\\x2fb": [["/a/b"], ["/ab"]],
  "/\\bfoo\\b": [["/foo", "/foo/x"], ["/foox"]],
};

for (const [path, [takes, leaves]] of Object.entries(LOCATIONS)) {
  Deno.test(`the regular expression ${path} takes the paths that nginx gives it`, () => {
    const { match, fault } = regexLocation(path, "pingress");
    assert.equal(fault, null);
    const expression = new RegExp(`^(?:${match.value})$`);
    for (const one of takes) assert.ok(expression.test(one), `${one} ${match.value}`);
    for (const one of leaves) assert.ok(!expression.test(one), `${one} ${match.value}`);
  });
}

/** What cannot be taken over, with paths that must not fall to a broader route. */
const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  "/admin/(?=x)": ["/admin/x", "/ADMIN/"],
  "/admin/(?<!x)a": ["/admin/a"],
  "/admin(a)\\1": ["/adminaa"],
  "/admin/\\Aa": ["/admin/a"],
  "/admin/\\Qa.b\\E": ["/admin/a.b"],
  "/admin/\\h": ["/admin/%20"],
  "/admin/[[:alpha:]]": ["/admin/a"],
  "/admin/[]a]": ["/admin/]"],
  "/admin/a++": ["/admin/aa"],
  "/admin/(?>a)": ["/admin/a"],
  "/admin/(?i)a": ["/admin/a"],
  "/admin/(?#x)a": ["/admin/a"],
  "/admin/a{,3}": ["/admin/aa"],
  "/admin/a{17}": ["/admin/aaaaaaaaaaaaaaaaa"],
  "/admin/a{2,63}": ["/admin/aa"],
  "/admin/[é]": ["/admin/%C3%A9"],
  "/admins?(?=x)": ["/admin", "/adminsx"],
  "/a|/admin(?=/)": ["/a", "/x/admin/"],
  "/(a|/admin(?=/))|/b": ["/b", "/x/b"],
  // To PCRE the "|" is outside of all groups.
  "/a[](]|/b[])]": ["/x/b)"],
  "/a[[:alpha:](]|/b[[:alpha:])]": ["/x/b)"],
  "/a(?#()|/b[)]": ["/x/b)"],
  "/a(?#()|/b\\Q)\\E": ["/x/b)"],
  "/a\\Q(\\E|/b[)]": ["/x/b)"],
  "/a\\c(|/b\\c)": ["/x/bi"],
  "/a(?x)#(\n|/b[)]": ["/x/b)"],
  "/(": ["/a"],
  "/admin/*)": ["/admin"],
  '/admin/"': ["/admin/%22"],
  "/admin\\\\": ["/admin%5C"],
  [`/admin/${"(?:[a-z]{16}x){16}".repeat(4)}`]: ["/admin/a"],
  [`/admin/${"a".repeat(1025)}`]: ["/admin/".padEnd(1032, "a")],
};

for (const [path, taken] of Object.entries(UNSUPPORTED)) {
  Deno.test(`the unsupported expression ${path.slice(0, 40)} takes all that it may be meant for`, () => {
    const { match, fault } = regexLocation(path, "pingress");
    assert.notEqual(fault, null);
    const expression = new RegExp(`^(?:${match.value})$`);
    for (const one of taken) assert.ok(expression.test(one), `${one} ${match.value}`);
  });
}

Deno.test("an unsupported expression takes no path that does not begin as it does", () => {
  const starts: Readonly<Record<string, string>> = {
    "/admin/(?i)(a|b)": "/other",
    "/admin/(?i:a|b)": "/other",
    "/admin/(?P<n>a|b)\\1": "/other",
    "/admin/(?>a|[|])": "/adm",
    "/admin/\\|(?=x)": "/adm",
    "/admin+(?=x)": "/admi",
  };
  for (const [path, left] of Object.entries(starts)) {
    const { match, fault } = regexLocation(path, "pingress");
    assert.notEqual(fault, null);
    assert.ok(!new RegExp(`^(?:${match.value})$`).test(left), `${left} ${match.value}`);
  }
});

Deno.test("groups are searched as nginx searches them, whatever the case", () => {
  const searches: readonly (readonly [pattern: string, text: string, groups: string[]])[] = [
    ["/api(/|$)(.*)", "/API/x/y", ["/", "x/y"]],
    ["/(?<name>[^/]+)/(b)?", "/A/c", ["A", ""]],
    ["/a/(.)|/(b)", "/x/B", ["", "B"]],
  ];
  for (const [pattern, text, groups] of searches) {
    const reading = readPcre(pattern, "pingress");
    assert.ok(reading.ok);
    const found = new RegExp(reading.pattern.search).exec(text);
    assert.deepEqual(found?.slice(1).map((group) => group ?? ""), groups);
  }
});

Deno.test("paths that differ in case alone are one expression", () => {
  assert.equal(
    regexLocation("/Files/A", "pingress").match.value,
    regexLocation("/fILES/a", "pingress").match.value,
  );
});

Deno.test("in the profile nginx, expressions are compared with decoded paths, byte by byte", () => {
  const locations: Readonly<Record<string, readonly [takes: string[], leaves: string[]]>> = {
    "/a b/\\?c?": [["/a b/?", "/A b/?c"], ["/a%20b/%3F", "/ab/"]],
    "/é": [["/\xc3\xa9", "/\xc3\xa9x"], ["/%C3%A9", "/\xe9"]],
    "/[é]$": [["/\xc3", "/\xa9"], ["/\xc3\xa9", "/e"]],
    "/é+$": [["/\xc3\xa9\xa9"], ["/\xc3\xa9\xc3\xa9"]],
    "/100%": [["/100%", "/100%25"], ["/100"]],
    "/\\s/[\\s]/[^\\S]$": [["/ / / "], ["/\xa0/ / ", "/ /\xa0/ ", "/ / /\xa0"]],
    "/a\\W": [["/a\xff", "/a%"], ["/ab"]],
  };
  for (const [path, [takes, leaves]] of Object.entries(locations)) {
    const { match, fault } = regexLocation(path, "nginx");
    assert.equal(fault, null, path);
    assert.ok(match.decoded);
    const expression = new RegExp(`^(?:${match.value})$`);
    for (const one of takes) assert.ok(expression.test(one), `${one} ${match.value}`);
    for (const one of leaves) assert.ok(!expression.test(one), `${one} ${match.value}`);
  }
});
