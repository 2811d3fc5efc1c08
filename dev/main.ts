/**
 * `deno task dev`, stage by stage. In: the command line and a folder of manifests. Out: traffic on
 * the listeners, and what is served and what is wrong with it on standard output, at each change.
 *
 *     manifest folder ─▶ plan (local endpoints, translate) ─▶ proxy
 *            ▲ watch                                   └────▶ report
 */
import { type Address, describeListenError, formatAddress } from "../shared/net/address.ts";
import { startAdmin } from "../shared/admin/server.ts";
import { Lifecycle } from "../shared/lifecycle.ts";
import { createLogger, standardOutput } from "../shared/log.ts";
import { styleOf } from "../cli/terminal/style.ts";
import { lintSummary } from "./lint_summary.ts";
import { MadeCertificates } from "./made_certificates.ts";
import { unreadablePath } from "./manifests/folder.ts";
import { parseDevOptions } from "./options.ts";
import { AUTHORITY_PATH, formatListeners, formatReport, type Listeners } from "./report.ts";
import { count, printable } from "./terminal_text.ts";
import { requestRights } from "./rights.ts";
import { type Served, Serving } from "./serving.ts";
import { startWatching } from "./watch.ts";

/** Exchanges under way get this long after Ctrl-C, in ms: nobody waits longer at a terminal. */
const DRAIN_TIMEOUT = 2000;

/** A signal sooner than this after the first, in ms, is the same one: `deno task` passes it on. */
const SAME_SIGNAL = 500;

// After the name of the command, where `pingress dev` runs this.
const parsed = parseDevOptions(import.meta.main ? Deno.args : Deno.args.slice(1));
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { options } = parsed;
const unreadable = await unreadablePath(options.paths);
if (unreadable !== null) fail(unreadable);
const refusal = await requestRights(options);
if (refusal !== null) fail(refusal);

const log = createLogger({ level: options.logLevel, format: "text" });
const lifecycle = new Lifecycle();
const certificates = await MadeCertificates.create(options.sslRedirect);
const serving = new Serving(options, certificates, log);
const stopped = new AbortController();
const watch = await startWatching(options.paths, stopped.signal);
const first = await serving.update();

const listeners: Listeners = {
  http: [],
  https: [],
  sslRedirect: options.sslRedirect,
  admin: options.admin,
  sockets: first.sockets,
};
for (const address of options.listenHttp) {
  const start = () => serving.proxy.listen(address);
  listeners.http.push(await listen(address, "--listen-http", start));
}
for (const address of options.listenHttps) {
  const start = () => serving.proxy.listenTls(address);
  listeners.https.push(await listen(address, "--listen-https", start));
}
const startAdminPort = () =>
  startAdmin({
    ...options.admin,
    lifecycle,
    handlers: { [AUTHORITY_PATH]: () => authorityFile(certificates) },
    logger: log,
  });
const admin = await listen(options.admin, "--admin", startAdminPort);
listeners.admin = admin.address;
serving.proxy.protect(admin.address);
lifecycle.enter("ready");
print(
  `Pingress serves ${options.paths.join(", ")} (${
    count(first.manifests.refs.length, "object")
  }) at ` +
    `${formatListeners(listeners)}, readiness at http://${formatAddress(admin.address)}/readyz. ` +
    "Ctrl-C ends it.\n",
);
report(first);

let firstSignal: number | null = null;
Deno.addSignalListener("SIGINT", stop);
if (Deno.build.os !== "windows") Deno.addSignalListener("SIGTERM", stop);

await watch.run(async () => {
  try {
    const served = await serving.update();
    const objects = count(served.manifests.refs.length, "object");
    print(`\n${"─".repeat(72)}\nChanged, and served: ${objects}.\n`);
    report(served);
  } catch (error) {
    log.error("Cannot serve the change, still serving the previous configuration", { error });
  }
});

async function stop(): Promise<void> {
  firstSignal ??= performance.now();
  if (!lifecycle.enter("draining")) {
    if (performance.now() - firstSignal > SAME_SIGNAL) Deno.exit(1);
    return;
  }
  stopped.abort();
  await serving.proxy.drain({ delay: 0, timeout: DRAIN_TIMEOUT });
  await admin.close();
  lifecycle.enter("stopped");
  print("\nStopped.");
  await standardOutput().flush();
  Deno.exit(0);
}

async function listen<T>(
  address: Address,
  flag: string,
  start: () => T | Promise<T>,
): Promise<T> {
  try {
    return await start();
  } catch (error) {
    fail(describeListenError(error, address, flag));
  }
}

function report({ plan, manifests, sockets }: Served): void {
  const { paths } = options;
  const isTerminal = Deno.stdout.isTerminal();
  const text = formatReport(plan, { ...listeners, sockets }, {
    columns: isTerminal ? Deno.consoleSize().columns : Infinity,
    style: styleOf(isTerminal && !Deno.noColor),
    listsInfo: options.verbose,
    infoHint: "--verbose lists them",
  });
  standardOutput().write(`${text}\n`);
  const summary = lintSummary(manifests, paths, options.plan, Date.now);
  if (summary !== null) print(`\n${summary}`);
}

function authorityFile({ authority }: MadeCertificates): Response {
  return new Response(authority, { headers: { "content-type": "application/x-x509-ca-cert" } });
}

function print(text: string): void {
  standardOutput().write(`${text.split("\n").map(printable).join("\n")}\n`);
}

/** Ends a start that cannot succeed. */
function fail(message: string): never {
  console.error(printable(message));
  Deno.exit(1);
}
