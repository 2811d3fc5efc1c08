/**
 * `deno task dev`, stage by stage. In: the command line and a folder of manifests. Out: traffic on
 * the listeners, and what is served and what is wrong with it on standard output, at each change.
 *
 *     manifest folder ─▶ plan (local endpoints, translate) ─▶ proxy
 *            ▲ watch                                   └────▶ report
 */
import { DEFAULT_LIMITS } from "../proxy/limits.ts";
import { ProxyServer } from "../proxy/server.ts";
import { type Address, describeListenError, formatAddress } from "../shared/address.ts";
import { type AdminServer, startAdmin } from "../shared/admin.ts";
import { CidrList } from "../shared/cidr.ts";
import { Lifecycle } from "../shared/lifecycle.ts";
import { createLogger, standardOutput } from "../shared/log.ts";
import { ManifestFolder } from "./manifest_folder.ts";
import { parseDevOptions } from "./options.ts";
import { makePlan, type Plan } from "./plan.ts";
import { count, formatReport, printable } from "./report.ts";
import { describeMissingRight, requestRights } from "./rights.ts";
import { SampleBackends } from "./sample_backend.ts";
import { startWatching } from "./watch.ts";

/** Exchanges under way get this long after Ctrl-C, in ms: nobody waits longer at a terminal. */
const DRAIN_TIMEOUT = 2000;

/** A signal sooner than this after the first, in ms, is the same one: `deno task` passes it on. */
const SAME_SIGNAL = 500;

const parsed = parseDevOptions(Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { options } = parsed;
for (const path of options.paths) {
  await Deno.stat(path).catch((error) =>
    fail(
      error instanceof Deno.errors.NotFound
        ? `There is no file or folder ${path}; name one with Kubernetes YAML in it`
        : `Cannot read ${path}: ${error.message}`,
    )
  );
}
const refusal = await requestRights(options.plan);
if (refusal !== null) fail(refusal);

const log = createLogger({ level: options.logLevel, format: "text" });
const lifecycle = new Lifecycle();
const proxy = new ProxyServer({
  limits: DEFAULT_LIMITS,
  trustedProxies: CidrList.empty,
  sslRedirect: false,
  sslRedirectPort: 0,
  log,
});
const samples = new SampleBackends();
const folder = new ManifestFolder(options.paths);
const stopped = new AbortController();
let plan: Plan | null = null;

const watch = await startWatching(options.paths, stopped.signal);
const objects = await serve();
const listeners = options.listenHttp.map((address) =>
  listening(address, "--listen-http", () => proxy.listen(address))
);
const admin: AdminServer = listening(
  options.admin,
  "--admin",
  () => startAdmin({ ...options.admin, lifecycle, logger: log }),
);
lifecycle.enter("ready");
print(
  `Pingress serves ${options.paths.join(", ")} (${count(objects, "object")}) at ${
    listeners.map((address) => `http://${formatAddress(address)}`).join(" and ")
  }, readiness at http://${formatAddress(admin.address)}/readyz. Ctrl-C ends it.`,
);
report();

let firstSignal: number | null = null;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  // Windows has no SIGTERM.
  if (Deno.build.os !== "windows" || signal === "SIGINT") Deno.addSignalListener(signal, stop);
}
await watch.run(async () => {
  try {
    const changed = await serve();
    print(`\n${"─".repeat(72)}\nChanged, and served: ${count(changed, "object")}.`);
    report();
  } catch (error) {
    log.error("The change cannot be served; what was served before still is", { error });
  }
});

/** Reads, translates and applies; the number of objects that were read. */
async function serve(): Promise<number> {
  const manifests = await folder.read();
  const next = makePlan(
    manifests,
    options.plan,
    (namespace, name) => samples.endpointsFor(namespace, name),
    plan?.snapshot ?? null,
    Date.now,
  );
  proxy.apply(next.snapshot);
  plan = next;
  return manifests.refs.length;
}

function report(): void {
  if (plan !== null) print(`\n${formatReport(plan, listeners)}`);
}

async function stop(): Promise<void> {
  firstSignal ??= performance.now();
  if (!lifecycle.enter("draining")) {
    if (performance.now() - firstSignal > SAME_SIGNAL) Deno.exit(1);
    return;
  }
  stopped.abort();
  await proxy.drain({ delay: 0, timeout: DRAIN_TIMEOUT });
  await admin.close();
  lifecycle.enter("stopped");
  print("\nStopped.");
  await standardOutput().flush();
  Deno.exit(0);
}

function listening<T>(address: Address, flag: string, listen: () => T): T {
  try {
    return listen();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) {
      fail(describeListenError(error, address, flag));
    }
    fail(describeMissingRight(`listen on ${formatAddress(address)} (${flag})`));
  }
}

function print(text: string): void {
  standardOutput().write(`${text.split("\n").map(printable).join("\n")}\n`);
}

/** Ends a start that cannot succeed. */
function fail(message: string): never {
  console.error(printable(message));
  Deno.exit(1);
}
