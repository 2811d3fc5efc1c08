/**
 * `deno task dev`, stage by stage. In: the command line and a folder of manifests. Out: traffic on
 * the listeners, and what is served and what is wrong with it on standard output, at each change.
 *
 *     manifest folder ─▶ plan (local endpoints, translate) ─▶ proxy
 *            ▲ watch                                   └────▶ report
 */
import {
  type Address,
  describeListenError,
  formatAddress,
  isPortPrivileged,
  isPortTaken,
} from "../shared/net/address.ts";
import { startAdmin } from "../shared/admin/server.ts";
import { Lifecycle } from "../shared/lifecycle.ts";
import { createLogger, standardOutput } from "../shared/log.ts";
import { CLOSED_PIPE } from "../cli/terminal/output.ts";
import type { ProblemTextOptions } from "../cli/terminal/problem_text.ts";
import { styleOf, takesColours } from "../cli/terminal/style.ts";
import type { Display } from "./display/display.ts";
import { eventDisplay } from "./display/event_display.ts";
import { textDisplay } from "./display/text_display.ts";
import { MadeCertificates } from "./made_certificates.ts";
import { unreadablePath } from "./manifests/named_paths.ts";
import { placePorts } from "./listeners/port_offset.ts";
import { parseDevOptions } from "./options.ts";
import { adminPages } from "./pages/admin_pages.ts";
import { errorPages } from "./pages/error_page.ts";
import { connectable, type Listeners } from "./report.ts";
import { printable } from "./terminal_text.ts";
import { requestRights } from "./rights.ts";
import { type Served, Serving } from "./serving.ts";
import { withoutRequests } from "./tap.ts";
import { startWatching } from "./watch.ts";

/** Exchanges under way get this long after Ctrl-C, in ms: nobody waits longer at a terminal. */
const DRAIN_TIMEOUT = 2000;

/** A signal sooner than this after the first, in ms, is the same one: `deno task` passes it on. */
const SAME_SIGNAL = 500;

let firstSignal: number | null = null;

let exitCode = 0;

// After the name of the command, where `pingress dev` runs this.
const parsed = parseDevOptions(import.meta.main ? Deno.args : Deno.args.slice(1));
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const unreadable = await unreadablePath(
  parsed.options.paths,
  `${import.meta.main ? "deno task dev" : "pingress dev"} DIR`,
);
if (unreadable !== null) fail(unreadable);
const placed = placePorts(parsed.options);
if (typeof placed === "string") fail(placed);
const { options, offset, reserved } = placed;
const refusal = await requestRights(options);
if (refusal !== null) fail(refusal);

const output = standardOutput();
// Nobody reads it any more, as after `| head`.
output.closed.then(() => {
  exitCode = CLOSED_PIPE;
  return stop();
});
const display: Display = options.format === "json"
  ? eventDisplay(output)
  : textDisplay({ output, plan: options.plan, problemOptions });
const logger = createLogger({
  level: options.logLevel,
  format: "text",
  // Events are alone on standard output.
  ...(options.format === "json" ? { write: writeError } : {}),
});
const log = options.tap ? withoutRequests(logger) : logger;
const lifecycle = new Lifecycle();
const certificates = await MadeCertificates.create(options.sslRedirect);
let current: Served | null = null;
let adminUrl: string | null = null;
const serving = new Serving({
  ...options,
  log,
  output,
  accessLog: options.tap ? display.tap(replyReason) : null,
  errorPage: errorPages({ served: () => current, adminUrl: () => adminUrl }),
}, certificates);
const stopped = new AbortController();
const watch = await startWatching(options.paths, stopped.signal);
const first = current = await serving.update();

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
    handlers: adminPages({
      options,
      hub: serving.hub,
      authority: certificates.authority,
      served: () => current ?? first,
    }),
    logger: log,
  });
const admin = await listen(options.admin, "--admin", startAdminPort);
listeners.admin = admin.address;
adminUrl = `http://${formatAddress(connectable(admin.address))}`;
serving.proxy.protect(admin.address);
lifecycle.enter("ready");
display.started({ paths: options.paths, listeners, portOffset: offset }, first);

Deno.addSignalListener("SIGINT", stop);
if (Deno.build.os !== "windows") Deno.addSignalListener("SIGTERM", stop);

await watch.run(async (noticedAt) => {
  try {
    const before = current ?? first;
    current = await serving.update();
    const duration = performance.now() - noticedAt;
    display.changed(before, current, listeners, duration);
  } catch (error) {
    log.error("Cannot serve the change, still serving the previous configuration", { error });
  }
});

async function stop(): Promise<void> {
  if (lifecycle.state === "starting") Deno.exit(exitCode);
  firstSignal ??= performance.now();
  if (!lifecycle.enter("draining")) {
    if (performance.now() - firstSignal > SAME_SIGNAL) Deno.exit(1);
    return;
  }
  stopped.abort();
  await serving.proxy.drain({ delay: 0, timeout: DRAIN_TIMEOUT });
  await admin.close();
  lifecycle.enter("stopped");
  display.stopped();
  await standardOutput().flush();
  Deno.exit(exitCode);
}

async function listen<T>(
  address: Address,
  flag: string,
  start: () => T | Promise<T>,
): Promise<T> {
  try {
    reserved.release(address);
    return await start();
  } catch (error) {
    const offset = isPortTaken(error) ? "auto" : isPortPrivileged(error, address) ? "8000" : null;
    const remedy = offset === null ? "" : `, or add --port-offset ${offset}`;
    fail(`${describeListenError(error, address, flag)}${remedy}`);
  }
}

function problemOptions(): ProblemTextOptions {
  const isTerminal = Deno.stdout.isTerminal();
  return {
    columns: isTerminal ? Deno.consoleSize().columns : Infinity,
    style: styleOf(takesColours(isTerminal, (name) => Deno.env.get(name))),
    listsInfo: options.verbose,
    infoHint: "--verbose lists them",
  };
}

/** Why a route responds itself. */
function replyReason(id: string): string | null {
  const action = current?.plan.snapshot.routes.find((route) => route.id === id)?.action;
  return action?.kind === "reply" ? action.reason : null;
}

function writeError(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(line));
}

/** Ends a start that cannot succeed, with the exit code of every command for that. */
function fail(message: string): never {
  console.error(printable(message));
  Deno.exit(2);
}
