/**
 * `deno task bench:controller`. In: sizes. Out: what the controller takes to start and to publish
 * changes, in time, CPU and memory, in a real API server with so many objects.
 *
 * The exit code is 1 where something did not work, and never because it was slow.
 */
import { formatSize } from "../../shared/options.ts";
import { runCommand } from "../command.ts";
import { join } from "node:path";
import type { LiveConfigMap, LiveSecret } from "../../controller/outputs/publish/objects.ts";
import { readPublishedSet } from "../../controller/outputs/publish/published.ts";
import { startCluster, type TestCluster } from "../../tests/cluster/support/cluster.ts";
import { describeMachine, disturbance } from "../machine.ts";
import { replaceMarked } from "../page.ts";
import { formatText } from "../report.ts";
import { type ControllerBenchOptions, parseControllerBenchOptions } from "./options.ts";
import { CONTROLLER_BENCH_BEGIN, formatResults } from "./page.ts";
import { populate } from "./population.ts";
import { ControllerRun, NAMESPACE, type RunResult } from "./run.ts";
import { calls, failedCalls, figures } from "./tables.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

async function main(options: ControllerBenchOptions): Promise<void> {
  await using cluster = await startCluster({ name: "the controller's benchmark" });
  if (cluster === null) return;
  const { ingresses, namespaces, services, endpoints, certificates } = options;
  const { gitVersion } = (await cluster.request("GET", "/version")).body;
  const facts = [
    `${ingresses} Ingresses in ${namespaces} namespaces, ${services} Services, ` +
    `${endpoints} endpoints, ${certificates} certificates`,
    ...options.annotationSets === 0
      ? []
      : [`8 annotations on each Ingress, of ${options.annotationSets} sets of values`],
    `memory limit of the proxies: ${formatSize(options.proxyMemory)}`,
    `${await describeMachine()}; Kubernetes ${gitVersion}`,
    ...options.controllerArg.length === 0 ? [] : [`with ${options.controllerArg.join(" ")}`],
  ];
  console.log(facts.join("\n"));
  const disturbed = disturbance();
  if (disturbed !== null) console.log(disturbed);
  await loadController();
  await applyManifests(cluster);
  const began = performance.now();
  const population = await populate(cluster, options, options.annotationSets);
  console.log(`created in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  const result = await ControllerRun.measure(cluster, population, options, console.log);
  await checkWhole(cluster, options);
  console.log(`\n${formatText(figures(result))}\n\n${formatText(calls(result))}`);
  const failed = failedCalls(result);
  if (failed > 0) console.log(`\n${failed} calls were refused or had no answer`);
  await write(options, facts, result);
}

/** So that the first start does not pay for what is cached from then on. */
async function loadController(): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["cache", "--quiet", "controller/main.ts", "controller/process/controller.ts"],
    cwd: ROOT,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** Namespace, rights and class, as users get them; the controller itself runs as a process here. */
async function applyManifests(cluster: TestCluster): Promise<void> {
  for (const file of ["00-namespace.yaml", "hostport.yaml", "ingress-class.yaml"]) {
    await cluster.apply(await Deno.readTextFile(join(ROOT, "manifests", file)));
  }
}

/** What stands there in the end must be all of it, with its keys. */
async function checkWhole(
  cluster: TestCluster,
  { ingresses, certificates }: ControllerBenchOptions,
): Promise<void> {
  const [configMaps, secrets] = [
    await cluster.list<LiveConfigMap>("v1", "ConfigMap", { namespace: NAMESPACE }),
    await cluster.list<LiveSecret>("v1", "Secret", { namespace: NAMESPACE }),
  ];
  const { snapshot, problem } = readPublishedSet(configMaps, secrets);
  if (snapshot === null || problem !== null) throw new Error(`Not whole: ${problem}`);
  if (snapshot.routes.length < ingresses || snapshot.certificates.length !== certificates) {
    const { routes, certificates } = snapshot;
    throw new Error(`Published: ${routes.length} routes, ${certificates.length} certificates`);
  }
}

async function write(
  options: ControllerBenchOptions,
  facts: readonly string[],
  result: RunResult,
): Promise<void> {
  if (options.json !== undefined) {
    const text = JSON.stringify({ facts, ...result }, null, 2);
    await Deno.writeTextFile(options.json, `${text}\n`);
  }
  if (options.write === undefined) return;
  const page = await Deno.readTextFile(options.write);
  const date = new Date().toISOString().slice(0, 10);
  // Who reads it later must see whether the machine was at rest otherwise.
  const load = `load average of the last five minutes ${Deno.loadavg()[1].toFixed(1)}`;
  const results = formatResults(date, [...facts, load], result);
  const written = replaceMarked(page, CONTROLLER_BENCH_BEGIN, results);
  if (written === null) throw new Error(`${options.write} has no place for results`);
  await Deno.writeTextFile(options.write, written);
  console.log(`\nwrote ${options.write}`);
}

await runCommand(parseControllerBenchOptions(Deno.args), main);
