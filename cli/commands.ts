/** The commands of `pingress`. In: nothing. Out: one row a command, in the order of the help. */
import type { Command } from "./command.ts";

export const COMMANDS: readonly Command[] = [
  {
    name: "version",
    summary: "Prints the version.",
    permissions: "offline",
    load: () => import("./version/version.ts"),
  },
];
