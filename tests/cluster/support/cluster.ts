/**
 * A real API server for tests. In: options. Out: an etcd and a kube-apiserver of its own on free
 * ports of loopback, with RBAC and tokens of service accounts, and what tests do to them.
 *
 * No controller-manager runs: nothing collects garbage, fills Endpoints, or finishes the deletion of
 * a namespace; no node exists unless a test creates one.
 */
import { join } from "node:path";
import { CertificateAuthority } from "../../../dev/certificate_authority.ts";
import { ApiClient, type KubeObject } from "./api_client.ts";
import { waitFor } from "./condition.ts";
import { GuardedProcess, ProcessGuard } from "./guarded_process.ts";
import { kubeconfigText } from "./kubeconfig.ts";
import { findPrograms, type Programs } from "./programs.ts";
import { freePort } from "../../support/ports.ts";

/** How long a server may take until it is ready, in ms; two cores may be busy with other tests. */
const START_PATIENCE = 60_000;

/** Another process may take a port between its choice and its use. */
const ATTEMPTS = 3;

export interface ClusterOptions {
  /** What is skipped where the programs are missing. Default: `the API server`. */
  readonly name?: string;
  /** Flags of kube-apiserver: `--event-ttl=5s`, `--watch-cache=false`. They win over the harness's. */
  readonly apiServerFlags?: readonly string[];
  /** Flags of etcd: `--auto-compaction-retention=1s`. */
  readonly etcdFlags?: readonly string[];
}

export interface AccountOptions extends TokenOptions {
  /** `https://HOST:PORT` of a gateway or fault proxy; default: the API server itself. */
  readonly server?: string;
}

export interface TokenOptions {
  /** How long the token is good, in s; the API server grants no less than 600. Default: 3600. */
  readonly expirationSeconds?: number;
}

/**
 * Starts a cluster and waits until it is ready. Where the programs are missing and cannot be built,
 * prints a line `skipped: …` and answers `null`: the caller returns.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster | null> {
  const found = await findPrograms();
  if (!found.ok) {
    console.log(`skipped: ${options.name ?? "the API server"}: ${found.error}`);
    return null;
  }
  for (let attempt = 1;; attempt++) {
    const cluster = await TestCluster.create(found.programs, options);
    try {
      await cluster.startEtcd();
      await cluster.startApiServer();
      return cluster;
    } catch (error) {
      const isPortTaken = await cluster.lostItsPort();
      await cluster.stop();
      if (!isPortTaken || attempt === ATTEMPTS) throw error;
    }
  }
}

/** One cluster. As a client it is its administrator. Every wait throws when its patience ends. */
export class TestCluster extends ApiClient {
  /** Of a file, for the administrator. */
  readonly kubeconfig: string;
  /** Of the API server, on 127.0.0.1. */
  readonly port: number;
  readonly adminToken: string;
  /** What signed the API server's certificate: a path, and its text. */
  readonly caFile: string;
  readonly caPem: string;
  readonly authority: CertificateAuthority;
  readonly programs: Programs;
  readonly #folder: string;
  readonly #options: ClusterOptions;
  readonly #etcdPort: number;
  readonly #guard: ProcessGuard;
  readonly #etcd: GuardedProcess;
  readonly #apiServer: GuardedProcess;
  readonly #clients: ApiClient[] = [];
  #files = 0;

  private constructor(
    programs: Programs,
    options: ClusterOptions,
    folder: string,
    authority: CertificateAuthority,
  ) {
    // kube-apiserver cannot choose one itself.
    const [port, etcdPort] = [freePort(), freePort()];
    const adminToken = crypto.randomUUID();
    super(`https://127.0.0.1:${port}`, authority.certificate, adminToken);
    this.port = port;
    this.adminToken = adminToken;
    this.authority = authority;
    this.caPem = authority.certificate;
    this.programs = programs;
    this.caFile = join(folder, "ca.crt");
    this.kubeconfig = join(folder, "admin.kubeconfig");
    this.#folder = folder;
    this.#options = options;
    this.#etcdPort = etcdPort;
    this.#guard = new ProcessGuard(folder);
    this.#etcd = new GuardedProcess(this.#guard, join(folder, "etcd.log"));
    this.#apiServer = new GuardedProcess(this.#guard, join(folder, "kube-apiserver.log"));
  }

