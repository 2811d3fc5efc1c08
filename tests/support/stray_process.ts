/**
 * `proxy/main.ts` with `stray_supervisor.ts` in place of the supervisor. In: the proxy's command
 * line, and SIGTERM. Out: its log, and its exit code; 3 where the supervisor has failed.
 */
import { parseProxyOptions } from "../../proxy/cli/options.ts";
import type { ToSupervisor } from "../../proxy/process/supervisor_protocol.ts";

const supervisor = new Worker(new URL("./stray_supervisor.ts", import.meta.url), {
  type: "module",
});
supervisor.onmessage = ({ data }) => data.kind === "exit" && Deno.exit(data.code);
supervisor.onerror = (event) => {
  event.preventDefault();
  console.log(event.message);
  Deno.exit(3);
};
const parsed = parseProxyOptions(Deno.args);
if (parsed.kind !== "ok") throw new TypeError("The command line was to be good");
const { listenHttp, listenHttps } = parsed.options;
const start: ToSupervisor = {
  kind: "start",
  args: Deno.args,
  ipv4Only: false,
  listenHttp,
  listenHttps,
  exporter: null,
  workers: [],
};
supervisor.postMessage(start);
Deno.addSignalListener("SIGTERM", () => supervisor.postMessage({ kind: "stop" }));
