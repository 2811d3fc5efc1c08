/**
 * Images of controller and proxy. In: the command line, the two Dockerfiles, and the first of docker,
 * podman and buildah that works. Out: images in its storage, or in a registry.
 *
 *     deno task images --registry registry.example.com/team --push
 */
import { parseOptions } from "../shared/options.ts";
import { runCommand, shellLine } from "./command.ts";
import { ENGINES, IMAGES_OPTIONS, IMAGES_PROGRAM } from "./deployment_options.ts";
import { buildCommands, type Engine, PROBES, sizeCommand } from "./engines.ts";
import { INSTALLED_PROGRAMS } from "./programs.ts";

/** What failed, on standard error, and the end. */
function fail(...lines: readonly string[]): never {
  console.error(lines.filter((line) => line !== "").join("\n"));
  Deno.exit(1);
}

async function findEngine(): Promise<Engine> {
  const complaints: string[] = [];
  for (const engine of ENGINES) {
    const { code, stderr } = await runCommand(engine, PROBES[engine]);
    if (code === 0) return engine;
    complaints.push(`  ${engine}: ${stderr.trim().split("\n").at(-1)}`);
  }
  return fail(
    "None of the programs that build images works here:",
    ...complaints,
    "Install one of them (Debian: apt install buildah), or name one that works with --engine.",
  );
}

/** The folder `npm` of Deno's cache, once everything that is wanted is in it. */
async function cachedPackages(): Promise<string> {
  const entries = INSTALLED_PROGRAMS.flatMap((program) => program.entries);
  const fills = [["cache", "--quiet", "--frozen", "tools/bundle/image.ts", ...entries]];
  if (Deno.build.os !== "linux") {
    // Images are built on Linux, with another program of esbuild than that of this system.
    const arch = Deno.build.arch === "aarch64" ? "arm64" : "x64";
    fills.push(["install", "--quiet", "--frozen", "--os=linux", `--arch=${arch}`]);
  }
  for (const args of fills) {
    const { code, stderr } = await runCommand("deno", args);
    if (code !== 0) fail("Deno's cache cannot be filled:", stderr.trim());
  }
  const { stdout } = await runCommand("deno", ["info", "--json"]);
  return JSON.parse(stdout).npmCache;
}

/** What a Dockerfile's failed command means, as far as it can be told from the target. */
function remedy(target: string): string {
  return target === "compiled"
    ? "If it could not download from dl.deno.land, add --target run: that image needs no download " +
      "but of npm's packages, and with --offline not even that."
    : "If it could not download packages, add --offline, or name a registry that it reaches with " +
      "--build-arg NPM_CONFIG_REGISTRY=https://registry.example.com/";
}

function formatBytes(text: string): string {
  const bytes = Number(text);
  return Number.isNaN(bytes) ? text : `${Math.round(bytes / 1e6)} MB`;
}

const parsed = parseOptions(IMAGES_PROGRAM, IMAGES_OPTIONS, Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { options } = parsed;
const { registry, tag, target, push, dryRun } = options;
const platforms = options.platform?.split(",") ?? [];
if (platforms.length > 1 && !push) {
  fail("Images for several platforms exist in a registry only: add --push.");
}
const engine = options.engine ?? await findEngine();
const packages = options.offline ? await cachedPackages() : null;
for (const { name, image } of INSTALLED_PROGRAMS) {
  const reference = `${registry}/${image}:${tag}`;
  const commands = buildCommands(engine, {
    dockerfile: `Dockerfile.${name}`,
    target,
    reference,
    platforms,
    push,
    packages,
    buildArgs: options.buildArg,
  });
  for (const args of commands) {
    console.log(`$ ${shellLine(engine, args)}`);
    if (dryRun) continue;
    const { code, stderr } = await runCommand(engine, args, { shown: true });
    if (code !== 0) {
      fail("", stderr, `${reference} was not built; ${engine} says why above.`, remedy(target));
    }
  }
  if (dryRun || platforms.length > 1) continue;
  const size = await runCommand(engine, sizeCommand(engine, reference));
  if (size.code === 0) console.log(`\n${reference}  ${formatBytes(size.stdout.trim())}\n`);
}
if (!dryRun) {
  const flags = [
    ...(registry === IMAGES_OPTIONS.registry.default ? [] : ["--registry", registry]),
    ...(tag === IMAGES_OPTIONS.tag.default ? [] : ["--tag", tag]),
  ];
  console.log(
    push
      ? `Pushed. Install them with: ${shellLine("deno", ["task", "deploy", ...flags])}`
      : `Built. They are on this machine only: add --push, or load them into the nodes.`,
  );
}
