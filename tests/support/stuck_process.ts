/**
 * `proxy/main.ts` with `stuck_supervisor.ts` in place of the supervisor, and less patience. In: the
 * proxy's command line, and SIGTERM. Out: its log, and its exit code.
 */
import { startProxy } from "../../proxy/process/launcher.ts";

const stop = startProxy(Deno.args, Deno.env, {
  module: new URL("./stuck_supervisor.ts", import.meta.url),
  heartbeat: 100,
  silence: 3_000,
});
Deno.addSignalListener("SIGTERM", stop);
