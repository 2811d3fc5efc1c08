/**
 * The proxy, stage by stage. In: the command line and a configuration file. Out: traffic on the
 * listeners, health on the admin port, events on standard output.
 *
 *     options ─▶ snapshot source ─▶ server (listen, apply) ─▶ admin ─▶ signals: drain
 */
import { dirname, resolve } from "node:path";
import { startAdmin } from "../shared/admin.ts";
import { type Address, describeListenError, formatAddress } from "../shared/address.ts";
import { Lifecycle } from "../shared/lifecycle.ts";
import { createLogger, standardOutput } from "../shared/log.ts";
import { CertificateLoader } from "./certificate_loader.ts";
import { parseProxyOptions } from "./options.ts";
import { ProxyServer } from "./server.ts";
import { SnapshotSource } from "./snapshot_source.ts";

const parsed = parseProxyOptions(Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { options } = parsed;
const log = createLogger({ level: options.logLevel, format: options.logFormat });
const lifecycle = new Lifecycle();

const server = new ProxyServer({
  limits: options.limits,
  trustedProxies: options.trustedProxies,
  sslRedirect: options.sslRedirect,
  sslRedirectPort: options.sslRedirectPort,
  log,
});
const certificates = new CertificateLoader({
  folder: dirname(resolve(options.config)),
  log,
  now: Date.now,
});
const source = new SnapshotSource({
  file: options.config,
  watch: options.watch,
  clusterDomain: options.clusterDomain,
  log,
  onSnapshot: (snapshot) => server.apply(snapshot, certificates.load(snapshot)),
});

const loaded = await source.load();
if (!loaded.ok) await fail(loaded.message);
for (const address of options.listenHttp) {
  await listen("http", address, (address) => Promise.resolve().then(() => server.listen(address)));
}
for (const address of options.listenHttps) {
  await listen("https", address, (address) => server.listenTls(address));
}
const admin = await startAdminPort();
source.start();
lifecycle.enter("ready");
log.info("Ready", { admin: formatAddress(admin.address) });

Deno.addSignalListener("SIGTERM", stop);
Deno.addSignalListener("SIGINT", stop);

async function listen(
  scheme: "http" | "https",
  address: Address,
  start: (address: Address) => Promise<Address>,
): Promise<void> {
  try {
    log.info("Listening", { [scheme]: formatAddress(await start(address)) });
  } catch (error) {
    await fail(describeListenError(error, address, `--listen-${scheme}`));
  }
}

async function startAdminPort() {
  try {
    return startAdmin({ ...options.admin, lifecycle, logger: log });
  } catch (error) {
    return await fail(describeListenError(error, options.admin, "--admin"));
  }
}

/** The first signal drains; the second ends it at once. */
async function stop(): Promise<void> {
  if (!lifecycle.enter("draining")) Deno.exit(1);
  log.info("Draining", { delay: options.drainDelay, timeout: options.drainTimeout });
  await server.drain({ delay: options.drainDelay, timeout: options.drainTimeout });
  await source.stop();
  await admin.close();
  lifecycle.enter("stopped");
  log.info("Stopped");
  await standardOutput().flush();
  Deno.exit(0);
}

/** Ends a start that cannot succeed. */
async function fail(message: string): Promise<never> {
  log.error("Cannot start", { reason: message });
  await standardOutput().flush();
  Deno.exit(1);
}
