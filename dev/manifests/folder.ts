/**
 * The files of manifests on disk. In: folders and files, as the user named them. Out: every file
 * below them, parsed; a file that no longer parses (half-saved, mistyped) stands as it last did,
 * with a problem. Everything is read anew each time, and parsed anew only where the text differs.
 */
import type { Problem } from "../../shared/problem.ts";
import { decodeText } from "./encoding.ts";
import { type LocatedProblem, type ManifestFile, parseManifestFile } from "./file.ts";
import { unparsable } from "./file_bytes.ts";
import { Manifests } from "./manifests.ts";

/** Folders of other people's files, in which nobody keeps manifests of their own. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(["node_modules"]);

const EXTENSIONS = /\.(ya?ml|json)$/i;

/** A larger file is a dump of something else; etcd takes no object above 1.5 MiB. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** More files than that, and somebody named the wrong folder. */
export const MAX_FILES = 10_000;

/** Deeper folders lead in circles or into something else. */
const MAX_DEPTH = 32;

/** Whether a file below a folder is read. @param path From the folder on, with slashes. */
export function isManifestFile(path: string): boolean {
  return EXTENSIONS.test(path) && !path.split("/").some(isSkipped);
}

/** Of a file or folder. */
function isSkipped(name: string): boolean {
  return name.startsWith(".") || SKIPPED_FOLDERS.has(name);
}

export interface FoundFile {
  /** Joined from what the user named and the way down from it. */
  readonly file: string;
  /** In ms since the epoch; 0 where the system does not tell. */
  readonly modified: number;
  readonly size: number;
}

export interface FoundFiles {
  /** In the order of their names, each once. */
  readonly files: readonly FoundFile[];
  readonly problems: readonly LocatedProblem[];
}

interface KnownFile {
  /** Null for one that is no text. */
  readonly text: string | null;
  readonly parsed: ManifestFile;
  /** The last version of which every document could be parsed. */
  readonly good: ManifestFile | null;
}

export class ManifestFolder {
  readonly #paths: readonly string[];
  #known = new Map<string, KnownFile>();

