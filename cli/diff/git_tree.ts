/**
 * Manifests of a commit. In: a reference of git, and folders and files of the work tree. Out: the files that the
 * commit has there, or a sentence that says why they cannot be read.
 *
 * The reference is resolved behind `--end-of-options`, so that one which begins with a dash is no option, and
 * only the hash goes on from there. Nothing is checked out, and no filter or hook of the repository runs.
 */
import { basename, dirname, join, posix, resolve } from "node:path";
import { isManifestFile, MAX_FILE_BYTES, MAX_FILES } from "../../dev/manifests/folder.ts";
import { onEndSignals } from "../end_signals.ts";

export type TreeReading =
  | { readonly ok: true; readonly files: readonly TreeFile[] }
  | { readonly ok: false; readonly message: string };

export interface TreeFile {
  /** `git:REF:path`, below what was asked for. */
  readonly name: string;
  /** Null for a link to what is not among the files. */
  readonly bytes: Uint8Array | null;
}

/** No lock, no prompt, and nothing that a partial clone lacks is fetched. */
const ENVIRONMENT = {
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_LITERAL_PATHSPECS: "1",
  LC_ALL: "C",
};

/** Variables by name. */
export type Environment = Readonly<Record<string, string>>;

/**
 * @param reference A branch, tag or commit; a `:path` behind it is not taken.
 * @param environment All that git inherits.
 */
export async function readTree(
  reference: string,
  paths: readonly string[],
  environment: Environment,
): Promise<TreeReading> {
  // A file that is below several of the paths is read once, as that of a folder is.
  const files = new Map<string, TreeFile>();
  for (const path of paths) {
    const read = await readPath(reference, path, environment);
    if (!read.ok) return read;
    for (const file of read.files) {
      const place = resolve(file.name.slice(prefixOf(reference).length));
      if (!files.has(place)) files.set(place, file);
    }
  }
  return { ok: true, files: [...files.values()] };
}

function prefixOf(reference: string): string {
  return `git:${reference}:`;
}

