/** `pingress dev`. In: the command line of this process. Out: what `deno task dev` serves and prints. */
import type { Program } from "../../shared/options.ts";
import { DEV_PROGRAM } from "../../dev/options.ts";
import { EXIT } from "../command.ts";

export { DEV_OPTIONS as specs } from "../../dev/options.ts";

export const program: Program = { ...DEV_PROGRAM, name: "pingress dev" };

/** Serves until a signal ends the process. */
export async function main(): Promise<number> {
  await import("../../dev/main.ts");
  return EXIT.fine;
}
