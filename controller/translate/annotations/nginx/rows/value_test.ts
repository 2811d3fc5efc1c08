/** Values of annotations as they are written, and what they mean; null for those that are invalid. */
import assert from "node:assert/strict";
import { parseTemplate, URL_TEMPLATE } from "./template.ts";
import {
  BOOL,
  int,
  LINE,
  listOf,
  NETWORKS,
  objectName,
  ON_OFF,
  oneOf,
  REDIRECT_PATH,
  REDIRECT_TARGET,
  REDIRECT_URL,
  redirectCode,
  SIZE,
  STATUS_CODES,
  type ValueType,
} from "./value.ts";

const CASES: readonly (readonly [
  type: string,
  ValueType<unknown>,
  readonly (readonly [text: string, value: unknown])[],
])[] = [
  ["a boolean is one that Go reads", BOOL, [
    ["true", true],
    ["T", true],
    ["0", false],
    ["False", false],
    ["yes", null],
    ["tRUE", null],
    ["on", null],
  ]],
  ["on and off are not booleans", ON_OFF, [["on", true], ["off", false], ["true", null]]],
  ["an integer has no unit and no fraction", int(0), [
    ["10", 10],
    ["+5", 5],
    ["0", 0],
    ["-1", null],
    ["60s", null],
    ["1.5", null],
    ["1e3", null],
    ["99999999999", null],
    ["ten", null],
  ]],
  ["an integer stays in its range", int(300, 308), [["299", null], ["308", 308], ["309", null]]],
  ["a size has one of nginx's units", SIZE, [
    ["100", 100],
    ["64k", 65_536],
    ["8M", 8_388_608],
    ["1g", 2 ** 30],
    ["0", 0],
    ["8mb", null],
    ["8 m", null],
    ["-1", null],
  ]],
  ["networks are addresses and blocks, all of them valid", NETWORKS, [
    ["10.0.0.0/8", ["10.0.0.0/8"]],
    ["192.0.2.7", ["192.0.2.7/32"]],
    ["10.1.2.3/8 , ::1", ["10.0.0.0/8", "::1/128"]],
    ["0.0.0.0/0,::/0", ["0.0.0.0/0", "::/0"]],
    ["10.0.0.0/33", null],
    ["10.0.0.0/8,nonsense", null],
    ["10.0.0.0/8,", null],
    ["10.0.0/8", null],
    ["fe80::1%eth0", null],
    ["10.0.0.0/8/8", null],
    ["010.0.0.1", null],
    ["*", null],
  ]],
  ["a word is one of its list", oneOf(["HTTP", "GRPC"], { ignoreCase: true }), [
    ["grpc", "GRPC"],
    ["Http", "HTTP"],
    ["HTTPPS", null],
  ]],
  ["values are case-sensitive unless ignoreCase is set", oneOf(["any", "all"]), [["any", "any"], [
    "ANY",
    null,
  ]]],
  ["every element of a list is known", listOf(["error", "timeout"], " ", "failures"), [
    ["error  timeout", ["error", "timeout"]],
    ["error,timeout", null],
    [" ", null],
  ]],
  ["status codes have three digits", STATUS_CODES, [["404, 503", ["404", "503"]], ["4xx", null]]],
  ["a URL is http or https, with a host and without variables", REDIRECT_URL, [
    ["https://example.com/x?y=z", "https://example.com/x?y=z"],
    ["HTTP://[::1]:8080/#a", "HTTP://[::1]:8080/#a"],
    ...["//example.com/", "javascript:alert(1)", "https://a b/", "https:///a", "https://@a/"]
      .map((text) => [text, null] as const),
    ...["https://$host/", "https://a/é", "https://a/\r\nX: y", 'https://a/"', "https:/\\a"]
      .map((text) => [text, null] as const),
  ]],
  ["a path to redirect to is neither a host nor /", REDIRECT_PATH, [
    ["/a/?b=c", "/a/?b=c"],
    ...["/", "//a", "a", "https://a/", "/$a", "/a b", "/\\a", "/é"]
      .map((text) => [text, null] as const),
  ]],
  ["a URL to redirect to may be a path, but no other host", REDIRECT_TARGET, [
    ...["https://example.com/x?y=z", "/", "/a/?b=c"].map((text) => [text, text] as const),
    ...["//a", "/\\a", "a", "/$a", "/a b", "javascript:alert(1)"].map((text) =>
      [text, null] as const
    ),
  ]],
  ["a redirect has a code with a Location", redirectCode([301, 302]), [
    ["302", 302],
    ...["304", "0302", "+302", "302 "].map((text) => [text, null] as const),
  ]],
  ["a line has no control characters", LINE, [["a b", "a b"], ["a\nb", null], ["a\u0000", null]]],
  ["an object's name may have a namespace", objectName("Secret"), [
    ["users", { namespace: null, name: "users" }],
    ["default/users", { namespace: "default", name: "users" }],
    ["a/b/c", null],
    ["../users", null],
    ["Users", null],
  ]],
  ["an object's namespace may be required", objectName("Secret", { needsNamespace: true }), [
    ["default/ca", { namespace: "default", name: "ca" }],
    ["ca", null],
  ]],
];

for (const [name, type, values] of CASES) {
  Deno.test(name, () => {
    for (const [text, value] of values) assert.deepEqual(type.read(text), value, text);
  });
}

Deno.test("a template has literals and variables that are known", () => {
  assert.deepEqual(parseTemplate("https://$host/a?rd=${escaped_request_uri}&x=$arg_x"), [
    { kind: "literal", text: "https://" },
    { kind: "variable", name: "host" },
    { kind: "literal", text: "/a?rd=" },
    { kind: "variable", name: "escaped_request_uri" },
    { kind: "literal", text: "&x=" },
    { kind: "variable", name: "arg_x" },
  ]);
  for (const text of ["$", "a$", "$$", "${host", "$upstream_addr", "$pid", "a\nb", "${}"]) {
    assert.equal(parseTemplate(text), null, text);
  }
});

Deno.test("the scheme of an authentication URL cannot be a variable", () => {
  assert.ok(URL_TEMPLATE.read("https://$host/oauth2/auth") !== null);
  for (const text of ["$scheme://auth/", "auth.example.com", "https://", "off", "https://a b"]) {
    assert.equal(URL_TEMPLATE.read(text), null, text);
  }
});
