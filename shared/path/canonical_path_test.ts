import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import { canonicalPath, isCanonicalPath } from "./canonical_path.ts";

const accepted: [raw: string, canonical: string, why: string][] = [
  ["/", "/", "the root"],
  ["/a/b", "/a/b", "a plain path"],
  ["/a/b/", "/a/b/", "a last slash stays"],
  ["/.", "/", "a dot segment at the end"],
  ["/./", "/", "a dot segment"],
  ["/a/./b", "/a/b", "a dot segment inside"],
  ["/a/.", "/a/", "a last dot leaves the slash"],
  ["/a/b/..", "/a/", "a last double dot leaves the slash"],
  ["/a/../b", "/b", "a double dot"],
  ["/a/b/../../c", "/c", "two double dots"],
  ["/a/..", "/", "back to the root"],
  ["/a//../b", "/a/b", "a double dot takes back an empty segment (RFC 3986 §5.2.4)"],
  ["/a/%2e%2E/b", "/b", "an escaped double dot"],
  ["/a/.%2e/b", "/b", "a half-escaped double dot"],
  ["/a/%2e/b", "/a/b", "an escaped dot"],
  ["/...", "/...", "three dots are a name"],
  ["/.well-known/x", "/.well-known/x", "a leading dot is a name"],
  ["/a../b", "/a../b", "dots at the end of a name"],
  ["/..;/admin", "/..;/admin", "a parameter makes it a name"],
  ["/..%2Fadmin", "/..%2Fadmin", "an escaped slash does not end a segment"],
  ["/a%2fb", "/a%2Fb", "an escaped slash stays escaped, upper case"],
  ["/a%5cb", "/a%5Cb", "an escaped backslash stays escaped"],
  ["//a///b//", "//a///b//", "empty segments stay"],
  ["/%41%7a%30%2d%5f%7E", "/Az0-_~", "unreserved characters are decoded"],
  ["/%c3%a9", "/%C3%A9", "UTF-8 stays escaped"],
  ["/%c0%ae%c0%ae/", "/%C0%AE%C0%AE/", "an overlong dot is no dot"],
  ["/%252e%252e/", "/%252e%252e/", "decoded once, never twice"],
  ["/%20%22%3f%23", "/%20%22%3F%23", "reserved characters stay escaped"],
  ['/"<>^{|}`', '/"<>^{|}`', "visible ASCII stays as it is"],
  ["/a:b@c!$&'()*+,;=", "/a:b@c!$&'()*+,;=", "sub-delimiters stay raw"],
  ["/%3a%40", "/%3A%40", "escaped sub-delimiters stay escaped"],
];

Deno.test("each path has one canonical form", async (t) => {
  for (const [raw, canonical, why] of accepted) {
    await t.step(`${why}: ${raw}`, () => {
      assert.deepEqual(canonicalPath(raw), { ok: true, path: canonical });
      assert.equal(isCanonicalPath(raw), raw === canonical);
    });
  }
});

const refused: [raw: string, reason: string][] = [
  ["", "does not begin with a slash"],
  ["a", "does not begin with a slash"],
  ["*", "does not begin with a slash"],
  ["%2Fa", "does not begin with a slash"],
  ["/..", "leads above the root"],
  ["/../a", "leads above the root"],
  ["/a/../../b", "leads above the root"],
  ["/%2e%2e/a", "leads above the root"],
  ["/a/../..", "leads above the root"],
  ["/./../a", "leads above the root"],
  ["/a%", "has a broken escape at byte 2"],
  ["/a%4", "has a broken escape at byte 2"],
  ["/a%zz", "has a broken escape at byte 2"],
  ["/a%4g", "has a broken escape at byte 2"],
  ["/a%g4", "has a broken escape at byte 2"],
  ["/%%41", "has a broken escape at byte 1"],
  ["/%+1", "has a broken escape at byte 1"],
  ["/%00", "has an escaped control byte at byte 1"],
  ["/%0d%0a", "has an escaped control byte at byte 1"],
  ["/%1F", "has an escaped control byte at byte 1"],
  ["/%7f", "has an escaped control byte at byte 1"],
  ["/a b", "has a space at byte 2"],
  ["/a\\..\\b", "has a backslash at byte 2"],
  ["/a#b", "has a fragment at byte 2"],
  ["/a?b", "has a query at byte 2"],
  ["/\u0000", "has a control byte at byte 1"],
  ["/\t", "has a control byte at byte 1"],
  ["/\u007f", "has a control byte at byte 1"],
  ["/\u0080", "has a character above ASCII at byte 1"],
  ["/é", "has a character above ASCII at byte 1"],
  ["/\ud800", "has a character above ASCII at byte 1"],
];

