/**
 * `proxy/main.ts` with first workers that die before they are used. In: the proxy's command line. Out: its
 * log, and its exit code.
 */
import { startProxy } from "../../proxy/process/launcher.ts";

startProxy(Deno.args, Deno.env, {
  worker: new URL("./unloadable_worker.ts", import.meta.url),
});
