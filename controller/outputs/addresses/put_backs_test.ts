/** How often a change by others is put back. */
import { equal, ok } from "node:assert/strict";
import { PutBacks } from "./put_backs.ts";

Deno.test("the first change by others is put back at once, further ones ever more rarely", () => {
  let now = 0;
  const putBacks = new PutBacks(() => now);
  const waits: number[] = [];
  for (let i = 0; i < 10; i++) {
    const wait = putBacks.waitFor("Service shop/web", { a: 1 });
    waits.push(wait);
    now += wait;
    putBacks.wrote("Service shop/web", { a: 1 });
  }
  equal(waits[0], 0);
  equal(waits[1], 0);
  for (let i = 3; i < 8; i++) ok(waits[i] > waits[i - 1], `${waits}`);
  ok(Math.max(...waits) <= 90_000, `${waits}`);
});

Deno.test("a new plan is written at once, whatever was put back", () => {
  const putBacks = new PutBacks(() => 0);
  for (let i = 0; i < 5; i++) putBacks.wrote("Service shop/web", { a: 1 });
  ok(putBacks.waitFor("Service shop/web", { a: 1 }) > 0);
  equal(putBacks.waitFor("Service shop/web", { a: 2 }), 0);
  equal(putBacks.waitFor("Service shop/other", { a: 1 }), 0);
});