  /** `paths` are folders or files. */
  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** Reads everything anew. Never throws: what cannot be read is a problem. */
  async read(): Promise<Manifests> {
    const { files, problems } = await findManifestFiles(this.#paths);
    const known = new Map<string, KnownFile>();
    const unread = [...problems];
    const standing: ManifestFile[] = [];
    for (const { file, size } of files) {
      const before = this.#known.get(file) ?? null;
      const now = await readKnown(file, size, before, unread);
      if (now === null) continue;
      known.set(file, now);
      standing.push(standIn(now, unread));
    }
    this.#known = known;
    const manifests = new Manifests(standing, unread);
    if (manifests.refs.length > 0 || manifests.problems.some(isError)) return manifests;
    return new Manifests(standing, [...unread, nothingFound(this.#paths, files.length)]);
  }
}

function isError({ problem }: LocatedProblem): boolean {
  return problem.severity === "error";
}

function nothingFound(paths: readonly string[], files: number): LocatedProblem {
  const named = paths.length > MAX_NAMED ? `the ${paths.length} paths` : paths.join(", ");
  const problem: Problem = {
    object: null,
    field: "",
    reason: "ManifestsMissing",
    message: files === 0
      ? `no file in ${named} ends with .yaml, .yml or .json`
      : `${files === 1 ? "the only file" : `none of the ${files} files`} in ${named} has ${
        files === 1 ? "no" : "an"
      } object that is read`,
    remedy: "Name a folder that has Ingresses or Gateways",
    severity: "warning",
  };
  return { problem, at: null, excerpt: null };
}

/** Of the command line, in a message. */
const MAX_NAMED = 5;

async function readKnown(
  file: string,
  size: number,
  before: KnownFile | null,
  problems: LocatedProblem[],
): Promise<KnownFile | null> {
  if (size > MAX_FILE_BYTES) {
    problems.push(unreadable(file, `it has ${size} bytes`, "Split it, or take it out"));
    return before;
  }
  let bytes: Uint8Array;
  try {
    bytes = await Deno.readFile(file);
  } catch (error) {
    // Gone between the listing and the reading: as if it had never been listed.
    if (error instanceof Deno.errors.NotFound) return null;
    problems.push(unreadable(file, reasonOf(error), remedyFor(error)));
    return before;
  }
  const decoded = decodeText(bytes);
  const good = before?.good ?? null;
  if (!decoded.ok) return { text: null, parsed: unparsable(file, decoded), good };
  const { text } = decoded;
  if (before?.text === text) return before;
  const parsed = text === "" && good !== null && good.objects.length > 0
    ? emptied(file)
    : parseManifestFile(file, text);
  return { text, parsed, good: parsed.whole ? parsed : good };
}

/** Programs that save a file in place empty it first, and may take their time to fill it. */
function emptied(file: string): ManifestFile {
  return unparsable(file, {
    message: "the file has become empty",
    remedy: "Remove the file if its objects are to go",
    line: 1,
    column: 1,
  });
}

/** The version of a file that counts now; problems of a newer one that does not are added. */
function standIn(known: KnownFile, problems: LocatedProblem[]): ManifestFile {
  const { parsed, good } = known;
  if (parsed.whole || good === null) return parsed;
  for (const { problem, ...place } of parsed.problems) {
    if (problem.reason !== "NotParsable") continue;
    const message = `${problem.message}; the file's last good version is served`;
    problems.push({ problem: { ...problem, message }, ...place });
  }
  return good;
}

/** Lists what is to be read, following links, without reading any of it. */
export async function findManifestFiles(paths: readonly string[]): Promise<FoundFiles> {
  const search = new Search();
  for (const path of paths) await search.enter(trimSlash(path), 0, true);
  return search;
}

class Search implements FoundFiles {
  readonly files: FoundFile[] = [];
  readonly problems: LocatedProblem[] = [];
  #seen = new Set<string>();
  #full = false;

  /** `named` by the user: then any name will do, and its absence is worth a problem. */
  async enter(path: string, depth: number, named: boolean): Promise<void> {
    if (this.#full) return;
    try {
      const info = await Deno.stat(path);
      if (info.isDirectory) await this.#enterFolder(path, depth);
      else if (info.isFile && (named || EXTENSIONS.test(path))) this.#add(path, info);
      // A pipe, which could be read once only, or a device.
      else if (named && !info.isFile) this.problems.push(unreadable(path, NO_FILE, WRITE_FILE));
    } catch (error) {
      const isMissing = error instanceof Deno.errors.NotFound;
      // A link into nowhere that is not named like a manifest is no concern of theirs.
      if (isMissing && !named && !EXTENSIONS.test(path)) return;
      this.problems.push(
        isMissing && named
          ? unreadable(path, "there is no such file or folder", "Name one that is there")
          : isMissing
          ? unreadable(path, "it is a link to what is not there", REMOVE_LINK, "warning")
          : unreadable(path, reasonOf(error), remedyFor(error)),
      );
    }
  }

  async #enterFolder(path: string, depth: number): Promise<void> {
    const real = await Deno.realPath(path);
    if (depth > MAX_DEPTH || this.#seen.has(real)) return;
    this.#seen.add(real);
    const names: string[] = [];
    for await (const { name } of Deno.readDir(path)) {
      if (!isSkipped(name)) names.push(name);
    }
    for (const name of names.sort()) {
      await this.enter(path === "." ? name : `${path}/${name}`, depth + 1, false);
    }
  }

  #add(file: string, info: Deno.FileInfo): void {
    // Named twice, or linked from elsewhere in the folder: the same objects, not a second set.
    const identity = info.ino ? `${info.dev}:${info.ino}` : file;
    if (this.#seen.has(identity)) return;
    this.#seen.add(identity);
    if (this.files.length === MAX_FILES) {
      this.#full = true;
      const reason = `there are more than ${MAX_FILES} files, and the rest is not read`;
      this.problems.push(unreadable(file, reason, "Name the folder that holds the manifests"));
      return;
    }
    this.files.push({ file, modified: info.mtime?.getTime() ?? 0, size: info.size });
  }
}

function unreadable(
  file: string,
  reason: string,
  remedy: string,
  severity: Problem["severity"] = "error",
): LocatedProblem {
  const problem: Problem = {
    object: null,
    field: "",
    reason: "NotReadable",
    message: `cannot read it: ${reason}`,
    remedy,
    severity,
  };
  return { problem, at: { file, line: 1, column: 1 } };
}

const NO_FILE = "it is neither a file nor a folder";
const WRITE_FILE = "Write what it has to a file, and name that";

const REMOVE_LINK = "Remove the link, or correct where it leads";

function remedyFor(error: unknown): string {
  return error instanceof Deno.errors.FilesystemLoop
    ? REMOVE_LINK
    : "Give yourself the right to read it";
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.FilesystemLoop) return "its links lead in a circle";
  if (error instanceof Deno.errors.PermissionDenied) return "the system does not allow it";
  if (error instanceof Deno.errors.NotCapable) return "Deno was started without the right to";
  return error instanceof Error ? error.message : String(error);
}

function trimSlash(path: string): string {
  let end = path.length;
  while (end > 1 && "/\\".includes(path[end - 1])) end--;
  return path.slice(0, end);
}
