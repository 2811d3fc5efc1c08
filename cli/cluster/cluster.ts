/**
 * A cluster, as commands read it. In: a kubeconfig and its context, or the account of a pod. Out: objects, reviews
 * and answers of pods, or how a call failed, as a value; or one sentence that says why there is no way to it.
 *
 * The calls are made by a thread that may dial the API server alone, and a credential plugin is run by another
 * that may start it alone; this one drops its own right to dial or to start anything.
 *
 *     command ─▶ Cluster ─messages─▶ thread.ts ─▶ API server ─▶ kubelet ─▶ admin port of a pod
 *                                        └──port──▶ plugin_thread.ts ─▶ credential plugin
 */
import { resolve } from "node:path";
import type { Selection } from "../../controller/kube/client.ts";
import {
  type CredentialSource,
  type ExecEntry,
  nameOf,
  reachOf,
} from "../../controller/kube/credential_source.ts";
import type {
  ApiError,
  ApiResult,
  KubeObject,
  Resource,
  ServerVersion,
} from "../../controller/kube/types.ts";
import {
  dropRights,
  isGranted,
  missingRight,
  NO_RIGHTS,
  type Rights,
} from "../../shared/rights.ts";
import { missingProgram, pluginOf } from "./credential_plugin.ts";
import type { Progress } from "../terminal/progress.ts";
import { Followed } from "./followed.ts";
import type {
  ClusterCall,
  FromClusterThread,
  PodAnswer,
  PodRequest,
  ToClusterThread,
} from "./messages.ts";
import { type ClusterChoice, credentialSource } from "./options.ts";
import { PluginProcess } from "./plugin_process.ts";

export type ClusterOpening =
  | { readonly ok: true; readonly cluster: Cluster }
  /** One sentence, with what helps. */
  | { readonly ok: false; readonly message: string };

/** Where the thread's own code is: a worker's files are read with the rights of who starts it. */
const CODE = ["cli/cluster", "controller", "shared"].map((folder) =>
  resolve(import.meta.dirname!, "../..", folder)
);

/**
 * Dials nobody: the first call does. Runs the program that gives credentials, where there is one.
 *
 * @param environment Of the process, which main alone reads.
 * @param progress Paused while that program asks the user.
 */
export async function openCluster(
  choice: ClusterChoice,
  environment: (name: string) => string | undefined,
  progress: Progress | null = null,
): Promise<ClusterOpening> {
  const source = credentialSource(choice, environment);
  if (source === null) {
    return { ok: false, message: "There is no KUBECONFIG and no HOME; add --kubeconfig FILE" };
  }
  const reach = reachOf(source);
  if (reach === null) return { ok: false, message: await complaintAbout(source) };
  const plugin = reach.exec === null ? null : openPlugin(reach.exec, choice.timeout, progress);
  if (typeof plugin === "string") {
    return { ok: false, message: `${nameOf(source)}: ${plugin}` };
  }
  const rights = clusterRights(reach.server, reach.files);
  const missing = missingRight({ net: rights.net as string[], read: rights.read as string[] });
  if (missing !== null) {
    return {
      ok: false,
      message: `Deno was started without a permission that a cluster needs; add ${missing}`,
    };
  }
  const worker = startThread(rights);
  dropRights(["net", "run"]);
  const { context, namespace, server } = reach;
  const thread = new ThreadedCluster(worker, {
    ...{ context, namespace, server: server.origin },
    timeout: choice.timeout,
  }, plugin);
  const complaint = await thread.open(source);
  if (complaint === null) return { ok: true, cluster: thread };
  thread.close();
  return { ok: false, message: complaint };
}

