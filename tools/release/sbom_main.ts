/** `deno task release:sbom`. In: the command line and the sources. Out: one file a program. */
import { join } from "node:path";
import { parseOptions } from "../../shared/options.ts";
import { commandLineProgram } from "../compile.ts";
import { runCommand } from "../command.ts";
import { contentOf, type ModuleGraph } from "../bundle/packages.ts";
import { INSTALLED_PROGRAMS } from "../programs.ts";
import { SBOM_OPTIONS, SBOM_PROGRAM } from "./options.ts";
import { sbomOf } from "./sbom.ts";

const parsed = parseOptions(SBOM_PROGRAM, SBOM_OPTIONS, Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const root = Deno.cwd();
const read = (path: string) => JSON.parse(Deno.readTextFileSync(path));
const { version, license } = read("deno.json");
const { npm: hashes } = read("deno.lock");
const { output } = parsed.options;
await Deno.mkdir(output, { recursive: true });
for (const { image, entries } of [...INSTALLED_PROGRAMS, await commandLineProgram(root)]) {
  const { packages } = contentOf(await Promise.all(entries.map(graphOf)));
  const document = sbomOf({ name: image, version, license, packages }, {
    hashes,
    licenseOf: ({ localPath }) => read(join(localPath, "package.json")).license ?? "NOASSERTION",
    created: await commitTime(),
  });
  const path = join(output, `${image}.spdx.json`);
  await Deno.writeTextFile(path, `${JSON.stringify(document, null, 2)}\n`);
  console.log(`${path}  ${packages.size} packages`);
}

async function graphOf(entry: string): Promise<ModuleGraph> {
  const { code, stdout, stderr } = await runCommand("deno", ["info", "--json", entry]);
  if (code !== 0) throw new Error(`deno info ${entry} failed: ${stderr.trim()}`);
  return JSON.parse(stdout);
}

/** So that the same sources give the same file. */
async function commitTime(): Promise<string> {
  const { code, stdout, stderr } = await runCommand("git", ["log", "-1", "--format=%ct"]);
  if (code !== 0) throw new Error(`git log failed: ${stderr.trim()}`);
  return new Date(Number(stdout) * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}
