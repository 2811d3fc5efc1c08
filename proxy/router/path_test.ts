import assert from "node:assert/strict";
import type { RouteMatch } from "../../shared/snapshot/types.ts";
import { PathTrees } from "./path.ts";
import { compilePattern } from "./patterns/pattern.ts";

const prefix = (value: string): RouteMatch => ({ path: { type: "Prefix", value } });
const exact = (value: string): RouteMatch => ({ path: { type: "Exact", value } });

Deno.test("hosts with the same paths share a tree, which is removed with the last of them", () => {
  const trees = new PathTrees(compilePattern);
  const one = trees.take([prefix("/"), exact("/a")]);
  const two = trees.take([prefix("/"), exact("/a")]);
  assert.equal(one, two);
  trees.release(one);
  assert.equal(trees.take([prefix("/"), exact("/a")]), two);
  trees.release(two);
  trees.release(two);
  assert.equal(trees.size, 0);
});

Deno.test("paths that differ in type, order or number do not share a tree", () => {
  const trees = new PathTrees(compilePattern);
  const lists = [
    [prefix("/a")],
    [exact("/a")],
    [prefix("/a"), prefix("/b")],
    [prefix("/b"), prefix("/a")],
    [{ ...prefix("/a"), method: "GET" }],
    [{ ...prefix("/a"), method: "POST" }],
  ];
  const taken = new Set(lists.map((matches) => trees.take(matches)));
  assert.equal(taken.size, lists.length);
});
