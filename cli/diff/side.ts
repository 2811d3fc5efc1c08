/**
 * One of two states that are compared. In: manifests of a folder, of a commit or of a cluster. Out: what is served
 * of them, with every problem, and where their fields stand.
 */
import type { LocatedProblem } from "../../dev/manifests/file.ts";
import { parseManifestBytes, unparsable } from "../../dev/manifests/file_bytes.ts";
import { ManifestFolder } from "../../dev/manifests/folder.ts";
import { unreadablePath } from "../../dev/manifests/named_paths.ts";
import { Manifests } from "../../dev/manifests/manifests.ts";
import { makePlan, type PlanOptions } from "../../dev/plan.ts";
import type { Against } from "./options.ts";
import { readTree } from "./git_tree.ts";
import type { ServedState } from "./route_changes.ts";

export interface Side extends ServedState {
  /** As messages call it: `k8s`, `git:main`. */
  readonly name: string;
  /** Files and documents that cannot be read: what they have is not compared. */
  readonly unread: readonly LocatedProblem[];
  /** Of the objects. */
  readonly count: number;
  /** Where a field stands; null outside of files. */
  readonly locate: Manifests["locate"];
}

export type SideReading =
  | { readonly ok: true; readonly manifests: Manifests }
  /** A sentence. */
  | { readonly ok: false; readonly message: string };

/** Nothing is dialled: whether endpoints are ready makes no difference. */
const SAMPLES = [{ address: "127.0.0.1", port: 1 }];

/** Of what is read, these leave out a whole document or file. */
const UNREAD: ReadonlySet<string> = new Set(["NotParsable", "NotReadable"]);

export async function readFolder(paths: readonly string[]): Promise<SideReading> {
  const message = await unreadablePath(paths);
  if (message !== null) return { ok: false, message };
  return { ok: true, manifests: await new ManifestFolder(paths).read() };
}

/** @param paths Folders and files as they are now; the commit has the same ones. */
export async function readCommit(
  { reference, environment }: Extract<Against, { readonly kind: "git" }>,
  paths: readonly string[],
): Promise<SideReading> {
  const tree = await readTree(reference, paths, environment);
  if (!tree.ok) return tree;
  const files = tree.files.map(({ name, bytes }) =>
    bytes === null ? unparsable(name, LINK) : parseManifestBytes(name, bytes)
  );
  return { ok: true, manifests: new Manifests(files) };
}

const LINK = {
  message: "it is a link, and those of a commit are not followed",
  remedy: "Name the file that it leads to, too",
  line: 1,
  column: 1,
};

/** @param now Milliseconds since the epoch. */
export function sideOf(
  name: string,
  manifests: Manifests,
  options: PlanOptions,
  now: number,
): Side {
  const { snapshot, problems } = makePlan(manifests, options, () => SAMPLES, null, () => now);
  return {
    ...{ name, snapshot, problems },
    unread: unreadProblems(problems),
    count: manifests.refs.length,
    locate: (object, field) => manifests.locate(object, field),
  };
}

/** Those for which a file or document is not compared. */
export function unreadProblems(problems: readonly LocatedProblem[]): LocatedProblem[] {
  return problems.filter(({ problem: { reason, severity } }) =>
    severity === "error" && UNREAD.has(reason)
  );
}
