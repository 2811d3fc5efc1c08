/**
 * What Kustomize would change. In: the files of a folder. Out: those that it has for patches, which are no objects of
 * their own, a problem for each kustomization.yaml that changes objects, as nothing here applies it, and the
 * command that renders what a file is for.
 *
 * https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/
 */
import { posix } from "node:path";
import { asList, asObject, asText, fieldOf } from "../../controller/base/json.ts";
import { quoteForShell } from "../terminal_text.ts";
import type { LocatedProblem, ManifestFile } from "./file.ts";

/** Fields that only say which files there are. */
const GATHERING: ReadonlySet<string> = new Set([
  ...["apiVersion", "kind", "metadata", "resources", "bases"],
  ...["buildMetadata", "openapi", "sortOptions"],
]);

/** Whose entries name files, be it by `path`. */
const PATCHES = ["patches", "patchesStrategicMerge", "patchesJson6902", "replacements"];

export class Kustomize {
  /** Without patches. */
  readonly files: readonly ManifestFile[];
  readonly problems: readonly LocatedProblem[];
  /** Folders that have a kustomization.yaml; "." for that of the command itself. */
  readonly #folders: ReadonlySet<string>;

  constructor(files: readonly ManifestFile[]) {
    const settings = files.filter(({ file }) => isKustomization(file));
    this.#folders = new Set(settings.map(({ file }) => folderOf(file)));
    const patches = new Map<string, string>();
    for (const { file, documents } of settings) {
      for (const path of documents.flatMap(patchFiles)) {
        patches.set(posix.join(folderOf(file), path), file);
      }
    }
    this.files = patches.size === 0 ? files : files.filter(({ file }) => !isIn(patches, file));
    this.problems = [
      ...settings.flatMap(unapplied),
      ...files.flatMap(({ file }) =>
        isIn(patches, file) ? patchIgnored(file, patches.get(posix.normalize(file))!) : []
      ),
    ];
  }

  /** `kubectl kustomize k8s/prod > all.yaml`, of the nearest folder around one of the files; null for none. */
  commandFor(files: readonly string[]): string | null {
    for (const file of files) {
      for (let folder = folderOf(file);; folder = posix.dirname(folder)) {
        if (this.#folders.has(folder)) return renderCommand(folder);
        if (posix.dirname(folder) === folder) break;
      }
    }
    return null;
  }
}

function isIn(patches: ReadonlyMap<string, string>, file: string): boolean {
  return patches.has(posix.normalize(file));
}

/** https://github.com/kubernetes-sigs/kustomize/blob/master/api/konfig/general.go */
function isKustomization(file: string): boolean {
  return /^(?:kustomization\.ya?ml|Kustomization)$/.test(posix.basename(slashed(file)));
}

function folderOf(file: string): string {
  return posix.dirname(posix.normalize(slashed(file)));
}

function slashed(file: string): string {
  return Deno.build.os === "windows" ? file.replaceAll("\\", "/") : file;
}

/** Patches may also stand in the kustomization.yaml itself: no file has such a name. */
function patchFiles(settings: unknown): string[] {
  return PATCHES.flatMap((field) => asList(fieldOf(settings, field)) ?? [])
    .map((entry) => asText(entry) ?? asText(fieldOf(entry, "path")))
    .filter((path) => path !== null);
}

function unapplied({ file, documents }: ManifestFile): LocatedProblem[] {
  const changing = documents.flatMap((settings) => Object.keys(asObject(settings) ?? {}))
    .filter((field) => !GATHERING.has(field));
  if (changing.length === 0) return [];
  return [{
    at: { file, line: 1, column: 1 },
    excerpt: null,
    problem: {
      object: null,
      field: "",
      reason: "KustomizationNotApplied",
      message:
        `Kustomize changes objects by it (${[...new Set(changing)].sort().join(", ")}), and ` +
        "they are read as the files have them",
      remedy: `Render it, and name the file that comes out: ${renderCommand(folderOf(file))}`,
      severity: "warning",
    },
  }];
}

function patchIgnored(file: string, kustomization: string): LocatedProblem {
  return {
    at: { file, line: 1, column: 1 },
    excerpt: null,
    problem: {
      object: null,
      field: "",
      reason: "FileIgnored",
      message: `it is a patch of ${kustomization}, so it is ignored`,
      remedy: `Nothing to do; to serve it, render it: ${renderCommand(folderOf(kustomization))}`,
      severity: "info",
    },
  };
}

function renderCommand(folder: string): string {
  return `kubectl kustomize ${quoteForShell(folder)} > all.yaml`;
}
