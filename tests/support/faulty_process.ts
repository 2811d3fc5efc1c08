/**
 * `proxy/main.ts` with `faulty_worker.ts` for its first workers. In: the proxy's command line, and SIGTERM.
 * Out: its log, and its exit code.
 */
import { startProxy } from "../../proxy/process/launcher.ts";

const stop = startProxy(Deno.args, Deno.env, {
  worker: new URL("./faulty_worker.ts", import.meta.url),
});
Deno.addSignalListener("SIGTERM", stop);
