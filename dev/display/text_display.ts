/**
 * What `deno task dev` shows to people. In: what is served. Out: on standard output, tables, commands to try, and
 * problems; a line for each change and each request.
 */
import type { ProblemTextOptions } from "../../cli/terminal/problem_text.ts";
import { formatAddress } from "../../shared/net/address.ts";
import type { LineOutput } from "../../shared/log.ts";
import { changeText } from "../change_report.ts";
import { lintSummary } from "../lint_summary.ts";
import type { PlanOptions } from "../plan.ts";
import { fittedText, formatListeners, formatReport } from "../report.ts";
import { formatEntry, tapOutput } from "../tap.ts";
import { count } from "../terminal_text.ts";
import type { Display } from "./display.ts";

/**
 * The last line comes so much later (ms) than the others: a reader that wanted only the first lines has
 * gone by then, and only writing shows it.
 */
const READER_TIME = 1000;

export interface TextDisplayOptions {
  readonly output: LineOutput;
  readonly plan: PlanOptions;
  /** As the terminal is at that moment. */
  readonly problemOptions: () => ProblemTextOptions;
}

export function textDisplay({ output, plan, problemOptions }: TextDisplayOptions): Display {
  const print = (text: string) =>
    void output.write(`${fittedText(text, problemOptions().columns)}\n`);
  return {
    started({ paths, listeners, portOffset }, { plan: served, manifests, sockets }) {
      print(
        `Pingress serves ${paths.join(", ")} (${count(manifests.refs.length, "object")}) at ` +
          `${formatListeners(listeners)}, readiness at http://${
            formatAddress(listeners.admin)
          }/readyz. Ctrl-C ends it.\n`,
      );
      if (portOffset > 0) {
        print(`Ports that are taken are avoided by --port-offset ${portOffset}.\n`);
      }
      output.write(`${formatReport(served, { ...listeners, sockets }, problemOptions())}\n`);
      const summary = lintSummary(manifests, paths, plan, Date.now);
      if (summary !== null) print(`\n${summary}`);
      setTimeout(() => print(`\nWatching ${paths.join(", ")} for changes.`), READER_TIME);
    },
    changed(before, after, listeners, duration) {
      const text = changeText(before, after, listeners, duration, problemOptions());
      if (text !== null) output.write(`${text}\n`);
    },
    stopped: () => print("\nStopped."),
    tap: (reasonOf) =>
      tapOutput({
        request: (entry) => print(formatEntry(entry, reasonOf)),
        dropped: (message, lines) => print(`${message}: ${lines}`),
      }),
  };
}
