import { deepEqual, equal, ok } from "node:assert/strict";
import { join } from "node:path";
import { testFiles } from "./test_files.ts";

const ROOT = join(import.meta.dirname!, "..", "..");
const config = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));
const included: string[] = config.test.include;

Deno.test("every test file is run by deno task test, or by a task that names its folder", () => {
  const commands = Object.values<{ command: string }>(config.tasks).map(({ command }) => command);
  const named = commands.flatMap((command) =>
    command.split(/\s+(?:&&\s+)?/).includes("test")
      ? command.match(/\btests\/\w+(?=\s|$)/g) ?? []
      : []
  );
  const run = [...included, ...named];
  const files = testFiles(".", ROOT);
  ok(files.length > 300, `${files.length} files were found`);
  deepEqual(files.filter((path) => !run.some((folder) => path.startsWith(`${folder}/`))), []);
  deepEqual(named.filter((folder) => included.includes(folder)), [], "no test is run by two tasks");
});

/** As the task does, with a folder of its own in place of the repository. */
async function runTests(
  args: string[],
  env: Record<string, string> = {},
  more: Record<string, string> = {},
) {
  const folder = await Deno.makeTempDir({ prefix: "pingress-test-run-" });
  try {
    await Deno.writeTextFile(join(folder, "deno.json"), '{ "test": { "include": ["in"] } }');
    for (const part of ["in", "out"]) await Deno.mkdir(join(folder, part));
    const text = 'Deno.test("jobs " + Deno.env.get("DENO_JOBS"), () => {});';
    await Deno.writeTextFile(join(folder, "in/a_test.ts"), text);
    await Deno.writeTextFile(
      join(folder, "out/b_test.ts"),
      'Deno.test("fails", () => { throw 1; });',
    );
    for (const [path, text] of Object.entries(more)) {
      await Deno.writeTextFile(join(folder, path), text);
    }
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", join(ROOT, "tools/test_run/main.ts"), ...args],
      cwd: folder,
      env: { NO_COLOR: "1", ...env },
    }).output();
    return { code, output: new TextDecoder().decode(stdout) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("without arguments, the included tests run, with as many jobs as DENO_JOBS sets", async () => {
  const { code, output } = await runTests([], { DENO_JOBS: "3" });
  ok(output.includes("./in/a_test.ts => jobs 3 ... ok"), output);
  ok(!output.includes("fails"), output);
  equal(code, 0);
});

Deno.test("tests of files that share an isolate are shown with their own file, however they are registered", async () => {
  const { code, output } = await runTests([], {}, {
    "in/b_test.ts": `
      Deno.test(function byFunction() {});
      Deno.test({ name: "by options", fn() {} });
      Deno.test({ name: "by options and function" }, () => {});
      Deno.test("by name, options and function", {}, () => {});
      Deno.test.ignore("ignored", () => {});`,
    "in/c_test.ts": `
      Deno.test("with steps", async (t) => {
        await t.step("a step", () => { throw new Error("broken"); });
      });`,
  });
  equal(code, 1);
  for (
    const line of [
      "./in/b_test.ts => byFunction ... ok",
      "./in/b_test.ts => by options ... ok",
      "./in/b_test.ts => by options and function ... ok",
      "./in/b_test.ts => by name, options and function ... ok",
      "./in/b_test.ts => ignored ... ignored",
      "./in/c_test.ts => with steps ... a step ... FAILED",
      "with steps ... a step => ./in/c_test.ts:3:17",
      "| 5 passed | 1 failed (1 step) | 1 ignored",
    ]
  ) ok(output.includes(line), `${line} is missing in ${output}`);
  ok(!output.includes(".group.ts"), output);
});

Deno.test("a named file is run, and its failure is the exit code", async () => {
  const { code, output } = await runTests(["out/b_test.ts"]);
  ok(output.includes("./out/b_test.ts => fails ... FAILED"), output);
  ok(!output.includes("jobs"), output);
  equal(code, 1);
});
