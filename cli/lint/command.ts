/** `pingress lint`. In: the command line. Out: what `deno task lint` prints, and its exit code. */
import type { Program } from "../../shared/options.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { main as lint } from "./main.ts";
import { LINT_PROGRAM } from "./options.ts";

export { LINT_OPTIONS as specs } from "./options.ts";

export const program: Program = { ...LINT_PROGRAM, name: "pingress lint" };

export const main = (args: readonly string[], terminal: Terminal): Promise<number> =>
  lint(args, program, terminal);
