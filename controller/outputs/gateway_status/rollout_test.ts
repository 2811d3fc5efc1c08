import { deepEqual, equal } from "node:assert/strict";
import { Rollout } from "./rollout.ts";

const contents = (entries: Readonly<Record<string, unknown>>) => new Map(Object.entries(entries));

Deno.test("an object belongs to the content that has it first, as long as it says the same", () => {
  const rollout = new Rollout();
  rollout.update(contents({ a: { x: 1 } }), 1, 100);
  rollout.update(contents({ a: { x: 1 }, b: {} }), 2, 200);
  deepEqual(rollout.get("a"), { content: { x: 1 }, sequence: 1, since: 100 });
  deepEqual(rollout.get("b"), { content: {}, sequence: 2, since: 200 });
  rollout.update(contents({ a: { x: 2 } }), 3, 300);
  deepEqual(rollout.get("a"), { content: { x: 2 }, sequence: 3, since: 300 });
  equal(rollout.get("b"), null);
});

Deno.test("an object that could not be streamed belongs to the next content that is", () => {
  const rollout = new Rollout();
  rollout.update(contents({ a: 1 }), null, 100);
  equal(rollout.get("a")?.sequence, null);
  rollout.update(contents({ a: 1 }), 5, 200);
  deepEqual(rollout.get("a"), { content: 1, sequence: 5, since: 100 });
});

Deno.test("proxies are behind from the first look on, through several contents", () => {
  const rollout = new Rollout();
  rollout.update(contents({ a: 1 }), 1, 0);
  equal(rollout.behindFor("a", true, 100), 0);
  rollout.update(contents({ a: 2 }), 2, 150);
  equal(rollout.behindFor("a", true, 300), 200);
  equal(rollout.behindFor("a", false, 400), 0);
  equal(rollout.behindFor("a", true, 500), 0);
  // One of the same name is another object.
  rollout.update(contents({}), 3, 600);
  rollout.update(contents({ a: 2 }), 4, 700);
  equal(rollout.behindFor("a", true, 800), 0);
});

Deno.test("a replica that begins to lead counts from then on how long proxies have been behind", () => {
  const rollout = new Rollout();
  rollout.update(contents({ a: 1 }), 1, 0);
  equal(rollout.behindFor("a", true, 100), 0);
  rollout.restart();
  equal(rollout.behindFor("a", true, 20_000), 0);
  equal(rollout.behindFor("a", true, 20_500), 500);
});
