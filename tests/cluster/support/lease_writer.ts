/**
 * A program that writes whenever it leads. In: a kubeconfig, a Lease and a ConfigMap. Out: `writer`
 * and `count` of the ConfigMap, one after another, and a log on standard output. SIGTERM ends it in
 * order, as a rollout does.
 */
import { parseArgs } from "node:util";
import { KubeClient } from "../../../controller/kube/client.ts";
import { loadCredentials } from "../../../controller/kube/credentials.ts";
import { LeaderElector } from "../../../controller/kube/leader.ts";
import { type ApiResult, CONFIG_MAPS, type KubeObject } from "../../../controller/kube/types.ts";
import { createLogger } from "../../../shared/log.ts";

interface Counter extends KubeObject {
  readonly data?: { readonly writer?: string; readonly count?: string };
}

const { values } = parseArgs({
  options: {
    kubeconfig: { type: "string" },
    namespace: { type: "string" },
    lease: { type: "string" },
    "config-map": { type: "string" },
    identity: { type: "string" },
    "lease-duration": { type: "string" },
    "renew-deadline": { type: "string" },
    "retry-period": { type: "string" },
    /** Milliseconds from one write to the next. */
    pace: { type: "string" },
  },
});

function given(name: keyof typeof values): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
}

const namespace = given("namespace");
const configMap = given("config-map");
const identity = given("identity");
const pace = Number(given("pace"));
const log = createLogger({ level: "debug", format: "json" });
const credentials = loadCredentials({
  kind: "kubeconfig",
  file: given("kubeconfig"),
  context: null,
});
if (!credentials.ok) throw new Error(credentials.message);
const client = new KubeClient(credentials.credentials);
const elector = new LeaderElector({
  client,
  namespace,
  name: given("lease"),
  identity,
  leaseDuration: Number(given("lease-duration")),
  renewDeadline: Number(given("renew-deadline")),
  retryPeriod: Number(given("retry-period")),
  isNew: async (deadline) => {
    const counter = await client.get<Counter>(CONFIG_MAPS, namespace, configMap, { deadline });
    return counter.ok && counter.value.data?.writer === "";
  },
  log,
});

let isStopping = false;

/** Ends when a stop is asked for and nothing is on its way any more. */
async function write(): Promise<void> {
  let known: Counter | null = null;
  while (!isStopping) {
    if (elector.mayWrite()) known = known === null ? await read() : await add(known);
    else known = null;
    await new Promise((resolve) => setTimeout(resolve, pace));
  }
}

async function read(): Promise<Counter | null> {
  return valueOf(await client.get<Counter>(CONFIG_MAPS, namespace, configMap, limits()));
}

/** As the leader's writers do: within the time that is left, and only over what they have seen. */
async function add(counter: Counter): Promise<Counter | null> {
  const data = { writer: identity, count: String(Number(counter.data?.count ?? 0) + 1) };
  return valueOf(
    await client.update<Counter>(CONFIG_MAPS, { ...counter, data } as Counter, limits()),
  );
}

function limits() {
  return { deadline: elector.writeDeadline(), signal: elector.writeSignal() };
}

function valueOf(result: ApiResult<Counter>): Counter | null {
  if (result.ok) return result.value;
  log.info("Refused", { code: result.error.code, reason: result.error.reason });
  return null;
}

elector.start();
const writing = write();
Deno.addSignalListener("SIGTERM", async () => {
  isStopping = true;
  await elector.stop(writing);
  client.close();
  Deno.exit(0);
});
