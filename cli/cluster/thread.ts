/**
 * The thread that talks to the API server, with the right to dial it alone. In: where credentials are, then
 * calls. Out: a message with the result of each, and changes of what is followed.
 *
 * No private key leaves it: of a Secret, only its certificate is handed on.
 */
/// <reference lib="deno.worker" />
import { garbled } from "../../controller/kube/answer.ts";
import { KubeClient } from "../../controller/kube/client.ts";
import type { CredentialSource } from "../../controller/kube/credential_source.ts";
import {
  type Credentials,
  type GivenCredential,
  loadCredentials,
} from "../../controller/kube/credentials.ts";
import { Informer } from "../../controller/kube/informer.ts";
import { Lister } from "../../controller/kube/lister.ts";
import {
  ABORTED,
  type ApiError,
  type ApiResult,
  type KubeObject,
  objectKey,
  type Resource,
} from "../../controller/kube/types.ts";
import type { Selection } from "../../controller/kube/client.ts";
import type { CredentialReading } from "./credential_plugin.ts";
import type {
  ClusterCall,
  FollowedChange,
  FromClusterThread,
  ToClusterThread,
} from "./messages.ts";
import { LastTrouble } from "./last_trouble.ts";
import { getFromPod } from "./port_forward.ts";
import { reducedObject } from "./reduced_object.ts";
import { refusedCredentials } from "./refused_credentials.ts";

/** Milliseconds in which changes of a kind gather. */
const GATHER = 200;

let credentials: Credentials | null = null;
let client: KubeClient | null = null;
/** That gives the credentials; null where the kubeconfig has them. */
let program: string | null = null;
const trouble = new LastTrouble();

self.onmessage = ({ data }: MessageEvent<ToClusterThread>) => {
  switch (data.kind) {
    case "open":
      program = data.program;
      open(data.source, data.plugin).then(post, reportError);
      return;
    case "call": {
      const { id, call, deadline } = data;
      run(call, deadline)
        .then((result) => post({ kind: "result", id, result: trouble.noted(call, result) }))
        .catch(reportError);
      return;
    }
    case "follow":
      return follow(data.id, data.resource, data.selection);
  }
};

async function open(
  source: CredentialSource,
  plugin: MessagePort | null,
): Promise<FromClusterThread> {
  const loaded = loadCredentials(source, plugin === null ? null : () => credentialOf(plugin));
  if (!loaded.ok) return { kind: "failed", message: loaded.message };
  if (plugin !== null) {
    // The first run is of its own: why it fails is said once, and not for each call.
    try {
      await loaded.credentials.current();
    } catch (error) {
      return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
    }
  }
  credentials = loaded.credentials;
  client = new KubeClient(credentials);
  return { kind: "opened" };
}

/** Rejects with what is wrong. */
function credentialOf(plugin: MessagePort): Promise<GivenCredential> {
  const { promise, resolve, reject } = Promise.withResolvers<GivenCredential>();
  plugin.onmessage = ({ data }: MessageEvent<CredentialReading>) =>
    data.ok ? resolve(data.credential) : reject(new Error(data.message));
  plugin.postMessage(null);
  return promise;
}

async function run(call: ClusterCall, deadline: number): Promise<ApiResult<unknown>> {
  const signal = AbortSignal.timeout(deadline);
  const result = await send(call, signal);
  if (result.ok) return result;
  if (result.error.code === 401) return { ok: false, error: refused(result.error) };
  if (result.error.reason !== ABORTED) return result;
  const message = "the API server did not answer in time";
  return { ok: false, error: { ...result.error, reason: "Deadline", message } };
}

function refused(error: ApiError): ApiError {
  const { user, clientCertificate } = credentials!;
  return refusedCredentials(error, { user, clientCertificate, program }, Date.now());
}

async function send(call: ClusterCall, signal: AbortSignal): Promise<ApiResult<unknown>> {
  const kube = client!;
  switch (call.kind) {
    case "get": {
      const { resource, namespace, name, metadataOnly } = call;
      const read = await kube.get(resource, namespace, name, { signal, metadataOnly });
      if (!read.ok) return read;
      // What stands before an API server may answer with JSON of its own.
      return typeof read.value.metadata?.name === "string"
        ? { ok: true, value: reducedObject(resource, read.value) }
        : { ok: false, error: garbled("the answer is not an object of Kubernetes") };
    }
    case "list": {
      const { resource, selection } = call;
      const reduce = (object: KubeObject) => reducedObject(resource, object);
      const list = await new Lister({ client: kube, resource, selection, reduce }).list(signal);
      return list.ok ? { ok: true, value: list.value.objects } : list;
    }
    case "review": {
      // The API server gives a review no name.
      const review = { metadata: {}, spec: call.spec } as unknown as KubeObject;
      const done = await kube.create<Review>(call.resource, review, { signal });
      return done.ok ? { ok: true, value: done.value.status } : done;
    }
    case "version":
      return await kube.serverVersion({ signal });
    case "discover":
      return await kube.discover(call.group, call.version, { signal });
    case "pod":
      return await getFromPod(credentials!, call, signal);
  }
}

type Review = KubeObject & { readonly status?: unknown };

/** Until the thread ends. */
function follow(id: number, resource: Resource, selection: Selection): void {
  const { namespace, labelSelector, fieldSelector, metadataOnly } = selection;
  const informer = new Informer<KubeObject>({
    client: client!,
    resource,
    namespaces: namespace === null ? null : [namespace],
    ...{ labelSelector, fieldSelector, metadataOnly },
    reduce: (object) => reducedObject(resource, object),
    isOptional: true,
  });
  const changes = new Map<string, FollowedChange>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    const failure = informer.failures.at(0);
    post({
      ...{ kind: "changed", id },
      changes: [...changes.values()],
      isSynced: informer.isSynced,
      failure: failure === undefined ? null : refused(failure),
    });
    changes.clear();
  };
  const changed = () => void (timer ??= setTimeout(flush, GATHER));
  informer.store.subscribe(({ before, after }) => {
    const key = objectKey(after ?? before!);
    changes.set(key, { key, object: after });
  });
  informer.store.onUpdate(changed);
  informer.onFailures(changed);
  informer.start();
}

function post(message: FromClusterThread): void {
  self.postMessage(message);
}
