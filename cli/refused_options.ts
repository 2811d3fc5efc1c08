/** Command lines that ask for help or are wrong. In: what `parseOptions` found. Out: its text, and the exit code. */
import { EXIT } from "./command.ts";
import type { Terminal } from "./terminal/terminal.ts";

export interface RefusedOptions {
  readonly kind: "help" | "error";
  readonly text: string;
}

export function refusedOptions({ kind, text }: RefusedOptions, terminal: Terminal): number {
  if (kind === "help") terminal.write(`${text}\n`);
  else terminal.error(text);
  return kind === "help" ? EXIT.fine : EXIT.unusable;
}
