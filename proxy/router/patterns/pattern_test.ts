import assert from "node:assert/strict";

/** As the proxy is started. */
const { tasks } = JSON.parse(Deno.readTextFileSync("deno.json"));

function v8FlagsOf(task: string): string | undefined {
  return tasks[task].command.split(" ").find((word: string) => word.startsWith("--v8-flags="));
}

/** What `compilePattern` says in a process with these flags: "ok", or the reason. */
async function compiled(patterns: readonly string[], flags: readonly string[]): Promise<string[]> {
  const code = `
    import { compilePattern } from ${JSON.stringify(import.meta.resolve("./pattern.ts"))};
    const all = ${JSON.stringify(patterns)}.map((pattern) => compilePattern(pattern));
    console.log(JSON.stringify(all.map((one) => one.ok ? "ok" : one.reason)));
  `;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", ...flags, code],
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

const NOT_LINEAR = "cannot be matched in linear time: remove lookaround, back references and " +
  "repetitions of more than 16 times";
const TOO_LONG = (size: number) =>
  `has ${size} characters with its repetitions written out, more than 1024: shorten it`;

/** By pattern what is wrong with it; "ok" for nothing. */
const PATTERNS: Readonly<Record<string, string>> = {
  "/api/v[0-9]+/users/[^/]+": "ok",
  "(a+)+b": "ok",
  "[a-z]{1,16}": "ok",
  "(?<version>v1|v2)": "ok",
  "\\d{3}-\\w+": "ok",
  "": "ok",
  "(?=a)b": NOT_LINEAR,
  "(?!a)b": NOT_LINEAR,
  "(?<!a)b": "ok",
  "(a)\\1": NOT_LINEAR,
  "[a-z]{1,63}": NOT_LINEAR,
  "(": "cannot be compiled (Unterminated group): correct it",
  "a)|(b": "cannot be compiled (Unmatched ')'): correct it",
  ["a".repeat(1024)]: "ok",
  ["a".repeat(1025)]: TOO_LONG(1025),
  [`(?:${"a".repeat(100)}){16}`]: TOO_LONG(1664),
  "(?:(?:[ab]{16}c){16}){4}": TOO_LONG(2384),
};

Deno.test("a proxy compiles each pattern that runs in linear time, and says why it rejects others", async () => {
  const flags = v8FlagsOf("proxy");
  assert.ok(flags !== undefined, "the proxy is started with flags for V8");
  const patterns = Object.keys(PATTERNS);
  const said = await compiled(patterns, [flags]);
  const shown = (pattern: string) =>
    JSON.stringify(pattern.length > 100 ? `${pattern.slice(0, 100)}…` : pattern);
  for (const [i, pattern] of patterns.entries()) {
    const expected = PATTERNS[pattern];
    const reason = `the regular expression ${shown(pattern)} ${expected}`;
    assert.equal(said[i], expected === "ok" ? "ok" : reason);
  }
});

Deno.test("a process without V8's linear engine rejects every pattern", async () => {
  assert.deepEqual(await compiled(["/a"], []), [
    'the regular expression "/a" needs V8\'s linear engine: start the proxy with the --v8-flags ' +
    "of deno task proxy",
  ]);
});

// With others, V8 rejects the compiled code that another program has left in Deno's cache.
Deno.test("every program that matches requests starts with the same V8 flags", () => {
  const flags = v8FlagsOf("proxy");
  assert.equal(flags?.match(/regexp/g)?.length, 3);
  for (const task of ["dev", "explain", "lint", "pingress"]) {
    assert.equal(v8FlagsOf(task), flags, task);
  }
});

Deno.test("the proxy's images start it with the V8 flags of its task", () => {
  const flags = v8FlagsOf("proxy")!;
  const file = Deno.readTextFileSync("Dockerfile.proxy");
  assert.deepEqual(file.match(/--v8-flags=[^ "]+/g), [flags, flags]);
});
