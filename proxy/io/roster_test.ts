/** Members of a roster come and go, also while it is visited. */
import assert from "node:assert/strict";
import { Roster } from "./roster.ts";

interface Member {
  readonly name: string;
  place: number;
}

function made() {
  const roster = new Roster<Member>({
    get: (member) => member.place,
    set: (member, place) => void (member.place = place),
  });
  const members = ["a", "b", "c", "d"].map((name) => ({ name, place: -1 }));
  for (const member of members) roster.add(member);
  return { roster, members };
}

const names = (members: Iterable<Member>) => [...members].map(({ name }) => name).sort().join("");

Deno.test("members are there from when they are added until they are deleted, once each", () => {
  const { roster, members: [a, b, c, d] } = made();
  roster.add(a);
  assert.equal(names(roster), "abcd");
  roster.delete(b);
  roster.delete(b);
  assert.equal(names(roster), "acd");
  assert.ok(roster.has(a) && !roster.has(b));
  for (const member of [d, a, c]) roster.delete(member);
  assert.equal(roster.size, 0);
  roster.add(b);
  assert.equal(names(roster), "b");
});

Deno.test("a visit sees each member once that is there at its beginning and not deleted before its turn", () => {
  const { roster, members: [a, b, c, d] } = made();
  const late: Member = { name: "e", place: -1 };
  const seen: Member[] = [];
  roster.visit((member) => {
    seen.push(member);
    if (member !== b) return;
    for (const gone of [a, b, c]) roster.delete(gone);
    roster.add(late);
    roster.add(a);
  });
  assert.equal(names(seen), "abd");
  assert.equal(names(roster), "ade");
  assert.equal(roster.size, 3);
  for (const member of [a, d, late]) roster.delete(member);
  assert.equal(names(roster), "");
});

Deno.test("a visit that is broken off leaves no gaps", () => {
  const { roster, members: [a] } = made();
  assert.throws(() =>
    roster.visit((member) => {
      roster.delete(member);
      throw new Error(member.name);
    })
  );
  assert.equal(names(roster), "bcd");
  roster.add(a);
  assert.equal(names(roster), "abcd");
});