/** The program that gives credentials, in a thread that may start it alone; or why there is none, and what helps. */
function openPlugin(
  exec: ExecEntry,
  timeout: number,
  progress: Progress | null,
): PluginProcess | string {
  let reading;
  try {
    reading = pluginOf(exec, (path) => Deno.readFileSync(path));
  } catch (error) {
    return `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (!reading.ok) return reading.message;
  const { plugin } = reading;
  if (!isGranted({ name: "run", command: plugin.command })) return missingProgram(plugin);
  return new PluginProcess(plugin, CODE, timeout, progress);
}

function startThread(rights: Rights): Worker {
  return new Worker(new URL("./thread.ts", import.meta.url), {
    type: "module",
    name: "cluster",
    deno: { permissions: rights },
  });
}

/** Of the thread that reads: one server, the credentials, and its own code. */
export function clusterRights(server: URL, files: readonly string[]): Rights {
  const port = server.port === "" ? 443 : Number(server.port);
  return {
    ...NO_RIGHTS,
    net: [`${server.hostname}:${port}`],
    read: [...files.map((file) => resolve(file)), ...CODE],
  };
}

export interface ClusterFacts {
  /** Of the kubeconfig; null where it has none. */
  readonly context: string | null;
  /** Of the context. */
  readonly namespace: string;
  /** `https://10.0.0.1:6443`. */
  readonly server: string;
  /** Milliseconds for all calls until `renew`. */
  readonly timeout: number;
}

/** No method writes. None throws: what fails is a value, with reason `Deadline` where time ran out. */
export interface Cluster extends ClusterFacts {
  /** @param namespace Null for kinds that have none. */
  get<T extends KubeObject>(
    resource: Resource,
    namespace: string | null,
    name: string,
    options?: { readonly metadataOnly?: boolean },
  ): Promise<ApiResult<T>>;
  /** All pages. Of Secrets, only `tls.crt` of `data` is read out of the answer. */
  list<T extends KubeObject>(
    resource: Resource,
    selection: Selection,
  ): Promise<ApiResult<readonly T[]>>;
  /** The status of a review that the API server stores nowhere. */
  review<T>(resource: Resource, spec: unknown): Promise<ApiResult<T>>;
  version(): Promise<ApiResult<ServerVersion>>;
  /** An APIGroup, or with a version its APIResourceList; 404 where there is none. */
  discover<T>(group: string, version: string | null): Promise<ApiResult<T>>;
  /** GET of a port of a pod's loopback; needs the verbs get and create on pods/portforward. */
  pod(request: PodRequest): Promise<ApiResult<PodAnswer>>;
  /** Follows a kind until `close`. */
  follow<T extends KubeObject>(resource: Resource, selection: Selection): Followed<T>;
  /** Gives further calls the whole time-out again. */
  renew(): void;
  close(): void;
}

/** Of a thread that only says what is wrong with a kubeconfig. */
const NOWHERE: ClusterFacts = { context: null, namespace: "", server: "", timeout: 0 };

type Settle = (result: ApiResult<unknown>) => void;

class ThreadedCluster implements Cluster {
  readonly context: string | null;
  readonly namespace: string;
  readonly server: string;
  readonly timeout: number;
  readonly #worker: Worker;
  readonly #plugin: PluginProcess | null;
  readonly #calls = new Map<number, Settle>();
  readonly #followed = new Map<number, Followed<KubeObject>>();
  #opening: PromiseWithResolvers<string | null> = Promise.withResolvers();
  #nextId = 0;
  /** Of the monotonic clock, in ms. */
  #until: number;
  /** Why no further call is answered. */
  #crash: ApiError | null = null;

  constructor(
    worker: Worker,
    { context, namespace, server, timeout }: ClusterFacts,
    plugin: PluginProcess | null = null,
  ) {
    this.#plugin = plugin;
    this.context = context;
    this.namespace = namespace;
    this.server = server;
    this.timeout = timeout;
    this.#until = performance.now() + timeout;
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<FromClusterThread>) => this.#receive(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#fail(event.message);
    };
  }

  /** Null, or why the credentials cannot be used. */
  open(source: CredentialSource): Promise<string | null> {
    const { program = null, port: plugin = null } = this.#plugin ?? {};
    this.#post({ kind: "open", source, program, plugin }, plugin === null ? [] : [plugin]);
    return this.#opening.promise;
  }

  get<T extends KubeObject>(
    resource: Resource,
    namespace: string | null,
    name: string,
    { metadataOnly = false }: { readonly metadataOnly?: boolean } = {},
  ): Promise<ApiResult<T>> {
    return this.#call({ kind: "get", resource, namespace, name, metadataOnly });
  }

  list<T extends KubeObject>(
    resource: Resource,
    selection: Selection,
  ): Promise<ApiResult<readonly T[]>> {
    return this.#call({ kind: "list", resource, selection });
  }

  review<T>(resource: Resource, spec: unknown): Promise<ApiResult<T>> {
    return this.#call({ kind: "review", resource, spec });
  }

  version(): Promise<ApiResult<ServerVersion>> {
    return this.#call({ kind: "version" });
  }

  discover<T>(group: string, version: string | null): Promise<ApiResult<T>> {
    return this.#call({ kind: "discover", group, version });
  }

  pod(request: PodRequest): Promise<ApiResult<PodAnswer>> {
    return this.#call({ kind: "pod", ...request });
  }

  follow<T extends KubeObject>(resource: Resource, selection: Selection): Followed<T> {
    const id = this.#nextId++;
    const followed = new Followed<T>();
    this.#followed.set(id, followed as unknown as Followed<KubeObject>);
    this.#post({ kind: "follow", id, resource, selection });
    return followed;
  }

  renew(): void {
    this.#until = performance.now() + this.timeout;
  }

  close(): void {
    this.#worker.terminate();
    this.#plugin?.close();
    this.#fail("the command has ended");
  }

  #call<T>(call: ClusterCall): Promise<ApiResult<T>> {
    if (this.#crash !== null) return Promise.resolve({ ok: false, error: this.#crash });
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<ApiResult<T>>();
    this.#calls.set(id, resolve as Settle);
    const deadline = Math.max(1, Math.ceil(this.#until - performance.now()));
    this.#post({ kind: "call", id, deadline, call });
    return promise;
  }

  #receive(message: FromClusterThread): void {
    switch (message.kind) {
      case "opened":
        // Starting the thread is none of the API server's time.
        this.renew();
        return this.#opening.resolve(null);
      case "failed":
        return this.#opening.resolve(message.message);
      case "result": {
        const settle = this.#calls.get(message.id);
        this.#calls.delete(message.id);
        return settle?.(message.result);
      }
      case "changed":
        return this.#followed.get(message.id)?.change(message);
    }
  }

  #fail(reason: string): void {
    const message = `reading the cluster failed: ${reason}`;
    this.#crash = { code: 0, reason: "Unreachable", message, retryAfter: null };
    for (const settle of this.#calls.values()) settle({ ok: false, error: this.#crash });
    this.#calls.clear();
    this.#opening.resolve(message);
  }

  #post(message: ToClusterThread, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }
}

/** By a thread too, which may read files alone: this one never loads the client of the API server. */
async function complaintAbout(source: CredentialSource): Promise<string> {
  const worker = startThread({ ...NO_RIGHTS, read: true });
  const thread = new ThreadedCluster(worker, NOWHERE);
  const complaint = await thread.open(source);
  thread.close();
  return complaint ?? "The kubeconfig has changed while it was read; start again";
}
