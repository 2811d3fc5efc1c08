/** Whole runs of CI's steps, with steps that pass, fail, hang, crash or fail once. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";

const MAIN = join(import.meta.dirname!, "main.ts");

/** Files of tests that the planted steps run, in the folder that is their working directory. */
const TESTS: Record<string, string> = {
  // One passes, one fails always, one fails once.
  "mixed_test.ts": `
    Deno.test("always good", () => {});
    Deno.test("always bad", () => { throw new Error("bad"); });
    Deno.test("bad once", async (t) => {
      await t.step("inner", () => {
        try { Deno.statSync("mixed"); return; } catch { Deno.writeTextFileSync("mixed", ""); }
        throw new Error("once");
      });
    });`,
  "good_test.ts": `Deno.test("good", () => {});`,
  // The first run ends before the second test; the rerun has two that pass.
  "uncaught_test.ts": `
    Deno.test("first", () => {
      try { Deno.statSync("uncaught"); return; } catch { Deno.writeTextFileSync("uncaught", ""); }
      Promise.reject(new Error("late"));
    });
    Deno.test("second", () => new Promise((done) => setTimeout(done, 10)));`,
  "ignored_test.ts": `Deno.test.ignore("left out", () => {});`,
};

interface CiRun {
  readonly code: number;
  readonly lines: string[];
  readonly flaky: string[];
  readonly folder: string;
}

async function runCi(
  t: { folder: string },
  steps: string,
  args: string[] = [],
  env: Record<string, string> = {},
): Promise<CiRun> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", MAIN, ...args],
    cwd: t.folder,
    env: { NO_COLOR: "1", CI: "", PINGRESS_CI_PATIENCE: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(steps));
  await writer.close();
  const { code, stdout } = await child.output();
  const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
  const flaky = lines.filter((line) => line.startsWith("flaky: "));
  return { code, lines, flaky, folder: t.folder };
}

async function inFolder(work: (t: { folder: string }) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "pingress-ci-" });
  try {
    for (const [name, text] of Object.entries(TESTS)) {
      await Deno.writeTextFile(join(folder, name), text);
    }
    await work({ folder });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const once = (name: string, instead: string) => `test -e ${name} || { touch ${name}; ${instead}; }`;

Deno.test("a run whose failures pass in a second run is green, and names them", () =>
  inFolder(async (t) => {
    const { code, lines, flaky } = await runCi(
      t,
      `
passes | 1 | true
fails once | 1 | ${once("failed", "false")}
hangs once | 0.1 | ${once("hung", "sleep 600")}
crashes once | 1 | ${once("crashed", "kill -KILL $$")}
tests | 1 | deno test -A --no-check --parallel good_test.ts uncaught_test.ts
slow & | 1 | until test -e go; do sleep 0.05; done; echo the slow one is through
beside after passes | 1 | touch go
last after slow | 1 | test -e go
apart in own session | 1 | test $(cut -d ' ' -f 6 /proc/self/stat) = $PPID
`,
    );
    deepEqual(flaky, [
      "flaky: fails once",
      "flaky: hangs once",
      "flaky: crashes once",
      "flaky: tests: ./uncaught_test.ts: first",
      "flaky: tests: ./uncaught_test.ts: second",
      "flaky: tests: ./uncaught_test.ts: an error that no test caught",
    ]);
    equal(lines.filter((line) => line === "the slow one is through").length, 1);
    // Eight steps without tests, and three tests, each counted once.
    equal(lines.at(-1), "11 passed, 0 failed");
    equal(code, 0);
  }));

Deno.test("a step that fails twice fails the run, and each test counts with its last result", () =>
  inFolder(async (t) => {
    const stray = join(t.folder, "stray");
    const { code, lines, flaky } = await runCi(
      t,
      `
passes | 1 | true
fails | 1 | echo 'error: as planted'; false
hangs in own session | 0.01 | (trap '' TERM; echo $BASHPID >${stray}; while :; do sleep 1; done) & wait
tests | 1 | deno test -A --no-check mixed_test.ts good_test.ts
breaks off | 1 | deno test -A missing_test.ts
skips | 1 | deno test -A --no-check ignored_test.ts good_test.ts
`,
      ["nginx-light"],
      { CI: "true" },
    );
    deepEqual(flaky, ["flaky: tests: ./mixed_test.ts: bad once"]);
    const failed = lines.indexOf("failed:");
    deepEqual(lines.slice(failed + 1, lines.indexOf("", failed)), [
      "  install nginx-light",
      "  fails",
      "  hangs: took longer than 0.6 s",
      "  tests",
      "  breaks off",
      "  skips: nothing may be skipped where CI=true",
    ]);
    equal(lines.filter((line) => line === "error: as planted").length, 3, "twice, and at the end");
    // passes, three of the four tests and the one beside what is skipped; and as many failures
    // as have a line above.
    equal(lines.at(-1), "5 passed, 6 failed");
    equal(code, 1);
    await rejectsProcess(Number(await Deno.readTextFile(stray)));
  }));

/** A process that ignores SIGTERM has ended with the step that started it. */
async function rejectsProcess(pid: number): Promise<void> {
  const state = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  // Killed, and maybe not yet collected by whoever is its parent now.
  ok(state === "" || /\) [ZX] /.test(state), `process ${pid} is left behind: ${state}`);
}

Deno.test("no step and no rerun exceeds the time limit of the whole", () =>
  inFolder(async (t) => {
    const { code, lines, flaky } = await runCi(
      t,
      `
fails | 1 | false
hangs | 1 | sleep 600
too late | 1 | true
`,
      ["--minutes", "0.5", "--spent", "57"],
      { PINGRESS_CI_PATIENCE: "2" },
    );
    deepEqual(flaky, []);
    const text = lines.join("\n");
    match(text, /^fails: not run once more: the 1 minutes of the whole are used up$/m);
    match(text, /^ {2}too late: not run: no time was left$/m);
    equal(lines.at(-1), "0 passed, 3 failed");
    equal(code, 1);
  }));

Deno.test("an unreadable list is a failed run", () =>
  inFolder(async (t) => {
    const { code, lines } = await runCi(t, "check: deno task check\n");
    equal(lines[0], "check: deno task check: write NAME | MINUTES | COMMAND");
    equal(lines.at(-1), "0 passed, 1 failed");
    equal(code, 1);
  }));
