/**
 * Builds the programs that these tests run, ahead of them. In: nothing. Out: a line for each; exit
 * code 1 where one is missing.
 *
 *     deno run -A tests/neighbours/build.ts
 */
import { findPublished } from "../peers/go_program.ts";
import { HELM } from "./helm.ts";

let isWhole = true;
for (const program of [HELM]) {
  const found = await findPublished(program);
  console.log("missing" in found ? `missing: ${found.missing}` : program.name);
  isWhole &&= !("missing" in found);
}
if (!isWhole) Deno.exit(1);
