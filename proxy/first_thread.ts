/**
 * What the proxy's first thread does. In: the command line. Out: a supervisor with no more rights
 * than that command line needs, and the exit code. What this thread itself may read and dial is
 * dropped once the supervisor runs.
 *
 *     options ─▶ rights ─▶ supervisor ─▶ workers: traffic
 *                              └─ configuration, metrics, admin port
 */
import { createLogger, type Logger, standardOutput } from "../shared/log.ts";
import { dropRights, missingRight } from "../shared/rights.ts";
import { lacksIpv6, onIpv4 } from "./listen_addresses.ts";
import { parseProxyOptions } from "./options.ts";
import { nameServersOf, supervisorRights } from "./rights.ts";
import type { FromSupervisor, ToSupervisor } from "./supervisor_protocol.ts";

/** What it answers begins an orderly end. */
export function startProxy(args: readonly string[]): () => void {
  const parsed = parseProxyOptions(args);
  if (parsed.kind !== "ok") {
    (parsed.kind === "help" ? console.log : console.error)(parsed.text);
    Deno.exit(parsed.kind === "help" ? 0 : 2);
  }
  const { logLevel: level, logFormat: format } = parsed.options;
  const log = createLogger({ level, format });
  const ipv4Only = lacksIpv6(parsed.options);
  if (ipv4Only) log.info("There is no IPv6 here, so 0.0.0.0 is listened on in place of [::]");
  const options = ipv4Only ? onIpv4(parsed.options) : parsed.options;
  const rights = supervisorRights(options, options.upstreamNetworks.isEmpty ? [] : nameServersOf());
  const missing = missingRight({ read: rights.read as string[] });
  if (missing !== null) {
    fail(
      log,
      `Deno was started without a permission that this command line needs; add ${missing}`,
    );
    // It ends already.
    return () => {};
  }
  const supervisor = new Worker(new URL("./supervisor.ts", import.meta.url), {
    type: "module",
    name: "supervisor",
    deno: { permissions: rights },
  });
  const tell = (message: ToSupervisor) => supervisor.postMessage(message);
  supervisor.onmessage = ({ data }: MessageEvent<FromSupervisor>) => {
    if (data.kind === "up") dropRights(["read", "net"]);
    else Deno.exit(data.code);
  };
  supervisor.onerror = (event) => {
    event.preventDefault();
    fail(log, event.message);
  };
  tell({ kind: "start", args, ipv4Only });
  return () => tell({ kind: "stop" });
}

/** Ends what cannot go on. */
async function fail(log: Logger, reason: string): Promise<void> {
  log.error("Cannot go on", { reason });
  await standardOutput().flush();
  Deno.exit(1);
}
