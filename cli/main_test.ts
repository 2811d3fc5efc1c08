import assert from "node:assert/strict";
import { capturedTerminal } from "../tests/support/captured_terminal.ts";
import { COMMANDS } from "./commands.ts";
import { main } from "./main.ts";
import { VERSION } from "../shared/version.ts";

const CONFIG = JSON.parse(Deno.readTextFileSync(new URL("../deno.json", import.meta.url)));

/** Serves until it is stopped, and prints what it does: there is no result that could be JSON. */
const WITHOUT_JSON = ["dev"];

async function run(args: readonly string[], columns?: number) {
  const captured = capturedTerminal({ isTerminal: columns !== undefined, columns });
  const code = await main(args, captured.terminal);
  return { code, stdout: captured.stdout(), stderr: captured.stderr() };
}

Deno.test("--help lists every command with its summary", async () => {
  for (const args of [["help"], ["--help"], ["-h"], ["help", "help"], ["help", "--help"]]) {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stderr], [0, ""]);
    for (const { name, summary } of COMMANDS) {
      assert.match(stdout, new RegExp(`^  ${name} +${summary.slice(0, 20)}`, "m"));
    }
  }
});

const NO_FULL_DISK = Deno.build.os !== "linux";

Deno.test("a full disk is one line, and the exit code is 2", { ignore: NO_FULL_DISK }, async () => {
  const arguments_ = ["task", "-q", "pingress", "codes"];
  const { code, stderr } = await new Deno.Command("sh", {
    args: ["-c", 'exec "$0" "$@" > /dev/full', Deno.execPath(), ...arguments_],
    cwd: new URL("..", import.meta.url),
    stdout: "null",
  }).output();
  const text = new TextDecoder().decode(stderr);
  assert.match(text, /^Cannot write the output: No space left on device.*\n$/);
  assert.equal(code, 2);
});

Deno.test("without a command, the help goes to standard error, and the exit code is 2", async () => {
  const { code, stdout, stderr } = await run([]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /^Usage: pingress COMMAND/m);
});

Deno.test("an unknown command gets the nearest one", async () => {
  for (
    const [written, pattern] of [
      ["versoin", /no command "versoin"; did you mean version\?/],
      ["LINT", /no command "LINT"; did you mean lint\?/],
      ["xyzzy-plugh", /no command "xyzzy-plugh"\n/],
      ["--output", /"--output" stands before the command; write pingress COMMAND \[flags\]/],
      ["a\x1b[31m\u202e", /no command "a\\u001b\[31m\\u202e"/],
    ] as const
  ) {
    const { code, stdout, stderr } = await run([written]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, pattern);
    assert.match(stderr, /\npingress --help lists the commands\n$/);
  }
});

Deno.test("an unknown flag gets the nearest one, or the commands that have it", async () => {
  for (
    const [args, pattern] of [
      [["version", "--ouptut", "json"], /"--ouptut" is an unknown flag; did you mean --output\?/],
      [
        ["version", "--listen-http", ":80"],
        /"--listen-http" is no flag of pingress version; it is a flag of pingress dev\n/,
      ],
      [
        ["lint", "examples", "--map", "a/b=c:1"],
        /"--map" is no flag of pingress lint; it is a flag of pingress dev/,
      ],
      [["version", "--xyzzy-plugh"], /"--xyzzy-plugh" is an unknown flag\n/],
      [["version", "now"], /"now" is an unexpected argument/],
      [["version", "-o", "yaml"], /--output got "yaml"; it takes one of text, json/],
    ] as const
  ) {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, pattern);
  }
});

for (const { name, permissions, summary, load } of COMMANDS) {
  Deno.test(`pingress ${name}: help agrees, wherever it stands, and fits the terminal`, async () => {
    const { program, specs } = await load();
    assert.equal(program.name, `pingress ${name}`);
    assert.ok(summary.endsWith(".") && summary.length <= 80, summary);
    const { code, stdout, stderr } = await run(["help", name]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.ok(stdout.startsWith(program.summary.slice(0, 30)));
    for (const args of [["--help"], ["-h"], ["--no-such-flag", "--help"]]) {
      assert.deepEqual(await run([name, ...args]), { code: 0, stdout, stderr: "" });
    }
    const narrow = await run([name, "--help"], 60);
    for (const line of narrow.stdout.split("\n")) {
      // A word that is longer has its line, and flags are not broken.
      assert.ok(
        line.length <= 60 || !/\S +\S/.test(line.trim()) || /^ *(--|Usage)/.test(line),
        line,
      );
    }
    assert.ok(CONFIG.permissions[permissions] !== undefined, permissions);
    const output = specs.output;
    if (WITHOUT_JSON.includes(name)) return;
    assert.ok(output?.type === "choice");
    assert.deepEqual(output.choices.slice(0, 2), ["text", "json"]);
    assert.equal(output.default, "text");
  });
}

Deno.test("version prints the version, as text and as JSON", async () => {
  const expected = { v: 1, version: VERSION, deno: Deno.version.deno, v8: Deno.version.v8 };
  for (const args of [["version"], ["--version"], ["-v"], ["-V"]]) {
    const { code, stdout } = await run(args);
    assert.deepEqual([code, stdout], [0, `pingress ${VERSION} (Deno ${Deno.version.deno})\n`]);
  }
  for (const flag of ["-o=json", "-ojson", "--output=json"]) {
    const { code, stdout } = await run(["version", flag]);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), expected);
  }
});
