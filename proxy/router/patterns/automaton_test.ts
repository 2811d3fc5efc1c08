import assert from "node:assert/strict";
import { Random } from "../../../tests/fuzz/random.ts";
import { Automata, Automaton } from "./automaton.ts";

/** Without `^` behind other characters: V8's backtracking engine finds no match of `^(?:[^]*?[\W1]^|)$` in "". */
const ATOMS = [
  ..."aab/.",
  ...["[ab]", "[^a]", "[^/]", "[a-c]", "[a/-]", "[-a]", "[]", "[^]", "\\d", "\\D", "\\w", "[\\W1]"],
  ...["\\s", "\\S", "\\.", "\\/", "\\x61", "\\xe9", "[\\x80-\\xff]", "\\n", "\\0", "é", "%2F", "$"],
];
const REPETITIONS = [
  "*",
  "+",
  "?",
  "*?",
  "+?",
  "??",
  "{2}",
  "{0}",
  "{1,}",
  "{0,2}",
  "{1,3}?",
  "{00002}",
  "{0,00002}",
  "{00001,}",
];
const LETTERS = [..."aaabbc/1.-A ", "\n", "\r", "\0", "é", "\u00a0", "%2F"];

function randomPattern(random: Random, depth: number): string {
  const alternatives = Array.from(
    { length: random.oneIn(4) ? 2 : 1 },
    () =>
      Array.from({ length: random.below(4) }, () => {
        const group = random.pick(["(?:", "(", "(?<name>"]);
        const isGroup = depth > 0 && random.oneIn(3);
        const inner = isGroup ? `${group}${randomPattern(random, depth - 1)})` : random.pick(ATOMS);
        return random.oneIn(3) && inner !== "$" ? inner + random.pick(REPETITIONS) : inner;
      }).join(""),
  );
  const pattern = alternatives.join("|");
  return random.oneIn(8) ? `^${pattern}` : pattern;
}

function randomText(random: Random): string {
  return Array.from({ length: random.below(7) }, () => random.pick(LETTERS)).join("");
}

function compiled(pattern: string): RegExp | null {
  try {
    return new RegExp(`^(?:${pattern})$`);
  } catch {
    return null;
  }
}

Deno.test("an automaton matches the texts that V8 matches, for random patterns", () => {
  const random = new Random(7);
  let matched = 0;
  let others = 0;
  for (let i = 0; i < 3000; i++) {
    const pattern = randomPattern(random, 2);
    const expression = compiled(pattern);
    // Two groups have one name.
    if (expression === null) continue;
    const automaton = Automaton.of(pattern);
    assert.ok(automaton !== null, pattern);
    for (let text = 0; text < 20; text++) {
      const one = randomText(random);
      const isMatch: boolean = expression.test(one);
      assert.equal(automaton.matches(one), isMatch, `${pattern} of ${JSON.stringify(one)}`);
      if (isMatch) matched++;
      else others++;
    }
  }
  assert.ok(matched > 2000 && others > 2000, `${matched} matched, ${others} did not`);
});

const NO_AUTOMATON = [
  ...["\\bword", "\\Bword", "(?=a)a", "(?!b)a", "(?<=a)b", "(?<!a)b", "(a)\\1", "\\k<a>(?<a>b)"],
  ...["(?i:a)", "\\u0061", "\\cA", "[\\b]", "a{2", "a}", "]", "[\\d-z]", "\\01", "ł", "[a-ł]"],
];

Deno.test("V8 alone matches patterns with what no automaton has", () => {
  for (const pattern of NO_AUTOMATON) {
    assert.doesNotThrow(() => new RegExp(pattern), pattern);
    assert.equal(Automaton.of(pattern), null, pattern);
  }
});

Deno.test("an automaton leaves texts to V8 that have characters beyond Latin-1, or need too many states", () => {
  assert.equal(Automaton.of(".*")!.matches("ł"), null);
  const wide = () => Automaton.of(`(?:a|b)*a${"[ab]".repeat(16)}`)!;
  const random = new Random(1);
  const text = Array.from({ length: 4000 }, () => random.pick([..."ab"])).join("");
  assert.equal(wide().matches(text), null);
  assert.equal(wide().matches(`${"b".repeat(4000)}a${"b".repeat(16)}`), true);
  assert.equal(Automaton.of(`${"(?:".repeat(40)}x${"){16}".repeat(40)}`), null);
  assert.equal(Automaton.of(`${"(?:".repeat(40)}${"){16}".repeat(40)}`)!.matches(""), true);
});

Deno.test("patterns that find no room are left to V8, and those with an automaton keep it", () => {
  const automata = new Automata();
  const long = "/" + "a".repeat(300);
  const patterns = Array.from({ length: 2000 }, (_, i) => `/${i}${"[^/]?".repeat(200)}`);
  const answers = () => patterns.map((pattern) => automata.matches(pattern, long));
  const first = answers();
  assert.ok(first.includes(false) && first.includes(null));
  assert.deepEqual(answers(), first);
  // Once the configuration has changed, others may be among those with one.
  automata.makeRoom();
  assert.equal(automata.matches(patterns.at(-1)!, long), false);
});
