/**
 * The thread that talks to the API server, with the right to dial it alone. In: where credentials are,
 * and what to read. Out: one message with what was read, or with one sentence that says why it cannot be.
 */
/// <reference lib="deno.worker" />
import { KubeClient } from "../../controller/kube/client.ts";
import type { CredentialSource } from "../../controller/kube/credential_source.ts";
import { loadCredentials } from "../../controller/kube/credentials.ts";
import { type ClusterReading, readCluster, type ReadingOptions } from "./cluster_reader.ts";

export interface ToLiveWorker {
  readonly source: CredentialSource;
  readonly options: ReadingOptions;
}

export type FromLiveWorker =
  | { readonly kind: "read"; readonly reading: ClusterReading }
  | { readonly kind: "failed"; readonly message: string };

self.onmessage = ({ data }: MessageEvent<ToLiveWorker>) => {
  read(data).then((message) => self.postMessage(message), reportError);
};

async function read({ source, options }: ToLiveWorker): Promise<FromLiveWorker> {
  const loaded = loadCredentials(source);
  if (!loaded.ok) return { kind: "failed", message: loaded.message };
  const client = new KubeClient(loaded.credentials);
  try {
    return { kind: "read", reading: await readCluster(client, options) };
  } finally {
    client.close();
  }
}
