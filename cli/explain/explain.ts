/**
 * `pingress explain` and `deno task explain`. In: the command line. Out: for each URL a block of text, a line
 * or JSON. Exit code 0, 1 where the proxy itself returns an error for a URL (404, 503, …), 2 for a wrong
 * command line or input that cannot be read.
 */
import type { UrlExplanation } from "../../dev/explain/url_explanation.ts";
import { printable } from "../../dev/terminal_text.ts";
import type { Program } from "../../shared/options.ts";
import { dropRights } from "../../shared/rights.ts";
import { EXIT } from "../command.ts";
import { refusedOptions } from "../refused_options.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { explanationText } from "./explanation_text.ts";
import type { Explainer } from "./explainer.ts";
import { folderExplainer } from "./folder.ts";
import {
  EXPLAIN_OPTIONS,
  EXPLAIN_PROGRAM,
  type ExplainOptions,
  parseExplainOptions,
} from "./options.ts";
import { shortHints, shortText } from "./short_text.ts";

export const program = EXPLAIN_PROGRAM;

export const specs = EXPLAIN_OPTIONS;

export function main(args: readonly string[], terminal: Terminal): Promise<number> {
  return runExplain(EXPLAIN_PROGRAM, args, terminal);
}

/** Returns the exit code. @param startedAs What help and errors call the program. */
export async function runExplain(
  startedAs: Program,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const parsed = parseExplainOptions(args, startedAs);
  if (parsed.kind !== "ok") return refusedOptions(parsed, terminal);
  const { options } = parsed;
  const explainer = await explainerOf(options, terminal);
  if (typeof explainer === "string") return refuse(explainer, terminal);
  const explanations: UrlExplanation[] = [];
  for (const request of options.requests) {
    const explanation = await explainer(request);
    if (typeof explanation === "string") return refuse(explanation, terminal);
    explanations.push(explanation);
  }
  show(explanations, options, terminal);
  return explanations.some(isError) ? EXIT.found : EXIT.fine;
}

async function explainerOf(
  options: ExplainOptions,
  terminal: Terminal,
): Promise<Explainer | string> {
  const { cluster } = options;
  const progress = terminal.progress(
    cluster === null ? "Reading the manifests" : "Reading the cluster",
  );
  try {
    if (cluster === null) {
      dropRights(["net", "run"]);
      return await folderExplainer(options);
    }
    // Loaded here alone: a folder needs nothing of a cluster's client.
    const { clusterExplainer } = await import("./cluster.ts");
    return await clusterExplainer(cluster, options, progress);
  } finally {
    progress.end();
  }
}

function refuse(text: string, terminal: Terminal): number {
  terminal.error(text.split("\n").map(printable).join("\n"));
  return EXIT.unusable;
}

/** Whether requests get an error of the proxy's own, be it a share of them. */
function isError({ answer, route }: UrlExplanation): boolean {
  if (answer.kind !== "backend") return answer.kind === "error";
  return route?.backends.some(({ fault, share }) => fault !== null && share > 0) === true;
}

function show(
  explanations: readonly UrlExplanation[],
  { output, isShort, showsAll }: ExplainOptions,
  terminal: Terminal,
): void {
  const { style, columns } = terminal;
  if (output === "json") {
    terminal.json({ explanations });
  } else if (isShort) {
    // The same could not be read for all URLs.
    const said = new Set<string>();
    for (const explanation of explanations) {
      terminal.write(`${shortText(explanation, style)}\n`);
      for (const hint of shortHints(explanation)) {
        if (!said.has(hint)) terminal.error(printable(hint));
        said.add(hint);
      }
    }
  } else {
    const texts = explanations.map((explanation) =>
      explanationText(explanation, { columns, style, showsAll })
    );
    terminal.write(`${texts.join("\n\n\n")}\n`);
  }
}
