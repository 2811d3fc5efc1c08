import assert from "node:assert/strict";
import { patternFault } from "./pattern.ts";

Deno.test("regular expressions that take linear time are served, others say why not", () => {
  const cases: readonly [pattern: string, fault: string | null][] = [
    ["/v[0-9]+/(users|orders)", null],
    ["(?:a|b)*?c{2,16}", null],
    ["\\bword\\b|^start$", null],
    ["[^/]+", null],
    ["(a)\\1", "has a back reference"],
    ["(?<n>a)\\k<n>", "has a back reference"],
    ["a(?=b)", "has a lookahead"],
    ["(?<!a)b", "has a lookbehind"],
    ["a{17}", "repeats more than 16 times"],
    ["a{1,1000}", "repeats more than 16 times"],
    ["a{17,}", "repeats more than 16 times"],
    ["(a", "is no regular expression"],
    ["[b-a]", "is no regular expression"],
    ["a".repeat(1025), "has more than 1024 characters"],
    [
      "((((a{16}){16}){16}))",
      "has more than 1024 characters with its repetitions written out",
    ],
  ];
  for (const [pattern, fault] of cases) assert.equal(patternFault(pattern), fault, pattern);
});
