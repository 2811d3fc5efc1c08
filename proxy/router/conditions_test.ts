import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import { RequestHead } from "../http/message.ts";
import { fieldsOf } from "../http/fields.ts";
import type { RouteMatch } from "../../shared/snapshot/types.ts";
import { brokenMatch, Conditions } from "./conditions.ts";
import { type CompiledPattern, wholeText } from "./patterns/pattern.ts";
import { RequestView } from "./request_view.ts";

/** This process may have been started without V8's flags. */
function compileUnchecked(pattern: string): CompiledPattern {
  return { ok: true, matches: wholeText(pattern) };
}

interface Case {
  readonly says: string;
  readonly match: Omit<RouteMatch, "path">;
  /** Requests that it takes, and others. */
  readonly takes: readonly Request[];
  readonly leaves: readonly Request[];
}

interface Request {
  readonly method?: string;
  /** Latin-1, a character a byte. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly query?: string;
}

const header = (value: string, type: "Exact" | "Regex" = "Exact", name = "x-tag") => ({
  headers: [{ name, type, value }],
});
const parameter = (value: string, type: "Exact" | "Regex" = "Exact") => ({
  query: [{ name: "tag", type, value }],
});
const tag = (...values: string[]) => ({
  headers: values.map((value) => ["X-Tag", value] as const),
});

const CASES: readonly Case[] = [
  {
    says: "a method is compared with its case",
    match: { method: "GET" },
    takes: [{ method: "GET" }],
    leaves: [{ method: "get" }, { method: "HEAD" }, { method: "" }],
  },
  {
    says: "a header is found by its name in any case, and compared with its case",
    match: header("Beta"),
    takes: [tag("Beta"), { headers: [["x-TAG", "Beta"]] }],
    leaves: [tag("beta"), tag("Beta2"), tag(""), {}, { headers: [["X-Tag2", "Beta"]] }],
  },
  {
    says: "several lines of a header are one value, joined by commas",
    match: header("a,b"),
    takes: [tag("a", "b"), tag("a,b")],
    leaves: [tag("b", "a"), tag("a"), tag("b"), tag("a", "b", "c")],
  },
  {
    says: "several lines of Cookie are joined as RFC 9113 has it",
    match: header("a=1; b=2", "Exact", "cookie"),
    takes: [{ headers: [["Cookie", "a=1"], ["Cookie", "b=2"]] }],
    leaves: [{ headers: [["Cookie", "a=1,b=2"]] }],
  },
  {
    says: "a header's bytes beyond ASCII are UTF-8",
    match: header("grün"),
    takes: [tag("gr\xc3\xbcn")],
    leaves: [tag("gr\xfcn")],
  },
  {
    says: "an empty value is a value, and no header is none",
    match: header(""),
    takes: [tag("")],
    leaves: [{}],
  },
  {
    says: "a regular expression must match the whole value",
    match: header("v[12]|beta", "Regex"),
    takes: [tag("v1"), tag("beta")],
    leaves: [tag("v12"), tag("xv1"), tag("betas"), tag("v1", "v2"), {}],
  },
  {
    says: "the first parameter of a name is compared, decoded",
    match: parameter("a b&ü"),
    takes: [
      { query: "?tag=a+b%26%C3%BC" },
      { query: "?x=1&t%61g=a%20b%26%c3%bc&tag=other" },
    ],
    leaves: [
      { query: "?tag=other&tag=a+b%26%C3%BC" },
      { query: "?tag=a%2Bb%26%C3%BC" },
      { query: "?TAG=a+b%26%C3%BC" },
      { query: "" },
      { query: "?" },
    ],
  },
  {
    says: "a parameter without a value has an empty one",
    match: parameter(""),
    takes: [{ query: "?tag" }, { query: "?tag=" }, { query: "?a=b&tag&tag=1" }],
    leaves: [{ query: "?tag=1" }, { query: "?tags" }, { query: "" }],
  },
  {
    says: "an invalid escape is literal text",
    match: parameter("100%"),
    takes: [{ query: "?tag=100%" }, { query: "?tag=100%25" }],
    leaves: [{ query: "?tag=100" }],
  },
  {
    says: "a parameter's regular expression must match the whole value",
    match: parameter("[0-9]+", "Regex"),
    takes: [{ query: "?tag=12" }],
    leaves: [{ query: "?tag=12a" }, { query: "?tag=a12" }, { query: "?tag" }],
  },
  {
    says: "all conditions must hold",
    match: { method: "POST", ...header("a"), ...parameter("b") },
    takes: [{ method: "POST", ...tag("a"), query: "?tag=b" }],
    leaves: [
      { method: "GET", ...tag("a"), query: "?tag=b" },
      { method: "POST", ...tag("b"), query: "?tag=b" },
      { method: "POST", ...tag("a"), query: "?tag=a" },
    ],
  },
  {
    says: "the authority is the value of Host",
    match: header("app.example.com:8080", "Exact", "host"),
    takes: [{ headers: [[":authority", "app.example.com:8080"]] }],
    leaves: [{ headers: [["Host", "app.example.com:8080"]] }],
  },
];

function requestOf({ method = "GET", headers = [], query = "" }: Request): RequestView {
  const authority = headers.find(([name]) => name === ":authority")?.[1] ?? "";
  const request = new RequestHead(fieldsOf(headers.filter(([name]) => name !== ":authority")));
  return new RequestView(Object.assign(request, { method, query, authority }));
}

Deno.test("a request matches the conditions of a route", async (t) => {
  for (const { says, match, takes, leaves } of CASES) {
    await t.step(says, () => {
      const conditions = new Conditions(
        { path: { type: "Prefix", value: "/" }, ...match },
        compileUnchecked,
      );
      for (const request of takes) {
        assert.equal(conditions.hold(requestOf(request)), true, JSON.stringify(request));
      }
      for (const request of leaves) {
        assert.equal(conditions.hold(requestOf(request)), false, JSON.stringify(request));
      }
    });
  }
});

Deno.test("a query without escapes has the same parameters as in URLSearchParams", () => {
  const random = new Random(1);
  for (let i = 0; i < 2_000; i++) {
    const pieces = Array.from(
      { length: random.below(8) },
      () => random.pick(["a", "b", "=", "&", "?", "\xc3\xbc", "__proto__", "#", ";"]),
    );
    const query = `?${pieces.join("")}`;
    const expected = new URLSearchParams(query);
    const view = requestOf({ query });
    for (
      const name of ["", "a", "b", "ab", "?", "?a", "\xc3\xbc", "__proto__", ...expected.keys()]
    ) {
      assert.equal(view.parameter(name), expected.get(name), `${name} of ${query}`);
    }
  }
});

Deno.test("a header that the proxy drops does not match a condition either", () => {
  const fields = fieldsOf([["X-Tag", "a"], ["X-Tag", "b"], ["X-Other", "c"]]);
  const request = new RequestHead(fields);
  fields.drop(0);
  assert.equal(request.header("x-tag"), "b");
  fields.drop(1);
  assert.equal(request.header("x-tag"), null);
  assert.equal(request.header("x-other"), "c");
});

Deno.test("a pattern that does not compile matches every value, and is reported", () => {
  const refuse = (pattern: string) => ({ ok: false as const, reason: `${pattern} is refused` });
  const match: RouteMatch = { path: { type: "Prefix", value: "/" }, ...header("(a", "Regex") };
  const conditions = new Conditions(match, refuse);
  assert.equal(conditions.hold(requestOf(tag("anything"))), true);
  assert.equal(conditions.hold(requestOf({})), false);
  assert.equal(brokenMatch(match, refuse), "(a is refused");
  const path = { type: "Regex", value: "/(" } as const;
  assert.equal(brokenMatch({ path }, refuse), "/( is refused");
  assert.equal(brokenMatch({ ...match, headers: header("(a").headers }, refuse), null);
});
