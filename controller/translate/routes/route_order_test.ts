import assert from "node:assert/strict";
import type { RouteMatch } from "../../../shared/snapshot/types.ts";
import { compareRoutes } from "./route_order.ts";

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
