import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import { LeastRequests, RoundRobin } from "./balancer.ts";

class Server {
  readonly load = { requests: 0 };
  readonly name: string;
  chosen = 0;

  constructor(name: string) {
    this.name = name;
  }
}

function servers(names: string): Server[] {
  return [...names].map((name) => new Server(name));
}

/** Numbers from 0 to less than 1, the same in every run. */
function seeded(seed = 1): () => number {
  const random = new Random(seed);
  return () => random.below(1_000_000) / 1_000_000;
}

Deno.test("least requests: idle endpoints get equal shares, whatever their number", () => {
  for (const names of ["a", "ab", "abc", "abcdefg"]) {
    const all = servers(names);
    const balancer = new LeastRequests<Server>(seeded());
    for (let i = 0; i < 1000 * all.length; i++) balancer.pick(all, null)!.chosen++;
    for (const { name, chosen } of all) {
      assert.ok(chosen > 900 && chosen < 1100, `${name} of ${names}: ${chosen}`);
    }
  }
});

Deno.test("least requests: a slow endpoint gets less than its share, an overloaded one nothing beside an idle one", () => {
  const [a, b] = servers("ab");
  const balancer = new LeastRequests<Server>(seeded());
  a.load.requests = 1;
  for (let i = 0; i < 100; i++) assert.equal(balancer.pick([a, b], null), b);
  const all = servers("abcdefgh");
  // The first answers never, the others at once.
  for (let i = 0; i < 800; i++) {
    const chosen = balancer.pick(all, null)!;
    chosen.chosen++;
    if (chosen === all[0]) chosen.load.requests++;
  }
  assert.equal(all[0].chosen, 1);
  for (const { name, chosen } of all.slice(1)) assert.ok(chosen > 70, `${name}: ${chosen}`);
});

Deno.test("least requests: load stays even if all endpoints take equally long", () => {
  const all = servers("abcdefghij");
  const balancer = new LeastRequests<Server>(seeded(3));
  for (let i = 0; i < 1000; i++) balancer.pick(all, null)!.load.requests++;
  const loads = all.map(({ load }) => load.requests);
  assert.ok(Math.max(...loads) - Math.min(...loads) <= 6, loads.join(" "));
});

for (
  const [name, balancer] of [
    ["round robin", new RoundRobin<Server>()],
    ["least requests", new LeastRequests<Server>(seeded(2))],
  ] as const
) {
  Deno.test(`${name}: a tried endpoint is not picked twice, and in the end there is none`, () => {
    const all = servers("abcd");
    for (let i = 0; i < 100; i++) {
      const tried: Server[] = [];
      for (let left = all.length; left > 0; left--) {
        const chosen = balancer.pick(all, tried)!;
        assert.ok(!tried.includes(chosen));
        tried.push(chosen);
      }
      assert.equal(balancer.pick(all, tried), null);
    }
    assert.equal(balancer.pick([], null), null);
  });
}
