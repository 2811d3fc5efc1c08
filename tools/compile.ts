/**
 * Executables of controller and proxy, and of the command line. In: the command line. Out: files in `dist/` that need no Deno
 * and may do what the permission sets of deno.json allow, or what stands in the way, with a remedy.
 *
 *     deno task compile --target aarch64-unknown-linux-gnu
 */
import { join } from "node:path";
import { parseOptions } from "../shared/options.ts";
import { runCommand } from "./command.ts";
import { COMPILE_OPTIONS, COMPILE_PROGRAM } from "./deployment_options.ts";
import type { ModuleGraph } from "./bundle/packages.ts";
import { entriesOf } from "./bundle/entries.ts";
import {
  compileArguments,
  type CompiledProgram,
  type DenoConfig,
  INSTALLED_PROGRAMS,
} from "./programs.ts";

/**
 * What ends `deno compile` of 2.9 by a stack overflow: a test's data, which look like a module.
 * https://github.com/denoland/deno/issues/36746
 */
const UNCOMPILABLE = { package: "bintrees", folder: "test" };

/** What to do about a complaint of `deno compile`; "" where it speaks for itself. */
export function compileRemedy(complaint: string, version: string): string {
  if (!/dl\.deno\.land|Setting up base binary/.test(complaint)) return "";
  return [
    "deno compile downloads a part of Deno, denort, from https://dl.deno.land, which cannot be",
    `reached from here. Either put denort-SYSTEM.zip of Deno ${version} into the folder`,
    `dl/release/v${version} of Deno's cache (deno info shows where it is), or do without: build`,
    "images with deno task images --target run, which hold Deno itself.",
  ].join("\n");
}

/** The program `pingress`, with the rights of all of its commands together. */
export async function commandLineProgram(root: string): Promise<CompiledProgram> {
  const main = "cli/main.ts";
  const threads = [...(await entriesOf(root, main)).keys()].slice(1);
  return { name: "pingress", image: "pingress", entries: [main, ...threads] };
}

async function compile(
  config: DenoConfig,
  programs: readonly CompiledProgram[],
  target: string | null,
): Promise<boolean> {
  const info = await runCommand("deno", ["info", "--json", "controller/process/controller.ts"]);
  if (info.code !== 0) {
    console.error(`deno info: ${info.stderr.trim()}`);
    return false;
  }
  const { npmPackages }: ModuleGraph = JSON.parse(info.stdout);
  const excluded = Object.values(npmPackages)
    .filter(({ name }) => name === UNCOMPILABLE.package)
    .map(({ localPath }) => join(localPath, UNCOMPILABLE.folder));
  for (const program of programs) {
    const suffix = target === null ? "" : `-${target}`;
    const output = join("dist", `${program.image}${suffix}`);
    const args = compileArguments(config, program, {
      output,
      target,
      excluded,
    });
    const { code, stderr } = await runCommand("deno", args);
    if (code !== 0) {
      const complaint = stderr.replace(/\n[ \t]{0,16}Stack backtrace:[^]*$/, "").trim();
      console.error(`${output} cannot be made: deno compile says\n\n${complaint}\n`);
      console.error(compileRemedy(complaint, Deno.version.deno));
      return false;
    }
    const made = target?.includes("windows") ? `${output}.exe` : output;
    console.log(`${made}  ${Math.round(Deno.statSync(made).size / 1e6)} MB`);
  }
  return true;
}

if (import.meta.main) {
  const parsed = parseOptions(COMPILE_PROGRAM, COMPILE_OPTIONS, Deno.args);
  if (parsed.kind !== "ok") {
    (parsed.kind === "help" ? console.log : console.error)(parsed.text);
    Deno.exit(parsed.kind === "help" ? 0 : 2);
  }
  const config: DenoConfig = JSON.parse(Deno.readTextFileSync("deno.json"));
  Deno.mkdirSync("dist", { recursive: true });
  const { target: targets, program: names } = parsed.options;
  const installed = INSTALLED_PROGRAMS.filter(({ name }) => names.includes(name));
  const programs = names.includes("pingress")
    ? [...installed, await commandLineProgram(Deno.cwd())]
    : installed;
  for (const target of targets.length === 0 ? [null] : targets) {
    if (!await compile(config, programs, target)) Deno.exit(1);
  }
}
