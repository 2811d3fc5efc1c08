/**
 * `deno task lint`: reads manifests written for ingress-nginx, of a folder or a cluster, and says what Pingress would do
 * with them. Exit code 0 where nothing is as bad as `--fail-on`, 1 where something is, 2 for a wrong
 * command line or input that cannot be read.
 */
import { parseManifestBytes } from "../../dev/manifests/file_bytes.ts";
import { formatPosition } from "../../dev/manifests/position.ts";
import type { ManifestObject } from "../../dev/manifests/file.ts";
import { ManifestFolder } from "../../dev/manifests/folder.ts";
import { unreadablePath } from "../../dev/manifests/named_paths.ts";
import type { Manifests } from "../../dev/manifests/manifests.ts";
import { printable } from "../../dev/terminal_text.ts";
import { findConfigMap } from "./cluster_findings.ts";
import { type LintResult, rankOf, type Verdict, worst } from "./finding.ts";
import { githubOutput } from "./output/github_output.ts";
import { jsonOutput } from "./output/json_output.ts";
import type { Program } from "../../shared/options.ts";
import { clauseOf } from "../../shared/problem.ts";
import { dropRights } from "../../shared/rights.ts";
import { inputOf, isUnreadable, lint, unreadable } from "./lint.ts";
import type { LintInput } from "./lint_input.ts";
import type { LiveReading } from "./live.ts";
import { markdownOutput } from "./output/markdown_output.ts";
import {
  type Format,
  LINT_PROGRAM,
  type LintCommand,
  type LintedCluster,
  parseLintCommand,
} from "./options.ts";
import { EXIT } from "../command.ts";
import { refusedOptions } from "../refused_options.ts";
import type { Progress } from "../terminal/progress.ts";
import { processTerminal, type Terminal } from "../terminal/terminal.ts";
import { sarifOutput } from "./output/sarif_output.ts";
import { type LintTerminal, textOutput } from "./output/text_output.ts";

/** By `--output`. */
export const OUTPUTS: Readonly<
  Record<Format, (result: LintResult, terminal?: LintTerminal) => string>
> = {
  text: textOutput,
  json: jsonOutput,
  markdown: markdownOutput,
  sarif: sarifOutput,
  github: githubOutput,
};

/** Returns the exit code. */
export async function main(
  args: readonly string[],
  program: Program = LINT_PROGRAM,
  terminal: Terminal = processTerminal((name) => Deno.env.get(name)),
): Promise<number> {
  const parsed = parseLintCommand(args, program);
  const refuse = (text: string) => refuseInput(text, program, terminal);
  if (parsed.kind !== "ok") return refusedOptions(parsed, terminal);
  const { cluster, format, failOn, lint: options } = parsed.command;
  const progress = terminal.progress(
    cluster === null ? "Reading the manifests" : "Reading the cluster",
  );
  const read = cluster === null
    ? await readFolder(parsed.command)
    : await readCluster(parsed.command, cluster, progress);
  if (!read.ok) {
    progress.end();
    return refuse(read.message);
  }
  progress.step("Comparing");
  const result = lint(read.input, read.configMap, options, Date.now);
  progress.end();
  const { columns, style } = terminal;
  terminal.write(OUTPUTS[format](result, { columns, style, excerptAt: read.input.excerptAt }));
  const found = result.ingresses.length + result.unreadable.length;
  if (found === 0 && !hasGatewayApi(read.input)) {
    return refuse(nothingChecked(result, parsed.command));
  }
  return exitCode(result, failOn);
}

/** One line with the remedy, where a check that says nothing must not pass. */
function nothingChecked({ notChecked }: LintResult, { paths, cluster }: LintCommand): string {
  if (notChecked.length > 0) {
    return "No Ingress was checked; each one that was left out is listed with the flag that adds it";
  }
  return cluster === null
    ? `There is no Ingress or Gateway in ${paths.join(", ")}; name a folder that has some`
    : `There is no Ingress in the cluster of context ${cluster.context}; name another`;
}

function hasGatewayApi({ resources, problems }: LintInput): boolean {
  const { gatewayClasses, gateways, httpRoutes, listenerSets } = resources;
  return [gatewayClasses, gateways, httpRoutes, listenerSets].some((list) =>
    (list ?? []).length > 0
  ) ||
    problems.some(({ problem }) => problem.reason === "KindNotServed");
}

/** Nothing is dialled for a folder. */
async function readFolder({ paths, configmap }: LintCommand): Promise<LiveReading> {
  dropRights(["net", "run"]);
  const unreadable = await unreadablePath(paths);
  if (unreadable !== null) return { ok: false, message: unreadable };
  const manifests = await new ManifestFolder(paths).read();
  const configMap = configmap === null ? null : await readConfigMap(configmap, manifests);
  if (typeof configMap === "string") return { ok: false, message: configMap };
  return { ok: true, input: inputOf(manifests), configMap };
}

async function readCluster(
  { configmap, lint: { watchNamespaces } }: LintCommand,
  { context, kubeconfig, timeout }: LintedCluster,
  progress: Progress,
): Promise<LiveReading> {
  // Loaded here alone: a folder needs nothing of a cluster's client.
  const { readLive } = await import("./live.ts");
  return await readLive(
    {
      ...{ context, kubeconfig, timeout },
      namespaces: watchNamespaces,
      configMap: configmap,
    },
    (name) => Deno.env.get(name),
    progress,
  );
}

/** A result that is not complete never passes. */
export function exitCode(
  { ingresses, cluster, gatewayApi, unreadable }: LintResult,
  failOn: Verdict,
): number {
  if (unreadable.length > 0) return 2;
  const found = worst([...ingresses, ...cluster, ...gatewayApi].map(({ verdict }) => verdict));
  return rankOf(found) <= rankOf(failOn) ? 1 : 0;
}

/** The ConfigMap, or one line that says why there is none. */
async function readConfigMap(
  named: string,
  manifests: Manifests,
): Promise<ManifestObject | string> {
  const inFolder = findConfigMap(manifests.files.flatMap(({ objects }) => objects), named);
  if (inFolder !== null) return inFolder;
  let bytes: Uint8Array;
  try {
    bytes = await Deno.readFile(named);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      return `Cannot read ${named}: ${error instanceof Error ? error.message : String(error)}`;
    }
    return `--configmap: neither a file nor a ConfigMap of the folders is called ${named}; ` +
      "name a file, or NAMESPACE/NAME of one that is in the folders";
  }
  const { objects, problems } = parseManifestBytes(named, bytes);
  const maps = objects.filter(({ ref }) => ref.kind === "ConfigMap");
  if (maps.length === 1) return maps[0];
  const [fault] = problems.filter(isUnreadable).map(unreadable);
  return maps.length > 0 || fault === undefined
    ? `--configmap: ${named} has ${maps.length} ConfigMaps; name a file that has one`
    : `--configmap: ${fault.at === null ? named : formatPosition(fault.at)}: ${fault.message}; ${
      clauseOf(fault.remedy)
    }`;
}

function refuseInput(text: string, program: Program, terminal: Terminal): number {
  terminal.error(`${printable(text)}\n${program.name} --help lists the flags`);
  return EXIT.unusable;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
