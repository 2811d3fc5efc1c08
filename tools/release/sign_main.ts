/** `deno task release:sign`. In: the command line, pushed images and their lists of packages. Out: signatures in the registry. */
import { parseOptions } from "../../shared/options.ts";
import { runCommand, shellLine } from "../command.ts";
import { INSTALLED_PROGRAMS } from "../programs.ts";
import { SIGN_OPTIONS, SIGN_PROGRAM } from "./options.ts";
import { digestOf, signCommands } from "./signatures.ts";

const parsed = parseOptions(SIGN_PROGRAM, SIGN_OPTIONS, Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { registry, tag, digests, dryRun } = parsed.options;
const lines: string[] = [];
/** In place of a digest that only the registry knows. */
const UNKNOWN = "sha256:DIGEST";

for (const { name, image } of INSTALLED_PROGRAMS) {
  const repository = `${registry}/${image}`;
  const inspect = ["buildx", "imagetools", "inspect", `${repository}:${tag}`];
  if (dryRun) console.log(`$ ${shellLine("docker", inspect)}`);
  const digest = dryRun ? UNKNOWN : digestOf(await output("docker", inspect));
  if (digest === null) fail(`docker prints no digest of ${repository}:${tag}`);
  lines.push(`${name}=${digest}\n`);
  for (const args of signCommands({ repository, digest, sbom: `dist/${image}.spdx.json` })) {
    console.log(`$ ${shellLine("cosign", args)}`);
    if (!dryRun) await output("cosign", args);
  }
}

if (!dryRun) await Deno.writeTextFile(digests, lines.join(""));

async function output(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(program, args);
  if (code !== 0) fail(`${shellLine(program, args)} failed: ${stderr.trim()}`);
  return stdout;
}

function fail(message: string): never {
  console.error(message);
  Deno.exit(1);
}
