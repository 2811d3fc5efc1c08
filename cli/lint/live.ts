/**
 * A cluster in place of a folder. In: the context of a kubeconfig. Out: what lint reads of the cluster, or
 * one sentence that says why it cannot be read. The calls are made by a thread that may dial the API
 * server alone; this one drops its own right to dial anything.
 */
import { resolve } from "node:path";
import { reachOf } from "../../controller/kube/credential_source.ts";
import { dropRights, missingRight, NO_RIGHTS, type Rights } from "../../shared/rights.ts";
import type { LocatedObject } from "./cluster_findings.ts";
import type { ClusterReading } from "./cluster_reader.ts";
import type { LintInput } from "./lint_input.ts";
import type { FromLiveWorker, ToLiveWorker } from "./live_worker.ts";

export interface LiveOptions {
  readonly kubeconfig: string;
  readonly context: string;
  /** Empty for all. */
  readonly namespaces: readonly string[];
  /** `NAMESPACE/NAME`; null for none. */
  readonly configMap: string | null;
  /** Milliseconds. */
  readonly timeout: number;
}

export type LiveReading =
  | { readonly ok: true; readonly input: LintInput; readonly configMap: LocatedObject | null }
  /** One sentence, with what helps. */
  | { readonly ok: false; readonly message: string };

/** Where the thread's own code is: a worker's files are read with the rights of who starts it. */
const CODE = ["cli/lint", "controller", "shared", "dev"].map((folder) =>
  resolve(import.meta.dirname!, "../..", folder)
);

export async function readLive(options: LiveOptions): Promise<LiveReading> {
  const { kubeconfig: file, context } = options;
  const source = { kind: "kubeconfig", file, context } as const;
  const reach = reachOf(source);
  if (reach === null) return { ok: false, message: await complaintAbout(source) };
  const rights = liveRights(reach.server, reach.files);
  const missing = missingRight({ net: rights.net as string[], read: rights.read as string[] });
  if (missing !== null) {
    return {
      ok: false,
      message: `Deno was started without a permission that --context needs; add ${missing}`,
    };
  }
  const { namespaces, configMap, timeout } = options;
  const answer = await readInWorker(rights, {
    source,
    options: { namespaces, configMap, timeout },
  });
  if (answer.kind === "failed") return { ok: false, message: answer.message };
  return fromReading(answer.reading, options);
}

/** Of the thread that reads: one server, the credentials, and its own code. */
export function liveRights(server: URL, files: readonly string[]): Rights {
  const port = server.port === "" ? 443 : Number(server.port);
  return {
    ...NO_RIGHTS,
    net: [`${server.hostname}:${port}`],
    read: [...files.map((file) => resolve(file)), ...CODE],
  };
}

async function readInWorker(rights: Rights, message: ToLiveWorker): Promise<FromLiveWorker> {
  const worker = new Worker(new URL("./live_worker.ts", import.meta.url), {
    type: "module",
    name: "lint",
    deno: { permissions: rights },
  });
  dropRights(["net"]);
  const { promise, resolve: settle } = Promise.withResolvers<FromLiveWorker>();
  worker.onmessage = ({ data }: MessageEvent<FromLiveWorker>) => settle(data);
  worker.onerror = (event) => {
    event.preventDefault();
    settle({ kind: "failed", message: `Reading the cluster failed: ${event.message}` });
  };
  worker.postMessage(message);
  try {
    return await promise;
  } finally {
    worker.terminate();
  }
}

function fromReading(
  { resources, configMap, unread }: ClusterReading,
  options: LiveOptions,
): LiveReading {
  // Without Ingresses there is nothing to lint.
  const noIngresses = unread.find(({ message }) => message.startsWith("cannot list ingresses"));
  if (noIngresses !== undefined && resources.ingresses.length === 0) {
    return { ok: false, message: `${noIngresses.message}; ${lowerFirst(noIngresses.remedy)}` };
  }
  return {
    ok: true,
    configMap: configMap === null ? null : { value: { ...configMap }, locate: () => null },
    input: {
      resources,
      objects: [],
      problems: [],
      unread,
      notChecked: options.configMap !== null ? [] : [{
        message: "whether ingress-nginx was started with --configmap is not checked, nor are its " +
          "other arguments",
        remedy:
          "Add --configmap NAMESPACE/NAME if its Deployment has one, and lint the file of the " +
          "Deployment as well",
        at: null,
      }],
      hasSecrets: false,
      locate: () => null,
    },
  };
}

async function complaintAbout(
  source: { readonly kind: "kubeconfig"; readonly file: string; readonly context: string },
): Promise<string> {
  const { loadCredentials } = await import("../../controller/kube/credentials.ts");
  const reading = loadCredentials(source);
  return reading.ok ? "The kubeconfig has changed while it was read; start again" : reading.message;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
