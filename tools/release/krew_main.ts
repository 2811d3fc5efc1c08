/**
 * `deno task release:krew`. In: the command line, and executables that are compiled. Out: an archive a
 * platform and `pingress.yaml`; a platform without an executable ends it.
 */
import { join } from "node:path";
import { stringify } from "yaml";
import { parseOptions } from "../../shared/options.ts";
import { runCommand } from "../command.ts";
import { type Archive, archiveName, krewManifest, PLATFORMS, pluginFile } from "./krew.ts";
import { KREW_OPTIONS, KREW_PROGRAM } from "./options.ts";

const parsed = parseOptions(KREW_PROGRAM, KREW_OPTIONS, Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { version, input, output } = parsed.options;
const archives: Archive[] = [];
for (const platform of PLATFORMS) {
  const staging = join(output, "staging");
  await Deno.mkdir(staging, { recursive: true });
  const suffix = platform.os === "windows" ? ".exe" : "";
  const executable = join(input, `pingress-${platform.target}${suffix}`);
  const file = pluginFile(platform);
  try {
    await Deno.copyFile(executable, join(staging, file));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.error(
      `There is no ${executable}; make it with ` +
        `deno task compile --program pingress --target ${platform.target}`,
    );
    Deno.exit(1);
  }
  await Deno.chmod(join(staging, file), 0o755);
  await Deno.copyFile("LICENSE", join(staging, "LICENSE"));
  const archive = join(output, archiveName(platform));
  await pack(archive, staging, [file, "LICENSE"]);
  const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(archive));
  archives.push({ platform, sha256: new Uint8Array(digest).toHex() });
  await Deno.remove(staging, { recursive: true });
  console.log(archive);
}
const manifest = join(output, "pingress.yaml");
await Deno.writeTextFile(manifest, stringify(krewManifest(version, archives)));
console.log(manifest);

/** The same bytes for the same files: no times, no names of users. */
async function pack(archive: string, folder: string, files: readonly string[]): Promise<void> {
  const { code, stderr } = await runCommand("tar", [
    "--create",
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--use-compress-program=gzip -n",
    `--file=${archive}`,
    `--directory=${folder}`,
    ...files,
  ]);
  if (code !== 0) throw new Error(`tar failed: ${stderr.trim()}`);
}
