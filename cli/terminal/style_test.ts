import assert from "node:assert/strict";
import { styleOf, takesColours } from "./style.ts";

for (
  const [what, isTerminal, environment, expected] of [
    ["a terminal has colours", true, {}, true],
    ["a pipe has none", false, {}, false],
    ["NO_COLOR turns them off", true, { NO_COLOR: "1" }, false],
    ["NO_COLOR turns them off with any value", true, { NO_COLOR: "0" }, false],
    ["an empty NO_COLOR is none", true, { NO_COLOR: "" }, true],
    ["FORCE_COLOR turns them on in a pipe", false, { FORCE_COLOR: "1" }, true],
    ["FORCE_COLOR=0 turns them off", true, { FORCE_COLOR: "0" }, false],
    ["NO_COLOR wins over FORCE_COLOR", true, { NO_COLOR: "1", FORCE_COLOR: "1" }, false],
    ["TERM=dumb has none", true, { TERM: "dumb" }, false],
    ["FORCE_COLOR wins over TERM=dumb", true, { TERM: "dumb", FORCE_COLOR: "1" }, true],
  ] as const
) {
  Deno.test(`colours: ${what}`, () => {
    const values: Readonly<Record<string, string>> = environment;
    assert.equal(takesColours(isTerminal, (name) => values[name]), expected);
  });
}

Deno.test("without colours, no text has an escape", () => {
  const { bold, dim, red, green, yellow, cyan, pass, fail, warn } = styleOf(false);
  const texts = [bold, dim, red, green, yellow, cyan].map((paint) => paint("x"));
  assert.deepEqual(texts, ["x", "x", "x", "x", "x", "x"]);
  assert.deepEqual([pass, fail, warn], ["✔", "✘", "!"]);
});

Deno.test("with colours, a text keeps its characters, and an empty one stays empty", () => {
  const { red, pass } = styleOf(true);
  assert.equal(red("x"), "\x1b[31mx\x1b[39m");
  assert.equal(red(""), "");
  assert.equal(pass, "\x1b[32m✔\x1b[39m");
});
