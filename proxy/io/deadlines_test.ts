import assert from "node:assert/strict";
import { type Deadlined, Deadlines, SWEEP_INTERVAL } from "./deadlines.ts";

/** Counts its checks, and rests as it is told. */
class Counted implements Deadlined {
  deadlinePlace = -1;
  checks: number[] = [];
  rest: number | void = undefined;
  #waiting: (() => void) | null = null;

  check(now: number): number | void {
    this.checks.push(now);
    this.#waiting?.();
    return this.rest;
  }

  /** Settles once it has been checked so many times more. */
  async checked(times: number): Promise<void> {
    const goal = this.checks.length + times;
    while (this.checks.length < goal) {
      await new Promise<void>((resolve) => this.#waiting = resolve);
    }
  }
}

/** Deadlines with so many entries that are looked at in each sweep, and one that rests in between. */
function made(others: number) {
  const deadlines = new Deadlines();
  const busy = Array.from({ length: others }, () => new Counted());
  const resting = new Counted();
  busy.forEach((entry, i) => {
    if (i === others >> 1) deadlines.add(resting);
    deadlines.add(entry);
  });
  const end = () => [...busy, resting].forEach((entry) => deadlines.delete(entry));
  return { deadlines, busy, resting, end };
}

Deno.test("an entry that rests is left alone until it is stirred", async () => {
  const { deadlines, busy, resting, end } = made(4);
  resting.rest = Infinity;
  await busy[0].checked(1);
  assert.equal(resting.checks.length, 1);
  await busy[0].checked(3);
  assert.equal(resting.checks.length, 1);
  deadlines.stir(resting);
  await busy[3].checked(1);
  assert.equal(resting.checks.length, 2);
  end();
});

Deno.test("an entry that rests is looked at when its deadline comes", async () => {
  const { deadlines, busy, resting, end } = made(2);
  const deadline = deadlines.now + 3 * SWEEP_INTERVAL;
  resting.rest = deadline;
  await resting.checked(2);
  const [first, second] = resting.checks;
  assert.ok(first < deadline && second >= deadline, `${first} ${second} ${deadline}`);
  const before = busy[1].checks.findLast((now) => now < second);
  assert.ok(before !== undefined && before < deadline, "not a sweep later");
  end();
});

Deno.test("an entry that nobody stirs is looked at all the same, within about a second", async () => {
  const { resting, end } = made(2);
  resting.rest = Infinity;
  await resting.checked(2);
  end();
});

Deno.test("entries keep their rest when others go, and new ones are looked at", async () => {
  const { deadlines, busy, resting, end } = made(1_000);
  resting.rest = Infinity;
  await busy[999].checked(1);
  assert.equal(resting.checks.length, 1);
  const [kept, ...gone] = busy;
  for (const entry of gone) deadlines.delete(entry);
  const late = new Counted();
  deadlines.add(late);
  await late.checked(2);
  assert.equal(resting.checks.length, 1);
  deadlines.stir(resting);
  await kept.checked(1);
  await late.checked(1);
  assert.equal(resting.checks.length, 2);
  deadlines.delete(late);
  end();
});
