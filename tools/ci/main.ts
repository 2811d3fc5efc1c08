/**
 * Runs the steps of CI, as `.ci/run` starts it. In: the list of steps on standard input, and what
 * could not be installed as arguments. Out: what the steps print, then `flaky: NAME` for what
 * failed and passed when it was run once more, and last `N passed, N failed`; the exit code is 0
 * only if nothing failed.
 *
 *     deno run -A tools/ci/main.ts [--minutes N] [--spent SECONDS] [FAILED INSTALLATION…] <STEPS
 *
 * `PINGRESS_CI_PATIENCE=2` doubles the time that each step, and the whole, may take.
 */
import { parseArgs } from "node:util";
import { print } from "./command_run.ts";
import { Run } from "./run.ts";
import { CI_PATIENCE } from "./patience.ts";
import { parseSteps } from "./step_list.ts";

const { values, positionals: failedInstallations } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: "string", default: "85" },
    spent: { type: "string", default: "0" },
  },
});

const steps = parseSteps(await new Response(Deno.stdin.readable).text());
if (!Array.isArray(steps)) stop(steps.error);
if (!(CI_PATIENCE > 0)) stop("PINGRESS_CI_PATIENCE must be a number above 0");

const { passed, failed, failures, flaky } = await new Run({
  patience: CI_PATIENCE,
  minutes: Number(values.minutes),
  spent: Number(values.spent),
  strict: Deno.env.get("CI") === "true",
}).run(steps);

const allFailures = [...failedInstallations.map((one) => `install ${one}`), ...failures];
if (allFailures.length > 0) {
  print(`\nfailed:\n${allFailures.map((name) => `  ${name}\n`).join("")}`);
}
if (flaky.length > 0) print(`\n${flaky.map((name) => `flaky: ${name}\n`).join("")}`);
const total = failed + failedInstallations.length;
print(`\n${passed} passed, ${total} failed\n`);
Deno.exit(total === 0 ? 0 : 1);

function stop(error: string): never {
  print(`${error}\n\n0 passed, 1 failed\n`);
  Deno.exit(1);
}
