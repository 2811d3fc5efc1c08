import assert from "node:assert/strict";
import { Random } from "../../../tests/fuzz/random.ts";
import { Automaton, Room } from "./automaton.ts";
import { PatternWork } from "./work.ts";

/** Without `^` behind other characters: V8's backtracking engine finds no match of `^(?:[^]*?[\W1]^|)$` in "". */
const ATOMS = [
  ..."aab/.",
  ...["[ab]", "[^a]", "[^/]", "[a-c]", "[a/-]", "[-a]", "[]", "[^]", "\\d", "\\D", "\\w", "[\\W1]"],
  ...[
    "\\s",
    "\\S",
    "\\.",
    "\\/",
    "\\x61",
    "\\xe9",
    "[\\x80-\\xff]",
    "\\n",
    "\\0",
    "é",
    "%2F",
    "$",
    "\\b",
    "\\B",
  ],
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
const LETTERS = [
  ..."aaabbc/1.-A ",
  "\n",
  "\r",
  "\0",
  "é",
  "\u00a0",
  "%2F",
  "ł",
  "\u3000",
  "\u2028",
];

function randomPattern(random: Random, depth: number): string {
  const alternatives = Array.from(
    { length: random.oneIn(4) ? 2 : 1 },
    () =>
      Array.from({ length: random.below(4) }, () => {
        const group = random.pick(["(?:", "(", "(?<name>"]);
        const isGroup = depth > 0 && random.oneIn(3);
        const inner = isGroup ? `${group}${randomPattern(random, depth - 1)})` : random.pick(ATOMS);
        return random.oneIn(3) && !/^(?:\$|\\b)$/i.test(inner)
          ? inner + random.pick(REPETITIONS)
          : inner;
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
    const automaton = Automaton.of(pattern, new Room());
    const roomless = Automaton.of(pattern, new Room(0));
    assert.ok(automaton !== null && roomless !== null, pattern);
    for (let text = 0; text < 20; text++) {
      const one = randomText(random);
      const isMatch: boolean = expression.test(one);
      const works = [new PatternWork(), new PatternWork(), new PatternWork()];
      const answers: boolean[] = [automaton, roomless, automaton].map((each, i) =>
        each.matches(one, works[i])
      );
      const what = `${pattern} of ${JSON.stringify(one)}`;
      assert.deepEqual(answers, [isMatch, isMatch, isMatch], what);
      assert.equal(new Set(works.map(({ left }) => left)).size, 1, what);
      if (isMatch) matched++;
      else others++;
    }
  }
  assert.ok(matched > 2000 && others > 2000, `${matched} matched, ${others} did not`);
});

const NO_AUTOMATON = [
  ...["(?=a)a", "(?!b)a", "(?<=a)b", "(?<!a)b", "(a)\\1", "\\k<a>(?<a>b)"],
  ...["(?i:a)", "\\u0061", "\\cA", "[\\b]", "a{2", "a}", "]", "[\\d-z]", "\\01", "ł", "[a-ł]"],
];

Deno.test("V8 alone matches patterns with what no automaton has", () => {
  for (const pattern of NO_AUTOMATON) {
    assert.doesNotThrow(() => new RegExp(pattern), pattern);
    assert.equal(Automaton.of(pattern, new Room()), null, pattern);
  }
});

/** Leads to more states than an automaton may have. */
const WIDE = `(?:a|b)*a${"[ab]".repeat(16)}`;

function randomLetters(count: number): string {
  const random = new Random(1);
  return Array.from({ length: count }, () => random.pick([..."ab"])).join("");
}

/** The steps that a text is charged, and whether it matches. */
function charged(automaton: Automaton, text: string): readonly [steps: number, isMatch: boolean] {
  const work = new PatternWork(1e9);
  const isMatch = automaton.matches(text, work);
  return [1e9 - work.left, isMatch];
}

Deno.test("an automaton matches texts that lead to more states than it has", () => {
  const text = randomLetters(4000);
  const automaton = Automaton.of(WIDE, new Room())!;
  const expected = new RegExp(`^(?:${WIDE})$`);
  for (const one of [text, `${"b".repeat(4000)}a${"b".repeat(16)}`, text.slice(0, 1000), "a"]) {
    assert.equal(charged(automaton, one)[1], expected.test(one));
  }
});

Deno.test("no automaton has more steps than it can number, and one of nothing but nothing has few", () => {
  assert.equal(Automaton.of(`${"(?:".repeat(40)}x${"){16}".repeat(40)}`, new Room()), null);
  const empty = Automaton.of(`${"(?:".repeat(40)}${"){16}".repeat(40)}`, new Room())!;
  assert.equal(charged(empty, "")[1], true);
  const all = Array.from({ length: 256 }, (_, code) => `\\x${code.toString(16).padStart(2, "0")}`);
  assert.equal(Automaton.of(all.join(""), new Room()), null);
});

Deno.test("a text is charged the same whatever states an automaton has, and has room for", () => {
  const texts = [
    randomLetters(4000),
    randomLetters(300),
    `${"b".repeat(4000)}a${"b".repeat(16)}`,
    "",
  ];
  for (const pattern of [WIDE, "(?:a+)+b", ".*x.*", "\\b(?:a|b)+\\b", "[ab]*".repeat(100) + "z"]) {
    const kept = Automaton.of(pattern, new Room())!;
    const crowded = Automaton.of(pattern, new Room(2000))!;
    for (const text of [...texts, ...texts]) {
      const fresh = charged(Automaton.of(pattern, new Room(0))!, text);
      assert.deepEqual(charged(kept, text), fresh, pattern);
      assert.deepEqual(charged(crowded, text), fresh, pattern);
    }
  }
});

Deno.test("an automaton stops where the work is exceeded", () => {
  const text = randomLetters(4000);
  for (const room of [new Room(), new Room(0)]) {
    const automaton = Automaton.of("[ab]*".repeat(100), room)!;
    const [steps, isMatch] = charged(automaton, text);
    assert.ok(isMatch && steps > 4000 * 100, `${steps}`);
    const enough = new PatternWork(steps);
    assert.ok(automaton.matches(text, enough) && !enough.isExceeded && enough.left === 0);
    const tooLittle = new PatternWork(steps - 1);
    assert.ok(!automaton.matches(text, tooLittle) && tooLittle.isExceeded);
    // Whatever comes then, there is none left.
    assert.ok(!automaton.matches("", tooLittle) && tooLittle.isExceeded);
  }
});

Deno.test("patterns that find no room match as those that have it, and may find it after a change", () => {
  const room = new Room();
  const text = "/" + "a".repeat(300);
  const automata = Array.from(
    { length: 2000 },
    (_, i) => Automaton.of(`/(?:${i}|a)${"[^/]?".repeat(200)}`, room)!,
  );
  const answers = () => automata.map((automaton) => charged(automaton, text));
  const first = answers();
  assert.deepEqual(answers(), first);
  room.renew();
  assert.deepEqual(answers(), first);
});
