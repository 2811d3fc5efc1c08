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
    ["\\d\\w\\s\\D\\W\\S\\B[\\d\\-\\]]\\t\\x41\\.\\/", null],
    ["[[:digit:]]+", "has a POSIX class, which is not supported"],
    ["[^[:alpha:]x]", "has a POSIX class, which is not supported"],
    ["[]a]", "has an empty class"],
    ["\\A/a", "has \\A, which is not supported"],
    ["/a\\z", "has \\z, which is not supported"],
    ["\\pN+", "has \\p, which is not supported"],
    ["\\p{L}", "has \\p, which is not supported"],
    ["\\Qa.b\\E", "has \\Q, which is not supported"],
    ["\\C", "has \\C, which is not supported"],
    ["[\\a]", "has \\a, which is not supported"],
    ["[\\b]", "has \\b, which is not supported"],
    ["\\07", "has \\07, which is not supported"],
    ["\\0", "has \\0, which is not supported"],
    ["\\x{7}", "has \\x, which is not supported"],
    ["\\u0041", "has \\u0041, which is not supported"],
    ["\\cA", "has \\cA, which is not supported"],
    ["(?i)a", "is no regular expression"],
    ["(?P<n>a)", "is no regular expression"],
    ["x*+", "is no regular expression"],
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
