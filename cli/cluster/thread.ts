/**
 * The thread that talks to the API server, with the right to dial it alone. In: where credentials are, then
 * calls. Out: a message with the result of each, and changes of what is followed.
 *
 * No private key leaves it: of a Secret, only its certificate is handed on.
 */
/// <reference lib="deno.worker" />
import { KubeClient } from "../../controller/kube/client.ts";
import { type Credentials, loadCredentials } from "../../controller/kube/credentials.ts";
import { Informer } from "../../controller/kube/informer.ts";
import { Lister } from "../../controller/kube/lister.ts";
import {
  ABORTED,
  type ApiResult,
  type KubeObject,
  objectKey,
  type Resource,
} from "../../controller/kube/types.ts";
import type { Selection } from "../../controller/kube/client.ts";
import type {
  ClusterCall,
  FollowedChange,
  FromClusterThread,
  ToClusterThread,
} from "./messages.ts";
import { getFromPod } from "./port_forward.ts";
import { reducedObject } from "./reduced_object.ts";

/** Milliseconds in which changes of a kind gather. */
const GATHER = 200;

let credentials: Credentials | null = null;
let client: KubeClient | null = null;

self.onmessage = ({ data }: MessageEvent<ToClusterThread>) => {
  switch (data.kind) {
    case "open": {
      const loaded = loadCredentials(data.source);
      if (!loaded.ok) return post({ kind: "failed", message: loaded.message });
      credentials = loaded.credentials;
      client = new KubeClient(credentials);
      return post({ kind: "opened" });
    }
    case "call": {
      const { id, call, deadline } = data;
      run(call, deadline).then((result) => post({ kind: "result", id, result }), reportError);
      return;
    }
    case "follow":
      return follow(data.id, data.resource, data.selection);
  }
};

async function run(call: ClusterCall, deadline: number): Promise<ApiResult<unknown>> {
  const signal = AbortSignal.timeout(deadline);
  const result = await send(call, signal);
  if (result.ok || result.error.reason !== ABORTED) return result;
  const message = "the API server did not answer in time";
  return { ok: false, error: { ...result.error, reason: "Deadline", message } };
}

async function send(call: ClusterCall, signal: AbortSignal): Promise<ApiResult<unknown>> {
  const kube = client!;
  switch (call.kind) {
    case "get": {
      const { resource, namespace, name, metadataOnly } = call;
      const read = await kube.get(resource, namespace, name, { signal, metadataOnly });
      return read.ok ? { ok: true, value: reducedObject(resource, read.value) } : read;
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
    post({
      ...{ kind: "changed", id },
      changes: [...changes.values()],
      isSynced: informer.isSynced,
      failure: informer.failures.at(0) ?? null,
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
