/**
 * The npm package of the program `pingress`. In: the sources. Out: the folder `dist/npm/pingress` and
 * what `npm pack` makes of it.
 *
 *     deno task package
 */
import { join } from "node:path";
import { COMMANDS } from "../../cli/commands.ts";
import { parseOptions } from "../../shared/options.ts";
import { runCommand } from "../command.ts";
import { PACKAGE_OPTIONS, PACKAGE_PROGRAM } from "../deployment_options.ts";
import { makeBundle } from "../bundle/bundle.ts";
import { licencesText } from "../bundle/licences.ts";
import { packageJson } from "./package_json.ts";
import { packageConfig, startTable } from "./start_table.ts";

const ROOT = join(import.meta.dirname!, "../..");

const PROGRAM = "cli/main.ts";

/** It is not started by a task. */
const SUBSTITUTES = new Map([["dev/start_command.ts", "tools/npm/start_command.ts"]]);

/** The package has no tasks, and its commands have the tasks' names. */
const TASK = /\bdeno task (?=[a-z])/g;

const parsed = parseOptions(PACKAGE_PROGRAM, PACKAGE_OPTIONS, Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { output } = parsed.options;
const folder = join(output, "pingress");
if (await isThere(output)) await Deno.remove(output, { recursive: true });
await Deno.mkdir(join(folder, "bin"), { recursive: true });
const { content } = await makeBundle({
  root: ROOT,
  program: PROGRAM,
  output: join(folder, "lib"),
  staging: join(output, "staging"),
  substitutes: SUBSTITUTES,
  edit: (source) => source.replace(TASK, "pingress "),
});
const config = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
await writeJson("lib/deno.json", packageConfig(config, COMMANDS));
await writeJson("lib/start.json", startTable(config, COMMANDS));
await writeJson("package.json", packageJson(config));
await Deno.writeTextFile(
  join(folder, "THIRD_PARTY_LICENSES"),
  licencesText([...content.packages.values()]),
);
for (const name of ["pingress.cjs", "kubectl_complete.cjs"]) {
  await Deno.copyFile(join(ROOT, "tools/npm", name), join(folder, "bin", name));
  await Deno.chmod(join(folder, "bin", name), 0o755);
}
await Deno.copyFile(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
await Deno.copyFile(join(ROOT, "docs/pingress.md"), join(folder, "README.md"));
await Deno.remove(join(output, "staging"), { recursive: true });
const packed = await runCommand("npm", ["pack", "--silent", folder, "--pack-destination", output]);
if (packed.code !== 0) {
  console.error(`${folder} is there, but npm pack failed: ${packed.stderr.trim()}`);
  Deno.exit(1);
}
const archive = join(output, packed.stdout.trim().split("\n").at(-1)!);
const { size } = await Deno.stat(archive);
console.log(`${archive}  ${(size / 1e6).toFixed(1)} MB, unpacked ${unpackedSize()} MB`);

async function writeJson(path: string, value: unknown): Promise<void> {
  await Deno.writeTextFile(join(folder, path), `${JSON.stringify(value, null, 2)}\n`);
}

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

function unpackedSize(): string {
  const sizeOf = (path: string): number =>
    Array.from(Deno.readDirSync(path)).reduce((sum, { name, isDirectory }) => {
      const each = join(path, name);
      return sum + (isDirectory ? sizeOf(each) : Deno.statSync(each).size);
    }, 0);
  return (sizeOf(folder) / 1e6).toFixed(1);
}
