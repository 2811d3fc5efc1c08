import assert from "node:assert/strict";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { runCommand } from "./command.ts";

const CONFIG = join(import.meta.dirname!, "../deno.json");

/** What `deno lint` with our configuration says of a file of that text. */
async function lint(text: string, name = "planted.ts") {
  const root = await Deno.makeTempDir();
  try {
    const file = join(root, name);
    await Deno.writeTextFile(file, text);
    const args = ["lint", "--config", CONFIG, file];
    const { code, stdout, stderr } = await runCommand(Deno.execPath(), args);
    return { code, said: stripVTControlCharacters(stdout + stderr) };
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const SLOW: readonly { pattern: string; growth: string; attack: string }[] = [
  { pattern: "/[ \\t]+$/", growth: "quadratic", attack: "/[\\t ]/" },
  { pattern: "/^(?:a+)+b/", growth: "exponential", attack: "/a/" },
  { pattern: "/^[\\da-f:]*:[\\da-f:]*\\/0$/i", growth: "quadratic", attack: "/:/" },
  { pattern: 'new RegExp("\\\\s+x", "u")', growth: "quadratic", attack: "/\\s/" },
];

for (const { pattern, growth, attack } of SLOW) {
  Deno.test(`deno lint reports ${pattern}, with the attack and the remedy`, async () => {
    const { code, said } = await lint(`export const planted = ${pattern};\n`);
    assert.equal(code, 1, said);
    assert.match(said, /regexps\/linear-time/);
    assert.ok(said.includes(`takes ${growth} time on many repetitions of ${attack}`), said);
    assert.match(said, /Search by index .*, anchor it, or bound the repetition/);
  });
}

Deno.test("deno lint accepts regular expressions that take linear time", async () => {
  const text = "export const patterns = [/^[ \\t]+/, /[ \\t]{1,64}$/, /^(\\d+)([kmg]?)$/i];\n";
  const { code, said } = await lint(text);
  assert.equal(code, 0, said);
});

Deno.test("deno lint leaves the regular expressions of tests alone", async () => {
  const { code, said } = await lint("export const t = /a+$/;\n", "planted_test.ts");
  assert.equal(code, 0, said);
});
