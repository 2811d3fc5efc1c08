/**
 * Programs written in Go: published ones, whose sources come through Go modules, and our own, by
 * default in `programs/`. In: which one. Out: the path of an executable, built once for each version,
 * or why there is none.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";

/** The Go that our own programs are written for, and that published ones are built with. */
const MINOR = 26;
const REMEDY = `install Go 1.${MINOR} or newer`;
const PROGRAMS = join(import.meta.dirname!, "programs");
/**
 * Those of `tests/cluster/build.sh`: what several programs consist of, the standard library above all, is
 * then compiled once for all of them. The linker drops debug information, so the compiler makes none.
 */
export const BUILD_FLAGS = ["-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w"];
/** How long a build may take, in ms: the largest fetch and compile a thousand packages. */
const PATIENCE = 1_800_000;

/** A command of a published module at one version, so that its cases are the same everywhere. */
export interface PublishedProgram {
  /** What it is called here: several are called `client` by themselves. */
  readonly name: string;
  /** `host/module/path@version`. */
  readonly module: string;
}

export const H2SPEC: PublishedProgram = {
  name: "h2spec",
  // 2.6.0: its tags are older than its go.mod.
  module: "github.com/summerwind/h2spec/cmd/h2spec@v0.0.0-20200804131034-70ac22940108",
};
export const GRPC_CLIENT: PublishedProgram = {
  name: "grpc-interop-client",
  module: "google.golang.org/grpc/interop/client@v1.85.0",
};
export const GRPC_SERVER: PublishedProgram = {
  name: "grpc-interop-server",
  module: "google.golang.org/grpc/interop/server@v1.85.0",
};
export const GRPCURL: PublishedProgram = {
  name: "grpcurl",
  module: "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3",
};

export const ACTIONLINT: PublishedProgram = {
  name: "actionlint",
  module: "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7",
};

/** A command of ours in another module than `programs/`. */
export interface OwnProgram {
  /** Of its folder. */
  readonly name: string;
  /** The folder of its module. */
  readonly sources: string;
}

/** The executable, or why it is missing, with its remedy. */
export type Found = { readonly path: string } | { readonly missing: string };

/** Builds a published program unless this version of it has been built before. */
export async function findPublished({ name, module }: PublishedProgram): Promise<Found> {
  const [path, version] = module.split("@");
  const target = join(cacheFolder(), `${name}@${version}`);
  return await buildOnce(target, name, async (folder) => {
    await go(["install", ...BUILD_FLAGS, module], { GOBIN: folder });
    await Deno.rename(join(folder, path.split("/").at(-1)!), join(folder, name));
  });
}

/** Builds a program of ours unless it has been built before as it is now. */
export async function findOwn(name: string, sources = PROGRAMS): Promise<Found> {
  const target = join(cacheFolder(), `${name}@${await digestOf(name, sources)}`);
  return await buildOnce(target, name, async (folder) => {
    await go(["build", ...BUILD_FLAGS, "-o", join(folder, name), `./${name}`], {}, sources);
  });
}

/**
 * The paths of these programs, in order; null where one is missing: then this says that `test` is
 * skipped, and why. In CI nothing is skipped: it throws.
 */
export async function findPrograms(
  test: string,
  programs: readonly (PublishedProgram | OwnProgram | string)[],
): Promise<string[] | null> {
  const paths: string[] = [];
  // One after another: each build has both cores.
  for (const program of programs) {
    const found = await findProgram(program);
    if ("missing" in found) return skip(test, found.missing);
    paths.push(found.path);
  }
  return paths;
}

/** @param program A string is a program of `programs/`. */
export function findProgram(program: PublishedProgram | OwnProgram | string): Promise<Found> {
  if (typeof program === "string") return findOwn(program);
  if ("sources" in program) return findOwn(program.name, program.sources);
  return findPublished(program);
}

/** Says that `test` is skipped; in CI, where nothing is, throws. */
export function skip(test: string, missing: string): null {
  if (Deno.env.get("CI") === "true") throw new Error(`${test}: ${missing}`);
  console.log(`skipped: ${test}: ${missing}`);
  return null;
}

/** Where builds stay; PINGRESS_PEERS names another folder. */
export function cacheFolder(): string {
  const home = Deno.env.get("HOME") ?? Deno.cwd();
  return Deno.env.get("PINGRESS_PEERS") ?? join(home, ".cache", "pingress-peers");
}

/** An executable of the folder `target`, which `build` makes where it is missing. */
export async function buildOnce(
  target: string,
  name: string,
  build: (folder: string) => Promise<void>,
): Promise<Found> {
  const executable = join(target, name);
  if (await exists(executable)) return { path: executable };
  const missing = await missingGo();
  if (missing !== null) return { missing: `${name} cannot be built: ${missing}` };
  await Deno.mkdir(cacheFolder(), { recursive: true });
  // Elsewhere until it is whole: a build that was interrupted must not count as one.
  const folder = await Deno.makeTempDir({ dir: cacheFolder() });
  try {
    await build(folder);
    await Deno.rename(folder, target);
  } catch (error) {
    await Deno.remove(folder, { recursive: true });
    // Somebody else was faster.
    if (await exists(executable)) return { path: executable };
    return { missing: `${name} cannot be built: ${message(error)}` };
  }
  return { path: executable };
}

/** Why nothing can be built here; null where it can. */
async function missingGo(): Promise<string | null> {
  let version: string;
  try {
    version = await go(["env", "GOVERSION"]);
  } catch (error) {
    return `Go is not installed: ${message(error)} (remedy: ${REMEDY})`;
  }
  const minor = /^go1\.(\d+)/.exec(version)?.[1];
  if (minor !== undefined && Number(minor) >= MINOR) return null;
  return `this Go is ${version.trim()} (remedy: ${REMEDY})`;
}

/** What `go` prints; throws what it says when it fails. */
export async function go(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("go", {
    args: [...args],
    cwd,
    // The Go that is here, and no other that it might fetch.
    env: { GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "", CGO_ENABLED: "0", ...env },
    stdin: "null",
    signal: AbortSignal.timeout(PATIENCE),
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`go ${args.join(" ")}: ${decoder.decode(stderr).trim()}`);
  return decoder.decode(stdout);
}

/** Of all that a program of ours is built from. */
async function digestOf(name: string, sources: string): Promise<string> {
  const files = [join(sources, "go.mod")];
  // A module of the standard library alone has none.
  if (await exists(join(sources, "go.sum"))) files.push(join(sources, "go.sum"));
  for (const folder of [name, "internal"]) {
    for await (const path of sourcesIn(join(sources, folder))) files.push(path);
  }
  const hash = createHash("sha256");
  for (const file of files.sort()) hash.update(await Deno.readTextFile(file));
  return hash.digest("hex").slice(0, 16);
}

async function* sourcesIn(folder: string): AsyncGenerator<string> {
  if (!await exists(folder)) return;
  for await (const entry of Deno.readDir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory) yield* sourcesIn(path);
    else if (entry.name.endsWith(".go")) yield path;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
