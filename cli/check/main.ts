/**
 * `pingress check`: groups of checks of an installation, with a remedy for each that fails. In: the command line.
 * Out: text or JSON. Exit code 0 where nothing failed, 1 where something did, 2 for a wrong command line, a
 * kubeconfig that cannot be used, and a user who may not even see whether there is a controller.
 */
import { parseOptions } from "../../shared/options.ts";
import { openCluster } from "../cluster/cluster.ts";
import { clusterChoice } from "../cluster/options.ts";
import { EXIT } from "../command.ts";
import { withLongNames } from "../output_option.ts";
import { refusedOptions } from "../refused_options.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { check } from "./check.ts";
import { program, specs } from "./options.ts";
import { readFacts } from "./reading.ts";
import { countOf } from "./result.ts";
import { checkText } from "./text_output.ts";

export { program, specs };

export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsed = parseOptions(program, specs, withLongNames(args));
  if (parsed.kind !== "ok") return refusedOptions(parsed, terminal);
  const { options } = parsed;
  const progress = terminal.progress("Reading the kubeconfig");
  const environment = (name: string) => Deno.env.get(name);
  const opened = await openCluster(clusterChoice(options), environment, progress);
  if (!opened.ok) {
    progress.end();
    terminal.error(opened.message);
    return EXIT.unusable;
  }
  const { cluster } = opened;
  progress.step(`Connecting to ${cluster.server}`);
  let facts;
  try {
    facts = await readFacts(cluster, options.systemNamespace, (text) => progress.step(text));
  } finally {
    progress.end();
    cluster.close();
  }
  const groups = check(facts);
  const counts = countOf(groups);
  if (options.output === "json") terminal.json({ server: cluster.server, groups, counts });
  else terminal.write(checkText(groups, terminal));
  if (counts.failed > 0) return EXIT.found;
  // A check of nothing never passes.
  return facts.installation.deployment.ok ? EXIT.fine : EXIT.unusable;
}
