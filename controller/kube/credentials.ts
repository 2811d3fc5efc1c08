/**
 * Who the controller is to the API server. In: a kubeconfig, or a pod's service account. Out: where
 * the server is, and for each call the headers and the TLS agent that are right at that moment.
 *
 * Tokens and certificates are files that change while we run (a service account's token is renewed
 * about every hour): they are read anew every minute, and at once when the server answers 401.
 */
import { Buffer } from "node:buffer";
import https from "node:https";
import { join } from "node:path";
import { nearestName } from "../../shared/nearest_name.ts";
import { type CredentialSource, filesOf, nameOf, serverOf } from "./credential_source.ts";
import { credentialFault } from "./kubeconfig/credential_faults.ts";
import {
  currentEntries,
  entriesOf,
  type KubeconfigEntries,
  pemOf,
  type UserEntry,
} from "./kubeconfig/entries.ts";
import { readKubeconfig } from "./kubeconfig/kubeconfig.ts";

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

/** What a program of the kubeconfig (`exec`) gave. */
export interface GivenCredential {
  readonly token: string | null;
  /** Client certificate and key, in PEM. */
  readonly pair: { readonly certificate: string; readonly key: string } | null;
  /** In ms since the epoch; null where only the API server knows. */
  readonly expiresAt: number | null;
}

/** Runs that program. Rejects with one line that says why there is none, with the remedy. */
export type CredentialProgram = () => Promise<GivenCredential>;

/** Milliseconds after which files are read anew, as client-go does. */
const FRESH = 60_000;

/**
 * Reads `source` for the first time.
 * @param program For a kubeconfig whose user needs one; without it such a kubeconfig is refused.
 */