Deno.test("an ambiguous path is rejected", async (t) => {
  for (const [raw, reason] of refused) {
    await t.step(`${JSON.stringify(raw)} ${reason}`, () => {
      assert.deepEqual(canonicalPath(raw), { ok: false, reason });
      assert.equal(isCanonicalPath(raw), false);
    });
  }
});

Deno.test("every byte, raw and escaped, has one outcome", () => {
  for (let byte = 0; byte < 256; byte++) {
    const character = String.fromCharCode(byte);
    const hex = byte.toString(16).padStart(2, "0");
    const visible = byte > 0x20 && byte < 0x7f;
    const raw = canonicalPath(`/x${character}y`);
    assert.equal(raw.ok, visible && !"\\#?%".includes(character), `raw ${hex}`);
    if (raw.ok) assert.equal(raw.path, `/x${character}y`);

    const escaped = canonicalPath(`/x%${hex}y`);
    assert.equal(escaped.ok, byte >= 0x20 && byte !== 0x7f, `escaped ${hex}`);
    if (escaped.ok) {
      const unreserved = /[A-Za-z0-9._~-]/.test(character);
      assert.equal(escaped.path, unreserved ? `/x${character}y` : `/x%${hex.toUpperCase()}y`);
    }
  }
});

Deno.test("a canonical path is its own canonical form, and has no dot segment", () => {
  const pieces = [
    "/",
    "/",
    ".",
    "..",
    "%2e",
    "%2E",
    "%2f",
    "%5C",
    "%25",
    "2e",
    "a",
    "%61",
    ";",
    "é",
  ];
  const random = new Random(42);
  let taken = 0;
  for (let round = 0; round < 50_000; round++) {
    let raw = "/";
    for (let i = random.below(9); i > 0; i--) raw += random.pick(pieces);
    const once = canonicalPath(raw);
    assert.equal(isCanonicalPath(raw), once.ok && once.path === raw, raw);
    if (!once.ok) continue;
    taken++;
    assert.deepEqual(canonicalPath(once.path), once, raw);
    assert.equal(isCanonicalPath(once.path), true, raw);
    assert.equal(once.path.split("/").some((s) => s === "." || s === ".."), false, raw);
  }
  assert.ok(taken > 20_000, "most of the paths are to be good ones");
});

Deno.test("a long hostile path is processed completely", () => {
  const half = 512 * 1024;
  assert.deepEqual(canonicalPath("/".repeat(half)), { ok: true, path: "/".repeat(half) });
  assert.deepEqual(canonicalPath("/a".repeat(half) + "/..".repeat(half)), { ok: true, path: "/" });
  assert.deepEqual(canonicalPath("/%2e".repeat(half)), { ok: true, path: "/" });
  assert.deepEqual(canonicalPath("/" + "%61".repeat(half)), {
    ok: true,
    path: "/" + "a".repeat(half),
  });
});

Deno.test("slashes are merged before dot segments are resolved, if enabled", () => {
  const merge = { mergeSlashes: true, refuseEscapedSlashes: false };
  const table = [
    ["/", "/"],
    ["//", "/"],
    ["//admin", "/admin"],
    ["///a////b//", "/a/b/"],
    ["/a//../b", "/b"],
    ["/a/.//b", "/a/b"],
    ["//%61dmin", "/admin"],
    ["/%2e//x", "/x"],
    ["/a%2f/b", "/a%2F/b"],
    ["/a%2F%2Fb", "/a%2F%2Fb"],
  ];
  for (const [raw, path] of table) {
    assert.deepEqual(canonicalPath(raw, merge), { ok: true, path }, raw);
    assert.deepEqual(canonicalPath(path, merge), { ok: true, path }, raw);
  }
  assert.deepEqual(canonicalPath("//../a", merge), { ok: false, reason: "leads above the root" });
  assert.deepEqual(canonicalPath("/".repeat(1 << 20), merge), { ok: true, path: "/" });
});

Deno.test("escaped slashes and backslashes are rejected if enabled, in any case", () => {
  const refuse = { mergeSlashes: false, refuseEscapedSlashes: true };
  const reason = "has an escaped slash or backslash";
  for (
    const raw of ["/a%2fb", "/a%2Fb", "/a%5cb", "/a%5C", "/%61/%2f", "/x%2f/../y", "/%252f%2f"]
  ) {
    assert.deepEqual(canonicalPath(raw, refuse), { ok: false, reason }, raw);
  }
  for (const raw of ["/", "/a%20b", "/%252f", "/%255C", "//a", "/2F/5C"]) {
    assert.deepEqual(canonicalPath(raw, refuse), canonicalPath(raw), raw);
  }
});
