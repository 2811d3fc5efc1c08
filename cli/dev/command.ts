/** `pingress dev`. In: the command line of this process. Out: what `deno task dev` serves and prints. */
import type { Program } from "../../shared/options.ts";
import { DEV_PROGRAM } from "../../dev/options.ts";

export { DEV_OPTIONS as specs } from "../../dev/options.ts";

export const program: Program = { ...DEV_PROGRAM, name: "pingress dev" };

/** Serves until a signal ends the process, which `dev/main.ts` does itself once it has drained. */
export async function main(): Promise<never> {
  await import("../../dev/main.ts");
  return await new Promise<never>(() => {});
}
