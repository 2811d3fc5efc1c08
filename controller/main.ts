/**
 * The controller's first thread. In: the command line, three variables of the environment, signals.
 * Out: a worker with no more rights than that command line needs, and the exit code.
 *
 *     options ─▶ credentials ─▶ rights ─▶ worker: the controller itself
 */
import { createLogger, standardOutput } from "../shared/log.ts";
import { dropRights, isGranted, missingRight } from "../shared/rights.ts";
import { onStopSignals } from "../shared/stop_signals.ts";
import {
  type CredentialSource,
  reachOf,
  SERVICE_ACCOUNT_FOLDER,
} from "./kube/credential_source.ts";
import { type ControllerOptions, parseControllerOptions, readEnvironment } from "./cli/options.ts";
import { relayGrant, workerRights } from "./cli/permissions.ts";
import type { FromWorker, ToWorker } from "./process/worker_protocol.ts";

const parsed = parseControllerOptions(Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { options } = parsed;
const log = createLogger({ level: options.logLevel, format: options.logFormat });
const environment = readEnvironment(Deno.env);

const source = sourceOf(options) ?? await fail(
  "There is no API server to talk to: run in a pod with a service account, or give --kubeconfig FILE",
);
const reach = reachOf(source) ?? await fail(await complaintAbout(source));
const rights = workerRights({
  ...reach,
  podTemplate: options.proxyPodTemplate,
  admin: options.admin,
  stream: options.stream,
  // Without the right, proxies of other replicas count as unknown; all else works.
  relays: options.gateway !== null && isGranted({ name: "net", host: relayGrant(options.stream) }),
});
const missing = missingRight(rights);
if (missing !== null) {
  await fail(`Deno was started without a permission that this command line needs; add ${missing}`);
}
const worker = new Worker(new URL("./process/controller.ts", import.meta.url), {
  type: "module",
  name: "controller",
  deno: { permissions: rights },
});
worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
  if (data.kind === "up") dropRights(["read", "net", "env"]);
  else Deno.exit(data.code);
};
worker.onerror = (event) => {
  event.preventDefault();
  fail(event.message);
};
tell({
  kind: "start",
  args: Deno.args,
  credentials: source,
  identity: `${environment.podName ?? "pingress-controller"}_${crypto.randomUUID()}`,
});

onStopSignals(() => tell({ kind: "stop" }));

function sourceOf({ kubeconfig, context }: ControllerOptions): CredentialSource | null {
  if (kubeconfig !== null) return { kind: "kubeconfig", file: kubeconfig, context };
  const { apiServer } = environment;
  return apiServer === null
    ? null
    : { kind: "service-account", ...apiServer, folder: SERVICE_ACCOUNT_FOLDER };
}

/** Why a kubeconfig cannot be used. */
async function complaintAbout(source: CredentialSource): Promise<string> {
  const { loadCredentials } = await import("./kube/credentials.ts");
  const reading = loadCredentials(source);
  return reading.ok ? "The kubeconfig has changed while it was read; start again" : reading.message;
}

function tell(message: ToWorker): void {
  worker.postMessage(message);
}

/** Ends what cannot go on. */
async function fail(reason: string): Promise<never> {
  log.error("Cannot continue", { reason });
  await standardOutput().flush();
  Deno.exit(1);
}
