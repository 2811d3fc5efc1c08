import assert from "node:assert/strict";
import { ObjectStore, type StoreChange } from "./store.ts";
import type { KubeMeta, KubeObject } from "./types.ts";

interface Thing extends KubeObject {
  readonly spec?: { readonly size: number };
  readonly status?: { readonly ready: boolean };
}

function thing(
  name: string,
  version: string,
  rest: Partial<Thing> = {},
  meta: Partial<KubeMeta> = {},
) {
  return {
    ...rest,
    metadata: { name, namespace: "a", resourceVersion: version, ...meta },
  } as Thing;
}

function scene(options = {}) {
  const store = new ObjectStore<Thing>(options);
  const changes: StoreChange<Thing>[] = [];
  store.subscribe((change) => changes.push(change));
  return { store, changes };
}

Deno.test("additions, changes and deletions are each reported once", () => {
  const { store, changes } = scene();
  store.put(thing("x", "1", { spec: { size: 1 } }));
  store.put(thing("x", "2", { spec: { size: 2 } }));
  store.put(thing("x", "2", { spec: { size: 2 } }));
  store.remove("a", "x");
  store.remove("a", "x");
  assert.deepEqual(
    changes.map(({ before, after }) => [before?.spec?.size, after?.spec?.size]),
    [[undefined, 1], [1, 2], [2, undefined]],
  );
});

Deno.test("an object with equal content stays the same, and its new resourceVersion is recorded", () => {
  const { store, changes } = scene();
  const first = thing("x", "1", { spec: { size: 1 } });
  store.put(first);
  store.put(thing("x", "2", { spec: { size: 1 } }));
  assert.equal(store.get("a", "x"), first);
  assert.equal(store.versionOf("a", "x"), "2");
  assert.equal(changes.length, 1);
});

Deno.test("a store that counts versions reports each one", () => {
  const { store, changes } = scene({ countsVersions: true });
  store.put(thing("x", "1"));
  store.put(thing("x", "2"));
  assert.equal(changes.length, 2);
});

Deno.test("changes of the status and of its owner are distinguished from other changes", () => {
  const { store, changes } = scene();
  store.put(thing("x", "1", { spec: { size: 1 } }));
  const managedFields = [{ manager: "pingress-controller", subresource: "status" }];
  store.put(thing("x", "2", { spec: { size: 1 }, status: { ready: true } }, { managedFields }));
  store.put(thing("x", "3", { spec: { size: 2 }, status: { ready: false } }, { managedFields }));
  store.put(thing("x", "4", { spec: { size: 2 }, status: { ready: false } }));
  assert.deepEqual(changes.map(({ isStatusOnly }) => isStatusOnly), [false, true, false, true]);
});

Deno.test("unchanged parts of an object stay the same references", () => {
  const { store } = scene();
  const first = thing("x", "1", { spec: { size: 1 } });
  store.put(first);
  store.put(thing("x", "2", { spec: { size: 1 }, status: { ready: true } }));
  assert.equal(store.get("a", "x")?.spec, first.spec);
});

Deno.test("a list removes objects that it lacks, in its own namespace only", () => {
  const { store, changes } = scene();
  const other = thing("x", "1", {}, { namespace: "b" });
  store.replace([thing("x", "1"), thing("y", "1")], "a");
  store.replace([other], "b");
  const kept = store.get("a", "x");
  changes.length = 0;
  store.replace([thing("x", "9"), thing("z", "3")], "a");
  assert.deepEqual(store.list().map(({ metadata }) => metadata.name).sort(), ["x", "x", "z"]);
  assert.equal(store.get("a", "x"), kept);
  assert.equal(store.get("b", "x"), other);
  const told = changes.map(({ before, after }) => [before?.metadata.name, after?.metadata.name]);
  assert.deepEqual(told, [["y", undefined], [undefined, "z"]]);
});

Deno.test("the array of objects is the same until something changes", () => {
  const { store } = scene();
  store.put(thing("x", "1"));
  const list = store.list();
  store.put(thing("x", "2"));
  assert.equal(store.list(), list);
  store.put(thing("y", "3"));
  assert.notEqual(store.list(), list);
});

Deno.test("an object that is deleted and recreated is a change, even with equal content", () => {
  const { store, changes } = scene();
  store.put(thing("x", "1", {}, { uid: "one" }));
  store.put(thing("x", "2", {}, { uid: "two" }));
  assert.equal(changes.length, 2);
});

Deno.test("an update says whether it does nothing but add objects", () => {
  const { store } = scene();
  const updates: boolean[] = [];
  store.onUpdate(({ isAddition }) => updates.push(isAddition));
  store.put(thing("x", "1", { spec: { size: 1 } }));
  store.put(thing("x", "2", { spec: { size: 2 } }));
  store.replace([thing("x", "2", { spec: { size: 2 } }), thing("y", "3")], null);
  store.replace([thing("x", "4", { spec: { size: 3 } }), thing("y", "3"), thing("z", "5")], null);
  store.remove("a", "x");
  store.replace([], null);
  assert.deepEqual(updates, [true, false, true, false, false, false]);
});

Deno.test("a list is one update, however many objects it changes", () => {
  const { store, changes } = scene();
  const updates: boolean[] = [];
  store.onUpdate(({ isStatusOnly }) => updates.push(isStatusOnly));
  store.replace([thing("x", "1"), thing("y", "1"), thing("z", "1")], null);
  assert.equal(changes.length, 3);
  assert.deepEqual(updates, [false]);
  store.replace([thing("x", "2"), thing("y", "2"), thing("z", "2")], null);
  assert.deepEqual(updates, [false]);
  store.replace([thing("x", "3", { status: { ready: true } }), thing("y", "2")], null);
  store.put(thing("y", "3", { status: { ready: true } }));
  assert.deepEqual(updates, [false, false, true]);
});

Deno.test("a first list that is empty is an update too", () => {
  const { store } = scene();
  let updates = 0;
  const end = store.onUpdate(() => updates++);
  store.isSynced = true;
  store.replace([], null);
  assert.equal(updates, 1);
  store.replace([], null);
  assert.equal(updates, 1);
  end();
  store.put(thing("x", "1"));
  assert.equal(updates, 1);
});

Deno.test("clearing a store removes all objects, with one update after all changes", () => {
  const { store, changes } = scene();
  store.isSynced = true;
  store.replace([thing("x", "1"), thing("y", "1")], null);
  changes.length = 0;
  const seen: unknown[] = [];
  store.onUpdate(() => seen.push([store.size, store.isSynced, changes.length]));
  store.clear();
  assert.deepEqual(seen, [[0, false, 2]]);
  assert.deepEqual(store.list(), []);
  store.clear();
  assert.equal(seen.length, 1);
});
