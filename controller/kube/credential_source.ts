/**
 * Where credentials come from, and what has to be reached for them. In: a kubeconfig, or what a pod's
 * environment says. Out: the API server's address and the files that are read.
 *
 * Reads no credential: the first thread of a program asks only this, and has no right to more.
 */
import { delimiter } from "node:path";
import { readKubeconfig } from "./kubeconfig/kubeconfig.ts";

export type CredentialSource =
  | {
    readonly kind: "kubeconfig";
    readonly file: string;
    /** Further ones that KUBECONFIG names, in which the rest of it is; missing for none. */
    readonly others?: readonly string[];
    /** Null for the file's current one. */
    readonly context: string | null;
  }
  | {
    readonly kind: "service-account";
    /** As the environment of every pod gives them: KUBERNETES_SERVICE_HOST and _PORT. */
    readonly host: string;
    readonly port: string;
    /** Has `token` and `ca.crt`. */
    readonly folder: string;
  };

/** Where every pod finds its service account. */
export const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface Reach {
  readonly server: URL;
  /** Files and folders with credentials. */
  readonly files: readonly string[];
  /** Of the kubeconfig; null for a service account. */
  readonly context: string | null;
  /** The one that commands are about which name none, `default` where the context has none. */
  readonly namespace: string;
  /** The program that gives credentials; null for none. */
  readonly exec: ExecEntry | null;
}

/** A user's entry `exec`, unchecked, and what such a program may have to know; paths in both are absolute. */
export interface ExecEntry {
  readonly value: unknown;
  /** The entry `cluster` of the same context. */
  readonly cluster: unknown;
}

const DEFAULT_NAMESPACE = "default";

/** Null for a kubeconfig that cannot be used; `loadCredentials` says why. */
export function reachOf(source: CredentialSource): Reach | null {
  if (source.kind === "service-account") {
    return {
      server: new URL(serverOf(source)),
      files: [source.folder],
      context: null,
      namespace: DEFAULT_NAMESPACE,
      exec: null,
    };
  }
  try {
    return reachOfKubeconfig(filesOf(source), source.context);
  } catch {
    return null;
  }
}

/** The API server as a pod's environment names it. */
export function serverOf({ host, port }: { readonly host: string; readonly port: string }): string {
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The files that are the kubeconfig, the first of which decides. */
export function filesOf(
  { file, others = [] }: Extract<CredentialSource, { readonly kind: "kubeconfig" }>,
): readonly string[] {
  return [file, ...others];
}

/** Throws for what is no kubeconfig. */
function reachOfKubeconfig(files: readonly string[], wanted: string | null): Reach | null {
  const config = readKubeconfig(files);
  const name = wanted ?? config["current-context"];
  const context = config.contexts?.find((one) => one.name === name)?.context;
  const cluster = config.clusters?.find((one) => one.name === context?.cluster)?.cluster;
  const user = config.users?.find((one) => one.name === context?.user)?.user;
  if (cluster?.server === undefined) return null;
  const named = [
    cluster["certificate-authority"],
    user?.["client-certificate"],
    user?.["client-key"],
    user?.tokenFile,
  ].filter((path) => typeof path === "string" && path !== "");
  return {
    server: new URL(cluster.server),
    files: [...files, ...named.map((path) => path!)],
    context: name ?? null,
    namespace: context?.namespace || DEFAULT_NAMESPACE,
    exec: user?.exec == null ? null : { value: user.exec, cluster },
  };
}

/** For people: the file or folder. */
export function nameOf(source: CredentialSource): string {
  return source.kind === "kubeconfig"
    ? `kubeconfig ${filesOf(source).join(delimiter)}`
    : `service account in ${source.folder}`;
}
