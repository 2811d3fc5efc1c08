/**
 * `pingress status`: what is served, and by whom. In: the command line. Out: tables or JSON, once or at each
 * change. Exit code 0, or 2 for a wrong command line and a cluster whose Ingresses cannot be read.
 */
import { parseOptions } from "../../shared/options.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { clusterChoice } from "../cluster/options.ts";
import { EXIT } from "../command.ts";
import { withLongNames } from "../output_option.ts";
import { refusedOptions } from "../refused_options.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { program, specs } from "./options.ts";
import { readObjects, readRest, type StatusScope } from "./reading.ts";
import { statusOf } from "./status.ts";
import { statusText } from "./text_output.ts";
import { watchStatus } from "./watch.ts";

export { program, specs };

export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsed = parseOptions(program, specs, withLongNames(args));
  if (parsed.kind !== "ok") return refusedOptions(parsed, terminal);
  const { options } = parsed;
  const complaint = options.allNamespaces && options.namespace !== undefined
    ? "--all-namespaces and --namespace exclude each other"
    : options.watch && options.output !== "text"
    ? "--watch takes --output=text only"
    : null;
  if (complaint !== null) {
    const text = `${complaint}\n${program.name} --help lists the flags`;
    return refusedOptions({ kind: "error", text }, terminal);
  }
  const progress = terminal.progress("Reading the kubeconfig");
  const environment = (name: string) => Deno.env.get(name);
  const opened = await openCluster(clusterChoice(options), environment, progress)
    .finally(() => progress.end());
  if (!opened.ok) {
    terminal.error(opened.message);
    return EXIT.unusable;
  }
  const { cluster } = opened;
  const scope: StatusScope = {
    namespace: options.allNamespaces ? null : options.namespace ?? cluster.namespace,
    systemNamespace: options.systemNamespace,
  };
  try {
    if (options.watch) return await watchStatus(cluster, scope, terminal);
    return await showOnce(cluster, scope, terminal, options.output === "json");
  } finally {
    cluster.close();
  }
}

async function showOnce(
  cluster: Cluster,
  scope: StatusScope,
  terminal: Terminal,
  isJson: boolean,
): Promise<number> {
  const progress = terminal.progress(`Reading ${cluster.server}`);
  const [objects, rest] = await Promise.all([
    readObjects(cluster, scope),
    readRest(cluster, scope, null),
  ]).finally(() => progress.end());
  const status = statusOf({ objects, ...rest, stale: [] });
  if (isJson) terminal.json({ server: cluster.server, namespace: scope.namespace, ...status });
  else {
    const { style, columns } = terminal;
    terminal.write(statusText(status, { style, columns, namespace: scope.namespace }));
  }
  return objects.ingresses.ok && status.missingNamespace === null ? EXIT.fine : EXIT.unusable;
}
