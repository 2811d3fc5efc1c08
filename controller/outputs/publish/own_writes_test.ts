import assert from "node:assert/strict";
import { ObjectStore } from "../../kube/store.ts";
import type { KubeObject } from "../../kube/types.ts";
import { OwnWrites } from "./own_writes.ts";

interface Noted extends KubeObject {
  readonly note: string;
}

function object(name: string, resourceVersion: string, note: string, uid = "1"): Noted {
  return { metadata: { name, namespace: "here", resourceVersion, uid }, note };
}

function scene(): { store: ObjectStore<Noted>; own: OwnWrites<Noted>; shown: () => string[] } {
  const store = new ObjectStore<Noted>();
  const own = new OwnWrites<Noted>(store, "here");
  const shown = () =>
    [...own.list()].map(([name, { object, version }]) => `${name} ${version} ${object.note}`);
  return { store, own, shown };
}

Deno.test("a write is visible at once, and is replaced by later watch events", () => {
  const { store, own, shown } = scene();
  store.put(object("a", "9", "old"));
  own.wrote(object("a", "10", "ours"));
  own.wrote(object("b", "11", "new"));
  assert.deepEqual(shown(), ["a 10 ours", "b 11 new"]);
  store.put(object("a", "10", "ours"));
  store.put(object("a", "12", "theirs"));
  assert.deepEqual(shown(), ["a 12 theirs", "b 11 new"]);
});

Deno.test("a watch event with only a newer version is enough", () => {
  const { store, own, shown } = scene();
  store.put(object("a", "9", "same"));
  own.wrote(object("a", "10", "same"));
  store.put(object("a", "11", "same"));
  assert.deepEqual(shown(), ["a 11 same"]);
});

Deno.test("a deletion by us is visible at once, a different object of that name stays", () => {
  const { store, own, shown } = scene();
  const old = object("a", "9", "old");
  store.put(old);
  own.deleted(old);
  assert.deepEqual(shown(), []);
  store.put(object("a", "10", "still there", "1"));
  assert.deepEqual(shown(), []);
  store.put(object("a", "12", "another", "2"));
  assert.deepEqual(shown(), ["a 12 another"]);
});

Deno.test("a deletion by somebody else is visible, also right after our own write", () => {
  const { store, own, shown } = scene();
  store.put(object("a", "9", "old"));
  own.wrote(object("a", "10", "ours"));
  store.remove("here", "a");
  assert.deepEqual(shown(), []);
});

Deno.test("a deletion by somebody else is visible, even if our write's response arrives last", () => {
  const { store, own, shown } = scene();
  store.put(object("a", "10", "ours"));
  store.remove("here", "a");
  own.wrote(object("a", "10", "ours"));
  assert.deepEqual(shown(), []);
  own.wrote(object("a", "12", "made anew", "2"));
  assert.deepEqual(shown(), ["a 12 made anew"]);
});

Deno.test("a deletion that no watch reports is visible by the next list that is newer than our write", () => {
  const { store, own, shown } = scene();
  own.wrote(object("a", "10", "ours"));
  own.wrote(object("b", "12", "ours"));
  store.replace([], "elsewhere", "20");
  assert.deepEqual(shown(), ["a 10 ours", "b 12 ours"], "a list of another namespace");
  store.replace([], "here", "9");
  assert.deepEqual(shown(), ["a 10 ours", "b 12 ours"], "a list from before the write");
  store.replace([], "here", "11");
  assert.deepEqual(shown(), ["b 12 ours"]);
  store.replace([], "here", "12");
  assert.deepEqual(shown(), []);
  own.wrote(object("a", "13", "made anew", "2"));
  assert.deepEqual(shown(), ["a 13 made anew"]);
});

Deno.test("after a conflict only the watch counts, and other namespaces never do", () => {
  const { store, own, shown } = scene();
  store.put(object("a", "9", "old"));
  store.put({ metadata: { name: "b", namespace: "there", resourceVersion: "1" }, note: "x" });
  own.wrote(object("a", "10", "ours"));
  own.forget();
  assert.deepEqual(shown(), ["a 9 old"]);
});

Deno.test("once closed, it receives no events of the store", () => {
  const { store, own, shown } = scene();
  store.put(object("a", "9", "old"));
  own.wrote(object("a", "10", "ours"));
  own.close();
  store.remove("here", "a");
  assert.deepEqual(shown(), ["a 10 ours"]);
});
