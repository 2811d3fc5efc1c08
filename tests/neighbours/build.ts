/**
 * Builds the programs that these tests run, ahead of them. In: nothing. Out: a line for each; exit
 * code 1 where one is missing.
 *
 *     deno run -A tests/neighbours/build.ts
 */
import { findProgram } from "../peers/go_program.ts";
import { ACME_SOLVER, CERT_MANAGER } from "./cert_manager/cert_manager.ts";
import { findCollector } from "./collector.ts";
import { EXTERNAL_DNS } from "./external_dns/external_dns.ts";
import { HELM } from "./helm.ts";
import { PEBBLE, PEBBLE_DNS } from "./cert_manager/pebble.ts";

const PROGRAMS = [HELM, PEBBLE, PEBBLE_DNS, CERT_MANAGER, ACME_SOLVER, EXTERNAL_DNS];

let isWhole = true;
const finders = [
  ...PROGRAMS.map((program) => ({ name: program.name, find: () => findProgram(program) })),
  { name: "otelcol", find: findCollector },
];
// One after another: each build has all cores.
for (const { name, find } of finders) {
  const found = await find();
  console.log("missing" in found ? `missing: ${found.missing}` : name);
  isWhole &&= !("missing" in found);
}
if (!isWhole) Deno.exit(1);