export function loadCredentials(
  source: CredentialSource,
  program: CredentialProgram | null = null,
): CredentialsReading {
  try {
    const config = readConfig(source);
    const { cluster, user } = currentEntries(config);
    const complaint = complaintAbout(config, program !== null) ??
      // A pod's own files are mounted by its kubelet: what is wrong there is said by the first call.
      (source.kind === "kubeconfig" ? credentialFault(cluster!, user) : null);
    if (complaint !== null) return { ok: false, message: `${nameOf(source)}: ${complaint}` };
    return { ok: true, credentials: new Credentials(source, config, program) };
  } catch (error) {
    // Its message names the file again.
    const reason = error instanceof Deno.errors.NotFound
      ? "there is no such file"
      : error instanceof Error
      ? error.message
      : String(error);
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
  readonly #program: CredentialProgram | null;
  /** What it gave last; null before, and where the API server did not take it. */
  #given: GivenCredential | null = null;
  #round = 0;
  #isRunning = false;
  #config: KubeconfigEntries;
  #access: Promise<Access> | null = null;
  #readAt = 0;
  #agent: { readonly material: string; readonly agent: https.Agent } | null = null;

  constructor(
    source: CredentialSource,
    config: KubeconfigEntries,
    program: CredentialProgram | null = null,
  ) {
    this.#source = source;
    this.#config = config;
    this.#program = program;
    this.server = new URL(currentEntries(config).cluster!.server);
  }

  /** How often the program has given a credential; for `invalidate`. */
  get round(): number {
    return this.#round;
  }

  /** Of the user, as it is now: in PEM, the leaf first; null for none, and for a file that cannot be read. */
  get clientCertificate(): string | null {
    if (this.#given?.pair != null) return this.#given.pair.certificate;
    const { user } = currentEntries(this.#config);
    try {
      return pemOf(user?.certData, user?.certFile);
    } catch {
      return null;
    }
  }

  /** Of the kubeconfig; null for a service account. */
  get user(): string | null {
    return this.#source.kind === "kubeconfig"
      ? currentEntries(this.#config).user?.name ?? null
      : null;
  }

  /** Throws where a file that was there is gone or broken; the next call tries again. */
  current(): Promise<Access> {
    const isOver = (this.#given?.expiresAt ?? Infinity) <= Date.now();
    if (this.#access === null || isOver || performance.now() - this.#readAt > FRESH) this.#read();
    return this.#access!;
  }

  /**
   * The server did not take what `current` gave: the files are read before the next call.
   * @param round As it was before the call. A program that has given a credential since then is not run again:
   *     many calls fail at once when one credential ends.
   */
  invalidate(round = this.#round): void {
    if (this.#program !== null) {
      if (round !== this.#round || this.#isRunning) return;
      this.#given = null;
    }
    this.#access = null;
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent?.agent.destroy();
  }

  #read(): void {
    // Whoever comes while the program runs gets what it gives.
    if (this.#isRunning) return;
    this.#readAt = performance.now();
    const reading = this.#readFiles();
    this.#access = reading;
    reading.catch(() => {
      if (this.#access === reading) this.#access = null;
    });
  }

  async #readFiles(): Promise<Access> {
    const config = readConfig(this.#source);
    this.#config = this.#program === null
      ? config
      : withGiven(config, await this.#credentialOf(this.#program));
    const { cluster, user } = currentEntries(this.#config);
    const tls = {
      // Without any, Deno asks for the right to read those of the system.
      ca: pemOf(cluster!.caData, cluster!.caFile) ?? [],
      cert: pemOf(user?.certData, user?.certFile) ?? undefined,
      key: pemOf(user?.keyData, user?.keyFile) ?? undefined,
      servername: cluster!.tlsServerName,
      rejectUnauthorized: cluster!.skipTLSVerify ? false : undefined,
    };
    return { headers: user === null ? {} : headersOf(user), agent: this.#agentFor(tls), tls };
  }

  /** What the program gave, as long as it is good. */
  async #credentialOf(program: CredentialProgram): Promise<GivenCredential> {
    const { expiresAt = null } = this.#given ?? {};
    if (this.#given !== null && (expiresAt ?? Infinity) > Date.now()) return this.#given;
    this.#isRunning = true;
    try {
      this.#given = await program();
      this.#round++;
      return this.#given;
    } finally {
      this.#isRunning = false;
    }
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

/** Throws for a file with a token that cannot be read. */
function headersOf(user: UserEntry): Readonly<Record<string, string>> {
  const { username, password = "", tokenFile, impersonateUser } = user;
  const token = (tokenFile === undefined ? user.token : Deno.readTextFileSync(tokenFile))?.trim();
  const authorization = username !== undefined
    ? `Basic ${base64Of(`${username}:${password}`)}`
    : token
    ? `Bearer ${token}`
    : undefined;
  return {
    ...(authorization === undefined ? {} : { Authorization: authorization }),
    ...(impersonateUser === undefined ? {} : { "Impersonate-User": impersonateUser }),
  };
}

function readConfig(source: CredentialSource): KubeconfigEntries {
  if (source.kind === "kubeconfig") {
    return entriesOf(readKubeconfig(filesOf(source)), source.context);
  }
  const [context, cluster, user] = ["pod", "cluster", "service-account"];
  const caFile = join(source.folder, "ca.crt");
  return {
    currentContext: context,
    contexts: [{ name: context, cluster, user }],
    clusters: [{ name: cluster, server: serverOf(source), caFile, skipTLSVerify: false }],
    users: [{ name: user, tokenFile: join(source.folder, "token") }],
  };
}

/** With what the program gave in place of its entry `exec`. */
function withGiven(
  config: KubeconfigEntries,
  { token, pair }: GivenCredential,
): KubeconfigEntries {
  const { user: current } = currentEntries(config);
  const given = {
    hasExec: false,
    token: token ?? undefined,
    ...(pair === null ? {} : { certData: base64Of(pair.certificate), keyData: base64Of(pair.key) }),
  };
  const users = config.users.map((user) => user === current ? { ...user, ...given } : user);
  return { ...config, users };
}

function base64Of(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** Providers that were a part of kubectl once, and what does their work now. */
const PROVIDERS: Readonly<Record<string, string>> = {
  gcp: "install gke-gcloud-auth-plugin, and write the kubeconfig anew by `gcloud container " +
    "clusters get-credentials`",
  azure: "install kubelogin, and convert the kubeconfig by `kubelogin convert-kubeconfig`",
  oidc: "use the plugin kubelogin of kubectl (`kubectl oidc-login`), which an entry exec names",
};

/** What cannot work with this program's rights, and the remedy; null where nothing stands against it. */
function complaintAbout(config: KubeconfigEntries, hasProgram: boolean): string | null {
  const missing = missingEntry(config);
  if (missing !== null) return missing;
  const { user, ...named } = currentEntries(config);
  const cluster = named.cluster!;
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
  const provider = user?.authProvider;
  if (provider !== undefined) {
    const remedy = Object.hasOwn(PROVIDERS, provider)
      ? PROVIDERS[provider]
      : "use a token, a client certificate, or a program that an entry exec names";
    return `its user has the auth-provider ${
      JSON.stringify(provider)
    }, and Pingress has none; ${remedy}`;
  }
  if (user?.hasExec && !hasProgram) {
    return "its user needs a program (exec), and Pingress starts none; use a token or a " +
      "client certificate, for example of `kubectl create token`";
  }
  return null;
}

/** A context, cluster or user that is named and is not there, and the remedy; null for none. */
function missingEntry(config: KubeconfigEntries): string | null {
  const names = config.contexts.map((context) => context.name);
  const shown = names.slice(0, MAX_SHOWN).map(quoted).join(", ") +
    (names.length > MAX_SHOWN ? " and others" : "");
  const remedy = names.length === 0
    ? "it has none at all; set --kubeconfig to another one"
    : `set --context to one of ${shown}`;
  const { currentContext: name } = config;
  if (name === "") return `it has no current-context; ${remedy}`;
  const { context, cluster, user } = currentEntries(config);
  if (context === null) {
    const near = nearestName(name, names);
    return `it has no context ${quoted(name)}; ${
      near === null ? remedy : `did you mean ${quoted(near)}?`
    }`;
  }
  const correct = `correct the context, or ${remedy}`;
  if (cluster === null) {
    return `its context ${quoted(name)} names the cluster ${
      quoted(context.cluster)
    }, which it does not have; ${correct}`;
  }
  return context.user !== undefined && user === null
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
