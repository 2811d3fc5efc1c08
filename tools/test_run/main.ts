/**
 * `deno task test`. In: files, folders or flags for `deno test`; without any, the files that
 * `test.include` in deno.json names, in groups. Out: what `deno test` prints, and its exit code.
 *
 * Folders run in the order of `test.include`: those with the longest tests come first, so that the
 * cores do not wait for the last ones.
 *
 * Tests wait more than they work: with as many files at a time as there are cores, two cores rest
 * half of the time. `DENO_JOBS` says otherwise. Types are the business of `deno task check`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { testFiles } from "./test_files.ts";
import { groupFiles, groupModule, ungroup } from "./test_groups.ts";

const FILES_A_CORE = 2;

const jobs = Deno.env.get("DENO_JOBS") ?? String(FILES_A_CORE * navigator.hardwareConcurrency);

Deno.exit(Deno.args.length > 0 ? await denoTest(Deno.args) : await testGroups());

async function testGroups(): Promise<number> {
  const { test } = JSON.parse(Deno.readTextFileSync("deno.json"));
  const root = pathToFileURL(`${Deno.cwd()}/`);
  const folder = Deno.makeTempDirSync({ prefix: "pingress-test-groups-" });
  try {
    const groups = (test.include as string[]).flatMap((folder) => groupFiles(testFiles(folder)));
    const modules = groups.map((group, index) => {
      const path = join(folder, `${index}.group.ts`);
      Deno.writeTextFileSync(path, groupModule(group, root));
      return path;
    });
    return await denoTest(["--config=deno.json", ...modules]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

async function denoTest(args: readonly string[]): Promise<number> {
  const child = spawn(
    Deno.execPath(),
    ["test", "--allow-all", "--no-check", "--parallel", ...args],
    { stdio: ["inherit", "pipe", "inherit"], env: { ...Deno.env.toObject(), DENO_JOBS: jobs } },
  );
  // A terminal sends ^C to both: this process outlives its child, to remove the groups.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => child.kill(signal));
  }
  const ended = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) console.log(ungroup(line));
  const [code] = await ended;
  return code ?? 1;
}
