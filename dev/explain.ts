/** `deno task explain [DIR…] URL…`. In: the command line. Out: what `pingress explain` prints, and its exit code. */
import { runExplain } from "../cli/explain/explain.ts";
import { EXPLAIN_TASK } from "../cli/explain/options.ts";
import { processTerminal } from "../cli/terminal/terminal.ts";

if (import.meta.main) {
  const terminal = processTerminal((name) => Deno.env.get(name));
  Deno.exit(await runExplain(EXPLAIN_TASK, Deno.args, terminal));
}
