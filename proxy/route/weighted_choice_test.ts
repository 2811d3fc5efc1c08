import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import { type Weighted, WeightedChoice } from "./weighted_choice.ts";

function choiceOf(weights: Readonly<Record<string, number>>, unusable = new Set<string>()) {
  return new WeightedChoice(
    Object.entries(weights).map(([option, weight]): Weighted<string> => {
      return { option, weight, isUsable: () => !unusable.has(option) };
    }),
  );
}

function choices(choice: WeightedChoice<string>, count: number): string {
  return Array.from({ length: count }, () => choice.choose()).join("");
}

Deno.test("options are chosen in proportion to their weights, in the same order as nginx", () => {
  const cases: readonly [Readonly<Record<string, number>>, string][] = [
    [{ a: 5, b: 1, c: 1 }, "aabacaa"],
    [{ a: 1, b: 1 }, "abab"],
    [{ a: 2, b: 1 }, "abaaba"],
    [{ a: 0, b: 3 }, "bbb"],
    [{ a: 1 }, "aaa"],
  ];
  for (const [weights, wanted] of cases) {
    assert.equal(choices(choiceOf(weights), wanted.length), wanted, JSON.stringify(weights));
  }
});

Deno.test("over one round each option is chosen exactly as often as its weight", () => {
  const random = new Random(1);
  for (let i = 0; i < 200; i++) {
    const weights = { a: random.between(1, 50), b: random.below(50), c: random.below(50) };
    const round = choices(choiceOf(weights), weights.a + weights.b + weights.c);
    for (const [option, weight] of Object.entries(weights)) {
      assert.equal(round.split(option).length - 1, weight, JSON.stringify(weights));
    }
  }
});

Deno.test("an unusable option is skipped unless all are unusable; one of weight 0 always is", () => {
  const unusable = new Set(["a"]);
  const choice = choiceOf({ a: 3, b: 1, c: 0 }, unusable);
  assert.equal(choices(choice, 4), "bbbb");
  unusable.add("b");
  assert.equal([...choices(choice, 4)].sort().join(""), "aaab");
  unusable.clear();
  assert.equal([...choices(choice, 4)].sort().join(""), "aaab");
});
