/** Members are added and deleted, also during a visit. */
import assert from "node:assert/strict";
import { IntrusiveSet } from "./intrusive_set.ts";

interface Member {
  readonly name: string;
  place: number;
}

function made() {
  const set = new IntrusiveSet<Member>({
    get: (member) => member.place,
    set: (member, place) => void (member.place = place),
  });
  const members = ["a", "b", "c", "d"].map((name) => ({ name, place: -1 }));
  for (const member of members) set.add(member);
  return { set, members };
}

const names = (members: Iterable<Member>) => [...members].map(({ name }) => name).join("");

Deno.test("iteration yields each member once, in the order of addition, until it is deleted", () => {
  const { set, members: [a, b, c, d] } = made();
  set.add(a);
  assert.equal(names(set), "abcd");
  set.delete(b);
  set.delete(b);
  assert.equal(names(set), "acd");
  assert.ok(set.has(a) && !set.has(b));
  for (const member of [d, a, c]) set.delete(member);
  assert.equal(set.size, 0);
  set.add(b);
  assert.equal(names(set), "b");
});

Deno.test("a visit skips members that are deleted before their turn, and those added during it", () => {
  const { set, members: [a, b, c, d] } = made();
  const late: Member = { name: "e", place: -1 };
  const seen: Member[] = [];
  set.visit((member) => {
    seen.push(member);
    if (member !== b) return;
    for (const gone of [a, b, c]) set.delete(gone);
    set.add(late);
    set.add(a);
  });
  assert.equal(names(seen), "abd");
  assert.equal(names(set), "dea");
  assert.equal(set.size, 3);
  for (const member of [a, d, late]) set.delete(member);
  assert.equal(names(set), "");
});

Deno.test("an exception in a visit leaves no gaps", () => {
  const { set, members: [a] } = made();
  assert.throws(() =>
    set.visit((member) => {
      set.delete(member);
      throw new Error(member.name);
    })
  );
  assert.equal(names(set), "bcd");
  set.add(a);
  assert.equal(names(set), "bcda");
});
