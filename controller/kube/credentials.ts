/**
 * Who the controller is to the API server. In: a kubeconfig, or a pod's service account. Out: where
 * the server is, and for each call the headers and the TLS agent that are right at that moment.
 *
 * Tokens and certificates are files that change while we run (a service account's token is renewed
 * about every hour): they are read anew every minute, and at once when the server answers 401.
 */
import { KubeConfig } from "@kubernetes/client-node";
import https from "node:https";
import { delimiter, join } from "node:path";
import { nearestName } from "../../shared/nearest_name.ts";
import { type CredentialSource, filesOf, serverOf } from "./credential_source.ts";
import { type Kubeconfig, readKubeconfig } from "./kubeconfig/kubeconfig.ts";

export type CredentialsReading =
  | { readonly ok: true; readonly credentials: Credentials }
  /** One line with the remedy. */
  | { readonly ok: false; readonly message: string };

/** What one call is made with. */
export interface Access {
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: https.Agent;
  /** As of the agent, for a connection of its own. */
  readonly tls: https.AgentOptions;
}

/** Milliseconds after which files are read anew, as client-go does. */
const FRESH = 60_000;

/** Reads `source` for the first time. */
export function loadCredentials(source: CredentialSource): CredentialsReading {
  try {
    const config = readConfig(source);
    const complaint = complaintAbout(config);
    if (complaint !== null) return { ok: false, message: `${nameOf(source)}: ${complaint}` };
    return { ok: true, credentials: new Credentials(source, config) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const remedy = source.kind === "kubeconfig"
      ? "set --kubeconfig to a kubeconfig that kubectl accepts"
      : "run in a pod with a service account, or give --kubeconfig FILE";
    return { ok: false, message: `${nameOf(source)} cannot be read: ${reason}; ${remedy}` };
  }
}

export class Credentials {
  /** Of the API server: `https://10.96.0.1:443`. */
  readonly server: URL;
  readonly #source: CredentialSource;
  #config: KubeConfig;
  #access: Promise<Access> | null = null;
  #readAt = 0;
  #agent: { readonly material: string; readonly agent: https.Agent } | null = null;

  constructor(source: CredentialSource, config: KubeConfig) {
    this.#source = source;
    this.#config = config;
    this.server = new URL(config.getCurrentCluster()!.server);
  }

  /** Throws where a file that was there is gone or broken; the next call tries again. */
  current(): Promise<Access> {
    if (this.#access === null || performance.now() - this.#readAt > FRESH) this.#read();
    return this.#access!;
  }

  /** The server did not take what `current` gave: the files are read before the next call. */
  invalidate(): void {
    this.#access = null;
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent?.agent.destroy();
  }

  #read(): void {
    this.#readAt = performance.now();
    const reading = this.#readFiles();
    this.#access = reading;
    reading.catch(() => {
      if (this.#access === reading) this.#access = null;
    });
  }

  async #readFiles(): Promise<Access> {
    // Anew from its files: the package keeps a token for a minute, whatever a 401 says.
    this.#config = readConfig(this.#source);
    const options: https.RequestOptions = {};
    await this.#config.applyToHTTPSOptions(options);
    const { ca, cert, key, servername, rejectUnauthorized, auth } = options;
    // Without any, Deno asks for the right to read those of the system.
    const tls = { ca: ca ?? [], cert, key, servername, rejectUnauthorized };
    const headers = Object.fromEntries(
      Object.entries(options.headers ?? {}).map(([name, value]) => [name, String(value).trim()]),
    );
    if (typeof auth === "string") {
      headers.Authorization = `Basic ${
        btoa(String.fromCharCode(...new TextEncoder().encode(auth)))
      }`;
    }
    return { headers, agent: this.#agentFor(tls), tls };
  }

  /** The same agent, with its connections, as long as certificates stay as they are. */
  #agentFor(tls: https.AgentOptions): https.Agent {
    const material = JSON.stringify(Object.values(tls).map((value) => String(value ?? "")));
    if (this.#agent?.material !== material) {
      this.#agent?.agent.destroy();
      const agent = new https.Agent({ ...tls, keepAlive: true, keepAliveMsecs: 30_000 });
      this.#agent = { material, agent };
    }
    return this.#agent.agent;
  }
}

function readConfig(source: CredentialSource): KubeConfig {
  const config = new KubeConfig();
  if (source.kind === "kubeconfig") {
    const kubeconfig = readKubeconfig(filesOf(source));
    // As JSON, which parses: of YAML, the messages of the package's parser cite lines with tokens.
    config.loadFromString(JSON.stringify(kubeconfig));
    if (source.context !== null) config.setCurrentContext(source.context);
    useTokenFile(config, kubeconfig);
    return config;
  }
  config.loadFromClusterAndUser(
    {
      name: "cluster",
      server: serverOf(source),
      caFile: join(source.folder, "ca.crt"),
      skipTLSVerify: false,
    },
    {
      name: "service-account",
      authProvider: {
        name: "tokenFile",
        config: { tokenFile: join(source.folder, "token") },
      },
    },
  );
  return config;
}

/**
 * The package overlooks `tokenFile`, which kubectl prefers to `token`.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/#AuthInfo
 */
function useTokenFile(config: KubeConfig, { users }: Kubeconfig): void {
  const name = config.getCurrentUser()?.name;
  const tokenFile = users?.find((user) => user.name === name)?.user?.tokenFile;
  if (typeof tokenFile !== "string" || tokenFile === "") return;
  config.users = config.users.map((user) => {
    if (user.name !== name) return user;
    return {
      ...user,
      token: undefined,
      authProvider: { name: "tokenFile", config: { tokenFile } },
    };
  });
}

/** What cannot work with this controller's rights, and the remedy; null where nothing stands against it. */
function complaintAbout(config: KubeConfig): string | null {
  const missing = missingEntry(config);
  if (missing !== null) return missing;
  const cluster = config.getCurrentCluster()!;
  const user = config.getCurrentUser();
  if (!URL.canParse(cluster.server)) return `its server ${cluster.server} is no URL; correct it`;
  if (new URL(cluster.server).protocol !== "https:") {
    return `its server ${cluster.server} is not reached by https; Pingress speaks nothing else`;
  }
  if (!cluster.caData && !cluster.caFile && !cluster.skipTLSVerify) {
    return "it names nobody who may sign its server's certificate, and Pingress trusts none " +
      "by itself; add certificate-authority-data";
  }
  if (cluster.proxyUrl) {
    return "it has a proxy-url, but Pingress connects to its API server only; remove it";
  }
  if (user?.exec) {
    return "its user needs a program (exec), and Pingress starts none; use a token or a " +
      "client certificate, for example of `kubectl create token`";
  }
  return null;
}

/** A context, cluster or user that is named and is not there, and the remedy; null for none. */
function missingEntry(config: KubeConfig): string | null {
  const names = config.contexts.map((context) => context.name);
  const shown = names.slice(0, MAX_SHOWN).map(quoted).join(", ") +
    (names.length > MAX_SHOWN ? " and others" : "");
  const remedy = names.length === 0
    ? "it has none at all; set --kubeconfig to another one"
    : `set --context to one of ${shown}`;
  const name = config.getCurrentContext();
  if (!name) return `it has no current-context; ${remedy}`;
  const context = config.getContextObject(name);
  if (context === null) {
    const near = nearestName(name, names);
    return `it has no context ${quoted(name)}; ${
      near === null ? remedy : `did you mean ${quoted(near)}?`
    }`;
  }
  const correct = `correct the context, or ${remedy}`;
  if (config.getCurrentCluster() === null) {
    const cluster = context.cluster ? `the cluster ${quoted(context.cluster)}` : "no cluster";
    return `its context ${quoted(name)} names ${cluster}${
      context.cluster ? ", which it does not have" : ""
    }; ${correct}`;
  }
  return context.user && config.getUser(context.user) === null
    ? `its context ${quoted(name)} names the user ${
      quoted(context.user)
    }, whom it does not have; ${correct}`
    : null;
}

/** Contexts in a message. */
const MAX_SHOWN = 5;

function quoted(name: string): string {
  return JSON.stringify(name);
}

function nameOf(source: CredentialSource): string {
  return source.kind === "kubeconfig"
    ? `kubeconfig ${filesOf(source).join(delimiter)}`
    : `service account in ${source.folder}`;
}
