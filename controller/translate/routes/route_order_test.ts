import assert from "node:assert/strict";
import type { RouteMatch } from "../../../shared/snapshot/types.ts";
import { compareRoutes } from "./route_order.ts";

function regex(written: string, value = `${written}.*`) {
  return {
    host: "regex.a.example.com",
    match: { path: { type: "Regex", value, written } },
  } as const;
}

const IN_ORDER: readonly { readonly host: string; readonly match: RouteMatch }[] = [
  { host: "a.example.com", match: { path: { type: "Prefix", value: "/" } } },
  { host: "b.example.com", match: { path: { type: "Exact", value: "/foo/" } } },
  { host: "b.example.com", match: { path: { type: "Exact", value: "/bar" } } },
  { host: "b.example.com", match: { path: { type: "Exact", value: "/foo" } } },
  { host: "b.example.com", match: { path: { type: "Prefix", value: "/bar" } } },
  { host: "b.example.com", match: { path: { type: "Prefix", value: "/foo" } } },
  { host: "b.example.com", match: { path: { type: "StringPrefix", value: "/bar" } } },
  { host: "b.example.com", match: { path: { type: "StringPrefix", value: "/foo" } } },
  { host: "b.example.com", match: { path: { type: "Exact", value: "/" } } },
  { host: "b.example.com", match: { path: { type: "Prefix", value: "/" } } },
  // As in ingress-nginx: first the longer in bytes, then the one that sorts later.
  regex("/f[o]obar"),
  regex("/foo/bar", "/foo/bar.*"),
  regex("/(é|f)x"),
  regex("/foo.ba"),
  regex("/a"),
  // What is below a path comes before it.
  regex("/Z", "/[zZ]/.*"),
  regex("/Z", "/[zZ].*"),
  { host: "*.a.example.com", match: { path: { type: "Prefix", value: "/" } } },
  { host: "*.example.com", match: { path: { type: "Prefix", value: "/long" } } },
  { host: "*", match: { path: { type: "Prefix", value: "/longer" } } },
  { host: "*", match: { path: { type: "Prefix", value: "/" } } },
];

Deno.test("any two routes have one order, whichever comes first in the comparison", () => {
  for (const [i, a] of IN_ORDER.entries()) {
    for (const [j, b] of IN_ORDER.entries()) {
      assert.equal(Math.sign(compareRoutes(a, b)), Math.sign(i - j), `${i} and ${j}`);
    }
  }
});