  /** Chooses ports and writes files; `startCluster` starts it. */
  static async create(programs: Programs, options: ClusterOptions): Promise<TestCluster> {
    const folder = await Deno.makeTempDir({ prefix: "pingress-cluster-" });
    const authority = await CertificateAuthority.create("Pingress tests");
    const { chain, key } = await authority.issue({
      names: ["127.0.0.1", "localhost", "kubernetes.default.svc", "10.96.0.1"],
    });
    const { key: accountKey } = await authority.issue({ names: ["accounts"], key: "rsa" });
    const cluster = new TestCluster(programs, options, folder, authority);
    const { adminToken } = cluster;
    await cluster.#write("ca.crt", authority.certificate);
    await cluster.#write("server.crt", chain);
    await cluster.#write("server.key", key.reveal());
    await cluster.#write("accounts.key", accountKey.reveal());
    await cluster.#write("tokens.csv", `${adminToken},admin,admin,system:masters\n`);
    await cluster.#write("admin.kubeconfig", cluster.kubeconfigFor(adminToken));
    return cluster;
  }

  /**
   * The text of a kubeconfig for any token, or for a file that has one; and for another server, as a
   * proxy before this one.
   */
  kubeconfigFor(token: string | { readonly tokenFile: string }, server = this.server): string {
    const credentials = typeof token === "string" ? { token } : token;
    return kubeconfigText({ server, caPem: this.caPem, credentials });
  }

  /** Writes a file that lives as long as the cluster; its path. */
  async writeFile(text: string): Promise<string> {
    return await this.#write(`file-${++this.#files}`, text);
  }

  /** The same API server as the owner of another token sees it; closed with the cluster. */
  as(token: string): ApiClient {
    const client = new ApiClient(this.server, this.caPem, token);
    this.#clients.push(client);
    return client;
  }

