/**
 * Informers of the controller against a test's API server. In: what to watch, through which server.
 * Out: the informer, running, with what it logged, and what its subscribers were told.
 */
import { KubeClient } from "../../../controller/kube/client.ts";
import { loadCredentials } from "../../../controller/kube/credentials.ts";
import { Informer, type InformerOptions } from "../../../controller/kube/informer.ts";
import { REFLECTOR_TIMING, type ReflectorTiming } from "../../../controller/kube/reflector.ts";
import type { StoreChange } from "../../../controller/kube/store.ts";
import { CONFIG_MAPS, type KubeObject } from "../../../controller/kube/types.ts";
import type { LogFields, Logger } from "../../../shared/log.ts";

/** Fast enough for tests, in proportions as in earnest. */
export const FAST: ReflectorTiming = {
  ...REFLECTOR_TIMING,
  backoff: { first: 100, last: 1_000 },
  watchSeconds: [4, 5],
  grace: 1_000,
  steady: 500,
};

export interface LogEntry {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger, and what it was given. */
export function recordingLog(): { readonly log: Logger; readonly entries: LogEntry[] } {
  const entries: LogEntry[] = [];
  const at = (level: LogEntry["level"]) => (message: string, fields: LogFields = {}) =>
    void entries.push({ level, message, fields });
  const log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return { log, entries };
}

/** A client of whoever the kubeconfig names. */
export function clientOf(kubeconfig: string): KubeClient {
  const reading = loadCredentials({ kind: "kubeconfig", file: kubeconfig, context: null });
  if (!reading.ok) throw new Error(reading.message);
  return new KubeClient(reading.credentials);
}

/** ConfigMaps as far as tests look at them. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export class InformerScene implements AsyncDisposable {
  readonly informer: Informer<ConfigMap>;
  readonly client: KubeClient;
  readonly changes: StoreChange<ConfigMap>[] = [];
  readonly logged: LogEntry[];

  /** Starts one of ConfigMaps, unless told otherwise. */
  constructor(kubeconfig: string, options: Partial<InformerOptions<ConfigMap>> = {}) {
    const { log, entries } = recordingLog();
    this.logged = entries;
    this.client = clientOf(kubeconfig);
    this.informer = new Informer<ConfigMap>({
      client: this.client,
      resource: CONFIG_MAPS,
      namespaces: null,
      reduce: ({ metadata: { name, namespace, uid, resourceVersion }, data }) => ({
        metadata: { name, namespace, uid, resourceVersion },
        data,
      }),
      log,
      timing: FAST,
      ...options,
    });
    this.informer.store.subscribe((change) => this.changes.push(change));
    this.informer.start();
  }

  /** Names of what is stored, sorted. */
  get names(): string[] {
    return this.informer.store.list().map(({ metadata }) => metadata.name).sort();
  }

  /** Names of what the store was told has gone. */
  get gone(): string[] {
    return this.changes.flatMap(({ before, after }) =>
      before !== null && after === null ? [before.metadata.name] : []
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.stop();
    this.client.close();
  }
}

/** A ConfigMap to create. */
export function configMap(namespace: string, name: string, data: Record<string, string> = {}) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
}
