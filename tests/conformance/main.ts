/**
 * `deno task test:conformance`: the official conformance suite of Gateway API against Pingress, in a cluster of
 * its own. In: which cases. Out: the outcome of each; a report if asked for. The exit code is 1 where a
 * case has failed, now or in an earlier run that is continued.
 */
import { join } from "node:path";
import { parseOptions } from "../../shared/options.ts";
import { VERSION } from "../../shared/version.ts";
import { startNodeCluster } from "../e2e/cluster/node_cluster.ts";
import { skip } from "../peers/go_program.ts";
import { buildImages, install } from "./installation.ts";
import {
  chosenCases,
  CONFORMANCE_OPTIONS,
  type ConformanceOptions,
  optionsFault,
} from "./options.ts";
import { OutcomeFolder } from "./outcomes.ts";
import { SKIPPED_CASES } from "./skipped_cases.ts";
import { buildSuite, runSuite, type SuiteParts } from "./suite.ts";
import type { EndedCase } from "./suite_output.ts";

const NAME = "conformance";
const REPOSITORY = join(import.meta.dirname!, "..", "..");

/** Whether nothing has failed. Where this machine has no cluster or no Go, it says so. */
async function main(options: ConformanceOptions): Promise<boolean> {
  const parts = await timed("suite", buildSuite);
  if ("missing" in parts) {
    skip(NAME, parts.missing);
    return true;
  }
  const folder = await openFolder(options, parts);
  if (options.repeatFailed) await folder.forgetFailed();
  const earlier = await folder.outcomes();
  for (const { case: name, result } of earlier) console.log(`${result} before: ${name}`);
  const cases = chosenCases(options);
  const isKnown = (name: string) => earlier.some((one) => one.case === name);
  if (cases.length > 0 && cases.every(isKnown)) {
    return earlier.every((one) => one.result !== "failed" || !cases.includes(one.case));
  }
  for (const [name, reason] of Object.entries(SKIPPED_CASES)) {
    console.log(`not run: ${name}: ${reason}`);
  }
  const cluster = await timed("cluster", () => startNodeCluster(NAME));
  if (cluster === null) return true;
  await using _ = cluster;
  return await cluster.explain(async () => {
    await timed("images", () => buildImages(cluster, parts));
    await timed("installation", () => install(cluster, parts, options.channel));
    return await timed("cases", () => run(options, parts, cluster.kubeconfig, folder));
  });
}

/** Says how long a part has taken: that of a whole run is bounded in CI. */
async function timed<T>(name: string, part: () => Promise<T>): Promise<T> {
  const from = performance.now();
  const result = await part();
  console.log(`${name}: ${((performance.now() - from) / 1000).toFixed(1)} s`);
  return result;
}

async function run(
  options: ConformanceOptions,
  parts: SuiteParts,
  kubeconfig: string,
  folder: OutcomeFolder,
): Promise<boolean> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const report = options.report ? await reportFile(options) : null;
  const { ok, lastLines } = await runSuite(parts, kubeconfig, options, folder, report, (ended) => {
    counts[ended.result]++;
    print(ended);
  });
  const { passed, failed, skipped } = counts;
  console.log(`${passed} passed, ${failed} failed, ${skipped} of features that are not supported`);
  if (!ok && failed === 0) {
    console.log("failed: set-up, or a case of an earlier run");
    for (const line of lastLines) console.log(`  ${line}`);
  }
  console.log(`log: ${folder.log}`);
  if (report !== null) console.log(`report: ${report}`);
  return ok;
}

function print({ case: name, result, seconds, lastLines }: EndedCase): void {
  if (result === "skipped") return;
  console.log(`${result}: ${name} (${seconds.toFixed(1)} s)`);
  if (result === "failed") { for (const line of lastLines) console.log(`  ${line}`); }
}

async function openFolder(
  { state, channel, report }: ConformanceOptions,
  { version }: SuiteParts,
): Promise<OutcomeFolder> {
  const { stdout } = await new Deno.Command("git", {
    args: ["describe", "--always", "--dirty", "--exclude=*"],
    cwd: REPOSITORY,
  }).output();
  const commit = new TextDecoder().decode(stdout).trim();
  if (report && commit.endsWith("-dirty")) {
    throw new Error("A report is about a commit. Commit the changes, or remove --report.");
  }
  const subject = { commit, suite: version, channel };
  return await OutcomeFolder.open(state ?? await Deno.makeTempDir({ prefix: NAME }), subject);
}

async function reportFile({ channel }: ConformanceOptions): Promise<string> {
  const folder = join(REPOSITORY, "docs", "conformance");
  await Deno.mkdir(folder, { recursive: true });
  return join(folder, `${channel}-${VERSION}-default-report.yaml`);
}

const parsed = parseOptions(
  {
    name: "deno task test:conformance",
    summary: "Runs the official conformance suite of Gateway API in a cluster.",
  },
  CONFORMANCE_OPTIONS,
  Deno.args,
);
if (parsed.kind === "ok") {
  const fault = optionsFault(parsed.options);
  if (fault !== null) {
    console.error(fault);
    Deno.exit(2);
  }
  if (!await main(parsed.options)) Deno.exit(1);
} else {
  console[parsed.kind === "help" ? "log" : "error"](parsed.text);
  if (parsed.kind === "error") Deno.exit(2);
}
