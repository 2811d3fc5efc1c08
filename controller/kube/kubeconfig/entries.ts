/**
 * The contexts, clusters and users of a kubeconfig. In: its fields, as `readKubeconfig` has them. Out:
 * entries with the fields that Pingress knows, and those of the current context.
 *
 * Our own, since `@kubernetes/client-node`, of which this needs a hundredth, loads all models of the API
 * with it: 64 MB and 0.7 s of CPU in each thread and each run of a command.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
import { Buffer } from "node:buffer";
import type { Kubeconfig } from "./kubeconfig.ts";

export interface ClusterEntry {
  readonly name: string;
  /** A URL, without a slash at its end. */
  readonly server: string;
  /** PEM, in base64; goes before the file. */
  readonly caData?: string;
  readonly caFile?: string;
  readonly skipTLSVerify: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
}

export interface UserEntry {
  readonly name: string;
  readonly token?: string;
  /** Goes before the token. */
  readonly tokenFile?: string;
  /** PEM, in base64; goes before the file. */
  readonly certData?: string;
  readonly certFile?: string;
  readonly keyData?: string;
  readonly keyFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly impersonateUser?: string;
  /** The name of a provider, of which there are none any more. */
  readonly authProvider?: string;
  /** Whether a program gives the credentials. */
  readonly hasExec?: boolean;
}

export interface ContextEntry {
  readonly name: string;
  readonly cluster: string;
  readonly user?: string;
}

export interface KubeconfigEntries {
  /** Empty where there is none. */
  readonly currentContext: string;
  readonly contexts: readonly ContextEntry[];
  readonly clusters: readonly ClusterEntry[];
  readonly users: readonly UserEntry[];
}

/** Throws where an entry lacks what it must have, with the place: `clusters[0].cluster.server is missing`. */
export function entriesOf(config: Kubeconfig, context: string | null): KubeconfigEntries {
  return {
    currentContext: context ?? textOf(config["current-context"]) ?? "",
    contexts: eachOf(config.contexts, "contexts", contextOf),
    clusters: eachOf(config.clusters, "clusters", clusterOf),
    users: eachOf(config.users, "users", userOf),
  };
}

/** The context that is named, with what it names; null for each that is not there. */
export function currentEntries(
  { currentContext, contexts, clusters, users }: KubeconfigEntries,
): {
  readonly context: ContextEntry | null;
  readonly cluster: ClusterEntry | null;
  readonly user: UserEntry | null;
} {
  const context = contexts.find(({ name }) => name === currentContext) ?? null;
  return {
    context,
    cluster: clusters.find(({ name }) => name === context?.cluster) ?? null,
    user: users.find(({ name }) => name === context?.user) ?? null,
  };
}

/** The content of a file, or of data in base64, which go before it; null for none. Throws for a file that cannot be read. */
export function pemOf(data: string | undefined, file: string | undefined): string | null {
  if (data) return Buffer.from(data, "base64").toString("utf8");
  return file ? Deno.readTextFileSync(file) : null;
}

type Fields = Readonly<Record<string, unknown>>;

function clusterOf(entry: Fields, place: string): ClusterEntry {
  const cluster = partOf(entry, "cluster") ?? {};
  return {
    name: required(entry.name, `${place}.name`),
    server: required(cluster.server, `${place}.cluster.server`).replace(/\/$/, ""),
    caData: textOf(cluster["certificate-authority-data"]),
    caFile: textOf(cluster["certificate-authority"]),
    skipTLSVerify: cluster["insecure-skip-tls-verify"] === true,
    tlsServerName: textOf(cluster["tls-server-name"]),
    proxyUrl: textOf(cluster["proxy-url"]),
  };
}

function userOf(entry: Fields, place: string): UserEntry {
  const user = partOf(entry, "user") ?? {};
  const provider = partOf(user, "auth-provider");
  return {
    name: required(entry.name, `${place}.name`),
    token: textOf(user.token),
    tokenFile: textOf(user.tokenFile),
    certData: textOf(user["client-certificate-data"]),
    certFile: textOf(user["client-certificate"]),
    keyData: textOf(user["client-key-data"]),
    keyFile: textOf(user["client-key"]),
    username: textOf(user.username),
    password: textOf(user.password),
    impersonateUser: textOf(user.as),
    authProvider: provider === null ? undefined : textOf(provider.name) ?? "",
    hasExec: Boolean(user.exec),
  };
}

function contextOf(entry: Fields, place: string): ContextEntry {
  const context = partOf(entry, "context");
  if (context === null) throw missing(`${place}.context`);
  return {
    name: required(entry.name, `${place}.name`),
    cluster: required(context.cluster, `${place}.context.cluster`),
    user: textOf(context.user),
  };
}

function eachOf<T>(
  entries: unknown,
  field: string,
  read: (entry: Fields, place: string) => T,
): readonly T[] {
  if (!Array.isArray(entries)) return [];
  return entries.map((entry, i) => read(entry ?? {}, `${field}[${i}]`));
}

function partOf(entry: Fields, field: string): Fields | null {
  const part = entry[field];
  return typeof part === "object" && part !== null ? part as Fields : null;
}

/** Undefined for what is missing, empty, or no text. A number is one that somebody did not quote. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function required(value: unknown, place: string): string {
  const text = textOf(value);
  if (text === undefined) throw missing(place);
  return text;
}

function missing(place: string): Error {
  return new Error(`${place} is missing`);
}