async function readPath(
  reference: string,
  path: string,
  environment: Environment,
): Promise<TreeReading> {
  const git = (folder: string, args: readonly string[]) => runForText(folder, args, environment);
  const isFolder = await isDirectory(path);
  const folder = isFolder ? path : dirname(path);
  if (!await isDirectory(folder)) {
    return failed(`There is no file or folder ${path}; git is asked in the folder that has it`);
  }
  const tree = await git(folder, [
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${reference}^{tree}`,
  ]);
  if (!tree.ok && tree.message !== "") {
    return failed(
      tree.message.startsWith("not a git repository")
        ? `${folder} is in no repository of git; name a folder of one`
        : `${reference}: ${tree.message}`,
    );
  }
  const hash = tree.ok ? tree.output.trim() : "";
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(hash)) {
    const shallow = await git(folder, ["rev-parse", "--is-shallow-repository"]);
    return failed(noReference(reference, shallow.ok && shallow.output.trim() === "true"));
  }
  // Relative to the folder, and of what is below it alone.
  const only = isFolder ? [] : ["--", basename(path)];
  const listed = await git(folder, ["ls-tree", "-r", "-l", "-z", hash, ...only]);
  if (!listed.ok) return failed(`${reference}: ${listed.message}`);
  const entries = entriesOf(listed.output).filter(({ name }) => !isFolder || isManifestFile(name));
  const large = entries.find(({ size }) => size > MAX_FILE_BYTES);
  if (large !== undefined) {
    return failed(
      `${reference}:${large.name} has ${large.size} bytes, more than ${MAX_FILE_BYTES}`,
    );
  }
  if (entries.length > MAX_FILES) {
    return failed(
      `${reference} has more than ${MAX_FILES} files in ${path}; name the folder that holds the manifests`,
    );
  }
  const contents = await contentsOf(folder, entries.map(({ object }) => object), environment);
  if (typeof contents === "string") return failed(`${reference}: ${contents}`);
  const names = new Set(entries.flatMap(({ name, isLink }) => isLink ? [] : name));
  return {
    ok: true,
    files: entries.flatMap(({ name, isLink }, i): TreeFile[] => {
      // What such a link leads to is read by its own name, as in a folder.
      if (isLink && names.has(targetOf(name, contents[i]))) return [];
      return [{
        name: prefixOf(reference) + (isFolder ? join(path, name) : path),
        bytes: isLink ? null : contents[i],
      }];
    }),
  };
}

interface Entry {
  /** Hash of the content. */
  readonly object: string;
  readonly size: number;
  readonly name: string;
  readonly isLink: boolean;
}

/** Regular files and links; submodules are left out. */
function entriesOf(output: string): Entry[] {
  return output.split("\0").flatMap((line): Entry[] => {
    const [, kind, object, size, name] =
      /^(100|120)\d{3} blob ([0-9a-f]+) +(\d+)\t([^]*)$/.exec(line) ?? [];
    return object === undefined
      ? []
      : [{ object, size: Number(size), name, isLink: kind === "120" }];
  });
}

/** What a link leads to, from the folder on that its name is given from. */
function targetOf(name: string, link: Uint8Array): string {
  return posix.join(posix.dirname(name), new TextDecoder().decode(link));
}

/** The contents in the order of the hashes, or a sentence. */
async function contentsOf(
  folder: string,
  objects: readonly string[],
  environment: Environment,
): Promise<readonly Uint8Array[] | string> {
  if (objects.length === 0) return [];
  const read = await run(
    folder,
    ["cat-file", "--batch"],
    objects.map((one) => `${one}\n`).join(""),
    environment,
  );
  if (!read.ok) return read.message;
  return blobsOf(read.bytes) ?? "git cat-file has written what it never does";
}

/** `<hash> blob <size>\n<content>\n` for each; null for anything else. */
function blobsOf(bytes: Uint8Array): Uint8Array[] | null {
  const decoder = new TextDecoder();
  const blobs: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(0x0a, at);
    const [, size] = /^[0-9a-f]+ blob (\d+)$/.exec(decoder.decode(bytes.subarray(at, end))) ?? [];
    if (end === -1 || size === undefined) return null;
    const start = end + 1;
    at = start + Number(size) + 1;
    blobs.push(bytes.subarray(start, at - 1));
  }
  return blobs;
}

type GitOutput =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly message: string };

async function runForText(
  folder: string,
  args: readonly string[],
  environment: Environment,
): Promise<GitOutput> {
  const result = await run(folder, args, null, environment);
  return result.ok ? { ok: true, output: new TextDecoder().decode(result.bytes) } : result;
}

async function run(
  folder: string,
  args: readonly string[],
  input: string | null,
  environment: Environment,
): Promise<
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly message: string }
> {
  let child: Deno.ChildProcess | null = null;
  const forgetSignals = onEndSignals((code) => {
    try {
      child?.kill("SIGKILL");
    } finally {
      Deno.exit(code);
    }
  });
  try {
    child = new Deno.Command("git", {
      args: [...args],
      cwd: folder,
      clearEnv: true,
      env: { ...environment, ...ENVIRONMENT },
      stdin: input === null ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    forgetSignals();
    return { ok: false, message: reasonOf(error) };
  }
  const [result] = await Promise.all([child.output(), input === null ? null : write(child, input)])
    .finally(forgetSignals);
  if (result.success) return { ok: true, bytes: result.stdout };
  const [line = ""] = new TextDecoder().decode(result.stderr).split("\n");
  return { ok: false, message: line.replace(/^fatal: /, "").trim() };
}

/** A program that has ended already says why by itself. */
async function write(child: Deno.ChildProcess, input: string): Promise<void> {
  const writer = child.stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "git is not installed, or not on the PATH";
  if (error instanceof Deno.errors.NotCapable) {
    return "Deno was started without the right to run git; add --allow-run=git";
  }
  return error instanceof Error ? error.message : String(error);
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch {
    return false;
  }
}

/** @param isShallow Whether the clone lacks older commits. */
function noReference(reference: string, isShallow: boolean): string {
  const remedy = isShallow
    ? "the clone is shallow: fetch the rest by git fetch --unshallow (fetch-depth: 0 of " +
      "actions/checkout), or name a commit that it has"
    : "name a branch, a tag or a commit";
  return `git knows no commit ${JSON.stringify(reference)}; ${remedy}`;
}

function failed(message: string): TreeReading {
  return { ok: false, message };
}
