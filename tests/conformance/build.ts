/**
 * Builds the suite ahead of its cases. In: nothing. Out: what was built; exit code 1 where something is missing.
 *
 *     deno run -A tests/conformance/build.ts
 */
import { buildSuite } from "./suite.ts";

const parts = await buildSuite();
if ("missing" in parts) {
  console.log(`missing: ${parts.missing}`);
  Deno.exit(1);
}
console.log(`conformance suite ${parts.version}`);