  /** Creates a namespace with a random name and, as controllers would, its default service account. */
  async newNamespace(prefix = "test"): Promise<string> {
    const { metadata } = await this.create({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: `${prefix}-${crypto.randomUUID().slice(0, 8)}` },
    });
    await this.#ensureServiceAccount(metadata.namespace ?? metadata.name, "default");
    return metadata.name;
  }

  /** A token of a service account, which is created where it is missing. */
  async serviceAccountToken(
    namespace: string,
    name: string,
    { expirationSeconds = 3600 }: TokenOptions = {},
  ): Promise<string> {
    await this.#ensureServiceAccount(namespace, name);
    const answer = await this.request(
      "POST",
      `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds },
      },
    );
    if (answer.status !== 201) throw new Error(`No token: ${answer.status} ${answer.text}`);
    return (answer.body.status as { token: string }).token;
  }

  /** The path of a kubeconfig with a token of a service account, which is created where it is missing. */
  async serviceAccountKubeconfig(
    namespace: string,
    name: string,
    options: AccountOptions = {},
  ): Promise<string> {
    const token = await this.serviceAccountToken(namespace, name, options);
    return await this.writeFile(this.kubeconfigFor(token, options.server));
  }

  /** On the port and the data it had before; waits for `/readyz` and the namespace `kube-system`. */
  async startApiServer(): Promise<void> {
    await this.#apiServer.start(this.programs.apiServer, this.#apiServerArguments());
    await this.#ready(
      "kube-apiserver",
      this.#apiServer,
      async () =>
        (await this.request("GET", "/readyz")).status === 200 &&
        (await this.request("GET", "/api/v1/namespaces/kube-system")).status === 200 &&
        (await this.request("GET", "/api/v1/namespaces/default")).status === 200,
    );
  }

  /** As in an upgrade, which ends watches in an orderly way, or as in a crash (SIGKILL). */
  async stopApiServer(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.#apiServer.stop(signal);
  }

  async restartApiServer(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.stopApiServer(signal);
    await this.startApiServer();
  }

  /** Freezes the API server: connections stay open, and nothing is answered until `resume`. */
  pause(): void {
    this.#apiServer.pause();
  }

  resume(): void {
    this.#apiServer.resume();
  }

  /** On the data it had before. Waits until it answers, not for the API server to notice. */
  async startEtcd(): Promise<void> {
    const url = `http://127.0.0.1:${this.#etcdPort}`;
    await this.#etcd.start(this.programs.etcd, [
      `--data-dir=${join(this.#folder, "etcd")}`,
      // Nothing here must outlive a crash of the machine.
      "--unsafe-no-fsync",
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      "--listen-peer-urls=http://127.0.0.1:0",
      ...this.#options.etcdFlags ?? [],
    ]);
    await this.#ready("etcd", this.#etcd, async () => {
      const response = await fetch(`${url}/health`);
      return (await response.text()).includes('"true"');
    });
  }

  /**
   * The API server goes on without it, and refuses what needs it. Without a crash (SIGTERM) this takes
   * etcd 7 s; its data stays in any case.
   */
  async stopEtcd(signal: "SIGTERM" | "SIGKILL" = "SIGKILL"): Promise<void> {
    await this.#etcd.stop(signal);
  }

  /** Waits until the API server says that it is ready, after etcd or the server itself was away. */
  async waitUntilReady(): Promise<void> {
    await this.#ready(
      "kube-apiserver",
      this.#apiServer,
      async () => (await this.request("GET", "/readyz")).status === 200,
    );
  }

  /**
   * Forgets all revisions before the present one. Exact lists and continued lists of old revisions
   * answer 410 from then on. Watches are fed by the API server's own memory and do not notice, unless
   * it runs with `--watch-cache=false`; `expireWatches` makes them.
   */
  async compactEtcd(): Promise<void> {
    const range = await this.#etcdCall("range", { key: btoa("/") });
    const { revision } = range.header as { revision: string };
    await this.#etcdCall("compaction", { revision, physical: true });
  }

  /**
   * Makes every watch that resumes from an older resourceVersion get 410: compacts etcd, and restarts
   * the API server, which then remembers nothing older than its start.
   */
  async expireWatches(): Promise<void> {
    // The restarted server's memory begins here: a watch from before must be older than that.
    await this.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `expiry-${crypto.randomUUID()}` },
    }, "default");
    await this.compactEtcd();
    await this.restartApiServer();
  }

  /** Stops everything and removes its files. */
  async stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    this.close();
    await Promise.all([this.#apiServer.stop("SIGKILL"), this.#etcd.stop("SIGKILL")]);
    await this.#guard.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Whether the start failed because somebody else listens where this cluster wanted to. */
  async lostItsPort(): Promise<boolean> {
    const said = await this.#etcd.tail() + await this.#apiServer.tail();
    return said.includes("address already in use");
  }

  async #ensureServiceAccount(namespace: string, name: string): Promise<void> {
    const account: KubeObject = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, namespace },
    };
    await this.apply(account);
  }

  #apiServerArguments(): string[] {
    const given = this.#options.apiServerFlags ?? [];
    const names = new Set(given.map((flag) => flag.split("=")[0]));
    const own = [
      `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
      `--secure-port=${this.port}`,
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      `--cert-dir=${this.#folder}`,
      `--tls-cert-file=${join(this.#folder, "server.crt")}`,
      `--tls-private-key-file=${join(this.#folder, "server.key")}`,
      `--client-ca-file=${this.caFile}`,
      `--token-auth-file=${join(this.#folder, "tokens.csv")}`,
      "--authorization-mode=RBAC",
      "--allow-privileged=true",
      // Without it a graceful end waits a minute for clients to give their watches up.
      "--shutdown-watch-termination-grace-period=1s",
      "--service-cluster-ip-range=10.96.0.0/16",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${join(this.#folder, "accounts.key")}`,
      `--service-account-signing-key-file=${join(this.#folder, "accounts.key")}`,
    ];
    return [...own.filter((flag) => !names.has(flag.split("=")[0])), ...given];
  }

  async #etcdCall(method: string, body: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`http://127.0.0.1:${this.#etcdPort}/v3/kv/${method}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`etcd ${method}: ${await response.text()}`);
    return await response.json();
  }

  async #ready(name: string, process: GuardedProcess, isReady: () => Promise<boolean>) {
    const problem = await waitFor(async () => {
      if (!process.isRunning) return `${name} has ended`;
      return await isReady().catch(() => false);
    }, START_PATIENCE);
    if (problem !== true) {
      throw new Error(`${problem || `${name} is not ready`}; it said:\n${await process.tail()}`);
    }
  }

  async #write(name: string, text: string): Promise<string> {
    const path = join(this.#folder, name);
    await Deno.writeTextFile(path, text, { mode: 0o600 });
    return path;
  }
}
