/** Requests at a constant rate, whatever the answers do, by `open_loop_load.ts`. */
import { join } from "node:path";
import { formatAddress } from "../../shared/net/address.ts";
import { type OpenLoopPlan, type OpenLoopReport } from "../open_loop_load.ts";
import { requestsOf } from "../routes.ts";
import { environmentFor } from "../target.ts";
import { TLS_NAME } from "../tls.ts";
import { resultOf, RUN_BY_DENO, runMetered } from "./metered.ts";
import type { Case, Load, LoadResult, Meter, Target } from "../model.ts";

const PROGRAM = new URL("../open_loop_load.ts", import.meta.url).pathname;

/** From this lateness of its own on, in ms at p99.9, the load says so: the tail is not the proxy's. */
const LATE = 0.25;

export const OPEN_LOOP: Load = {
  ...RUN_BY_DENO,
  run(target, what, seconds, folder, meter, rate) {
    const file = join(folder, `${what.name}.plan.json`);
    const plan = planOf(target, what, seconds, rate);
    return runOpenLoop(plan, file, environmentFor(target), meter);
  },
};

/** @param file that the plan is written to. */
export async function runOpenLoop(
  plan: OpenLoopPlan,
  file: string,
  environment: Readonly<Record<string, string>>,
  meter: Meter,
): Promise<LoadResult> {
  await Deno.writeTextFile(file, JSON.stringify(plan));
  const report: OpenLoopReport = await runMetered(
    // Room for what little it allocates: no collection falls into a measurement.
    [
      ...[
        Deno.execPath(),
        "run",
        "--quiet",
        "--v8-flags=--min-semi-space-size=32,--max-semi-space-size=32",
      ],
      ...["--allow-ffi", `--allow-read=${file}`, PROGRAM, file],
    ],
    environment,
    meter,
  );
  return {
    ...resultOf(report, report.answered),
    ...(report.ownP999 > LATE ? { note: lateness(report) } : {}),
  };
}

function lateness({ ownP999, ownMax }: OpenLoopReport): string {
  const [often, most] = [ownP999, ownMax].map((ms) => ms.toFixed(2));
  return `the load itself was late by ${often} ms at p99.9, by ${most} at the most`;
}

function planOf(target: Target, what: Case, seconds: number, rate: number): OpenLoopPlan {
  const { address, tls } = target;
  const requests = requestsOf(what);
  const host = tls === null ? formatAddress(address) : `${TLS_NAME}:${address.port}`;
  return {
    port: address.port,
    tls: tls === null ? null : { authority: tls.authority, name: TLS_NAME },
    connections: what.connections,
    isNewEach: what.unit === "connection",
    seconds,
    rate,
    requests: requests.length > 0 ? requests : [{ host, path: what.path }],
  };
}
