/**
 * The proxy's first thread. In: the command line and signals. Out: a supervisor with no more rights
 * than that command line needs, and the exit code. What this thread itself may read and dial is
 * dropped once the supervisor runs.
 *
 *     options ─▶ rights ─▶ supervisor ─▶ workers: traffic
 *                              └─ configuration, metrics, admin port
 */
import { createLogger, standardOutput } from "../shared/log.ts";
import { parseProxyOptions } from "./options.ts";
import { dropRights, missingRight, nameServersOf, supervisorRights } from "./rights.ts";
import type { FromSupervisor, ToSupervisor } from "./supervisor_protocol.ts";

/** Ctrl-C sooner than this after the first, in ms, is the same one: `deno task` passes it on. */
const SAME_INTERRUPT = 500;

const parsed = parseProxyOptions(Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { options } = parsed;
const log = createLogger({ level: options.logLevel, format: options.logFormat });

const rights = supervisorRights(options, options.upstreamNetworks.isEmpty ? [] : nameServersOf());
const missing = missingRight(rights);
if (missing !== null) {
  await fail(`Deno was started without a permission that this command line needs; add ${missing}`);
}
const supervisor = new Worker(new URL("./supervisor.ts", import.meta.url), {
  type: "module",
  name: "supervisor",
  deno: { permissions: rights },
});
supervisor.onmessage = ({ data }: MessageEvent<FromSupervisor>) => {
  if (data.kind === "up") dropRights();
  else Deno.exit(data.code);
};
supervisor.onerror = (event) => {
  event.preventDefault();
  fail(event.message);
};
tell({ kind: "start", args: Deno.args });

let firstSignal: number | null = null;
for (const name of ["SIGTERM", "SIGINT"] as const) {
  Deno.addSignalListener(name, () => {
    const now = performance.now();
    if (firstSignal === null) {
      firstSignal = now;
      tell({ kind: "stop" });
    } else if (name === "SIGTERM" || now - firstSignal > SAME_INTERRUPT) {
      // Whatever the supervisor is at: the second signal ends it at once.
      Deno.exit(1);
    }
  });
}

function tell(message: ToSupervisor): void {
  supervisor.postMessage(message);
}

/** Ends what cannot go on. */
async function fail(reason: string): Promise<never> {
  log.error("Cannot go on", { reason });
  await standardOutput().flush();
  Deno.exit(1);
}
