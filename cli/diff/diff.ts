/**
 * `pingress diff`. In: the command line. Out: what new manifests change, as text or JSON. Exit code 0, 1 if a
 * route is lost or a protected path opens, 2 for a wrong command line or manifests that cannot be read.
 */
import type { Manifests } from "../../dev/manifests/manifests.ts";
import { formatPosition } from "../../dev/manifests/position.ts";
import { printable } from "../../dev/terminal_text.ts";
import { dropRights } from "../../shared/rights.ts";
import { EXIT } from "../command.ts";
import { refusedOptions } from "../refused_options.ts";
import type { Progress } from "../terminal/progress.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { compare, type Comparison, exitCode } from "./comparison.ts";
import { diffJson } from "./diff_json.ts";
import { diffText } from "./diff_text.ts";
import {
  type Against,
  DIFF_OPTIONS,
  DIFF_PROGRAM,
  type DiffOptions,
  parseDiffOptions,
} from "./options.ts";
import { readCommit, readFolder, sideOf, unreadProblems } from "./side.ts";

export const program = DIFF_PROGRAM;

export const specs = DIFF_OPTIONS;

/** Returns the exit code. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsed = parseDiffOptions(args);
  if (parsed.kind !== "ok") return refusedOptions(parsed, terminal);
  const { options } = parsed;
  const progress = terminal.progress(`Reading ${options.paths.join(", ")}`);
  const comparison = await comparisonOf(options, progress);
  progress.end();
  if (typeof comparison === "string") return refuse(comparison, terminal);
  if (options.output === "json") terminal.json(diffJson(comparison));
  else terminal.write(`${diffText(comparison, terminal)}\n`);
  return exitCode(comparison);
}

/** The comparison, or a text that says why there is none. */
async function comparisonOf(
  { paths, against, plan }: DiffOptions,
  progress: Progress,
): Promise<Comparison | string> {
  const name = paths.join(", ");
  const now = Date.now();
  const read = await readFolder(paths);
  if (!read.ok) return read.message;
  const { manifests } = read;
  const fault = unusable(name, manifests);
  if (fault !== null) return fault;
  progress.step(`Reading ${nameOf(against)}`);
  if (against.kind === "cluster") {
    // Loaded here alone: folders need nothing of a cluster's client.
    const { readClusterSides } = await import("./cluster_sides.ts");
    const sides = await readClusterSides(against, manifests, plan, { name, now, progress });
    return typeof sides === "string" ? sides : compare(sides.before, sides.after, sides.notes);
  }
  dropRights(against.kind === "git" ? ["net"] : ["net", "run"]);
  const other = against.kind === "git"
    ? await readCommit(against, paths)
    : await readFolder([against.path]);
  if (!other.ok) {
    return against.kind === "folder" ? other.message + branchHint(against.path) : other.message;
  }
  progress.step("Comparing");
  return compare(
    sideOf(nameOf(against), other.manifests, plan, now),
    sideOf(name, manifests, plan, now),
  );
}

/** What has no dot may be a branch. */
function branchHint(path: string): string {
  return /^\w[\w/-]*$/.test(path)
    ? `\nFor a branch, tag or commit, write --against git:${path}`
    : "";
}

function nameOf(against: Against): string {
  switch (against.kind) {
    case "folder":
      return against.path;
    case "git":
      return `git:${against.reference}`;
    case "cluster":
      return "the cluster";
  }
}

/** Of `deno task dev`, which goes on with the last good version. */
const SERVED = "; the rest is served meanwhile";

/** Why new manifests are not compared at all: a route that is not read would look lost. */
function unusable(name: string, { problems, refs }: Manifests): string | null {
  const unread = unreadProblems(problems);
  if (unread.length > 0) {
    return unread.map(({ problem: { message, remedy }, at }) =>
      `${at === null ? name : formatPosition(at)}: ${message}; ${remedy.replace(SERVED, "")}`
    ).join("\n");
  }
  return refs.length > 0
    ? null
    : `There are no objects in ${name}; name a folder with Kubernetes YAML in it`;
}

function refuse(text: string, terminal: Terminal): number {
  terminal.error(text.split("\n").map(printable).join("\n"));
  return EXIT.unusable;
}
