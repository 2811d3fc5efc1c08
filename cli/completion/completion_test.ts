import assert from "node:assert/strict";
import { join } from "node:path";
import { capturedTerminal } from "../../tests/support/captured_terminal.ts";
import { runCommand } from "../../tools/command.ts";
import { COMMANDS } from "../commands.ts";
import { main } from "../main.ts";

const NAMES = COMMANDS.map(({ name }) => name);

async function completion(args: readonly string[]) {
  const captured = capturedTerminal();
  const code = await main(["completion", ...args], captured.terminal);
  return { code, stdout: captured.stdout(), stderr: captured.stderr() };
}

/** What is typed, and some of what is offered; `absent` is not. */
const CASES: readonly {
  readonly typed: readonly string[];
  readonly offered: readonly string[];
  readonly absent: readonly string[];
}[] = [
  { typed: ["pingress", ""], offered: [...NAMES, "help"], absent: ["here.yaml"] },
  { typed: ["pingress", "li"], offered: ["lint"], absent: ["dev"] },
  { typed: ["pingress", "help", "v"], offered: ["version"], absent: ["lint"] },
  { typed: ["pingress", "lint", "--f"], offered: ["--fail-on"], absent: ["--output"] },
  { typed: ["pingress", "lint", "--help"], offered: ["--help"], absent: [] },
  {
    typed: ["pingress", "lint", "--output", ""],
    offered: ["text", "json", "sarif"],
    absent: ["here.yaml"],
  },
  { typed: ["pingress", "lint", "-o", "s"], offered: ["sarif"], absent: ["text"] },
  { typed: ["pingress", "lint", "h"], offered: ["here.yaml"], absent: ["help"] },
  { typed: ["pingress", "lint", "--kubeconfig", "h"], offered: ["here.yaml"], absent: [] },
  { typed: ["pingress", "codes", "ServiceN"], offered: ["ServiceNotFound"], absent: ["here.yaml"] },
  {
    typed: ["pingress", "completion", ""],
    offered: ["bash", "zsh", "fish"],
    absent: ["here.yaml"],
  },
  { typed: ["pingress", "version", "-o", "j"], offered: ["json"], absent: ["text"] },
  {
    typed: ["pingress", "diff", "--against", ""],
    offered: ["cluster", "git:", "here.yaml"],
    absent: ["text"],
  },
  {
    typed: ["pingress", "dev", "--port-offset", ""],
    offered: ["auto"],
    absent: ["here.yaml", "N"],
  },
];

/** What a shell offers for these words, of which the last is being typed. */
type Offers = (script: string, folder: string, typed: readonly string[]) => Promise<string[]>;

const SHELLS: Readonly<Record<string, Offers>> = {
  async bash(script, folder, typed) {
    const code = `cd "$1"; source "$2"; shift 2
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
      _pingress
      if ((\${#COMPREPLY[@]} == 0)); then COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")); fi
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    return await linesOf("bash", ["--norc", "-c", code, "bash", folder, script, ...typed]);
  },
  async fish(script, folder, typed) {
    const code = `cd $argv[1]; source $argv[2]; complete -C "$argv[3]"`;
    const lines = await linesOf("fish", [
      "--no-config",
      "-c",
      code,
      folder,
      script,
      typed.join(" "),
    ]);
    return lines.map((line) => line.split("\t")[0]);
  },
  async zsh(script, folder, typed) {
    return await linesOf("zsh", [
      "-f",
      join(import.meta.dirname!, "zsh_offers.zsh"),
      folder,
      script,
      typed.join(" "),
    ]);
  },
};

for (const [shell, offers] of Object.entries(SHELLS)) {
  Deno.test(`${shell} completes commands, flags, values and files`, async (test) => {
    const there = await runCommand(shell, ["--version"]);
    if (there.code !== 0) {
      console.log(`skipped: ${shell} is not installed`);
      return;
    }
    const folder = await Deno.makeTempDir();
    try {
      const script = join(folder, "completion");
      await Deno.writeTextFile(script, (await completion([shell])).stdout);
      await Deno.writeTextFile(join(folder, "here.yaml"), "");
      for (const { typed, offered, absent } of CASES) {
        await test.step(typed.join(" "), async () => {
          const got = await offers(script, folder, typed);
          for (const word of offered) assert.ok(got.includes(word), `${word} in ${got}`);
          for (const word of absent) assert.ok(!got.includes(word), `${word} not in ${got}`);
        });
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

for (
  const [typed, expected] of [
    [[""], [...NAMES, "help", "--help", "--version", ":4"]],
    [["li"], ["lint", ":4"]],
    [["help", "v"], ["version", ":4"]],
    [["explain", "--clu"], ["--cluster", ":4"]],
    [["lint", "-o", "s"], ["sarif", ":4"]],
    [["lint", "--output=s"], ["--output=sarif", ":4"]],
    [["lint", ""], [":0"]],
    [["lint", "--kubeconfig", ""], [":0"]],
    [["diff", "--against", ""], ["cluster", "git:", ":0"]],
    [["dev", "--port-offset", ""], ["auto", ":4"]],
    [["codes", "ServiceNotF"], ["ServiceNotFound", ":4"]],
    [["none", ""], [":4"]],
  ] as const
) {
  Deno.test(`kubectl is offered ${expected.join(" ")} for ${typed.join(" ")}`, async () => {
    const { code, stdout } = await completion(["--offers", "--", ...typed]);
    assert.deepEqual([code, stdout.trimEnd().split("\n")], [0, [...expected]]);
  });
}

Deno.test("without a known shell, the exit code is 2 and the message names them", async () => {
  for (const args of [[], ["tcsh"], ["bash", "zsh"], ["bash", "-o", "json"]]) {
    const { code, stdout, stderr } = await completion(args);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /^pingress completion needs one of bash, zsh, fish, or -o json/);
  }
});

Deno.test("JSON has every command with its flags and their values", async () => {
  const { code, stdout } = await completion(["-o", "json"]);
  assert.equal(code, 0);
  const { v, commands } = JSON.parse(stdout);
  assert.equal(v, 1);
  assert.deepEqual(commands.map(({ name }: { name: string }) => name), NAMES);
  const { flags, argument } = commands[NAMES.indexOf("lint")];
  assert.equal(argument, "files");
  assert.deepEqual(flags[0].values.slice(0, 2), ["text", "json"]);
  assert.equal(flags[0].short, "o");
});

async function linesOf(program: string, args: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runCommand(program, args);
  assert.equal(code, 0, stderr);
  return stdout.split("\n").filter((line) => line !== "");
}
