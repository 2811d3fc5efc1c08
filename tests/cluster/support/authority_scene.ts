/**
 * The stream's authority on a real API server. In: a cluster. Out: leaders and replicas by a clock
 * that a test moves, and what stands in Secret and ConfigMap.
 */
import { X509Certificate } from "node:crypto";
import { KubeClient } from "../../../controller/kube/client.ts";
import { loadCredentials } from "../../../controller/kube/credentials.ts";
import type { JobOutcome } from "../../../controller/outputs/write/job.ts";
import type { ServingCertificate } from "../../../controller/stream/ca/certificate_authority.ts";
import { AuthorityKeeper } from "../../../controller/stream/ca/keeper.ts";
import { AuthorityServer } from "../../../controller/stream/ca/server_certificate.ts";
import { ManualClock } from "../../../shared/clock.ts";
import { createLogger, type Logger } from "../../../shared/log.ts";
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";

export const NAME = "pingress-stream-ca";

/** What proxies ask for. */
export const SERVER_NAME = "pingress-controller.pingress-system.svc";

export interface AuthorityObject extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

export class AuthorityScene {
  readonly cluster: TestCluster;
  readonly namespace: string;
  readonly client: KubeClient;
  readonly clock = new ManualClock("2026-01-01T00:00:00Z");
  /** Of everybody. */
  readonly lines: string[] = [];
  readonly log: Logger = createLogger({
    level: "debug",
    format: "json",
    write: (line) => void this.lines.push(line),
  });

  private constructor(cluster: TestCluster, namespace: string, client: KubeClient) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.client = client;
  }

  static async create(cluster: TestCluster): Promise<AuthorityScene> {
    const source = { kind: "kubeconfig", file: cluster.kubeconfig, context: null } as const;
    const loaded = loadCredentials(source);
    if (!loaded.ok) throw new Error(loaded.message);
    const namespace = await cluster.newNamespace("authority");
    return new AuthorityScene(cluster, namespace, new KubeClient(loaded.credentials));
  }

  leader(client: Pick<KubeClient, "get" | "apply" | "patch"> = this.client): AuthorityKeeper {
    const { namespace, log, clock } = this;
    return new AuthorityKeeper({ client, namespace, log, clock });
  }

  replica(): AuthorityServer {
    const { client, namespace, log, clock } = this;
    return new AuthorityServer({ client, namespace, names: [SERVER_NAME], log, clock });
  }

  /** A run that is to end well. */
  async keep(leader: AuthorityKeeper): Promise<Extract<JobOutcome, { kind: "again" }>> {
    const outcome = await leader.run();
    if (outcome.kind !== "again") throw new Error(JSON.stringify(outcome));
    return outcome;
  }

  get(kind: "Secret" | "ConfigMap"): Promise<AuthorityObject | null> {
    return this.cluster.get<AuthorityObject>("v1", kind, NAME, this.namespace);
  }

  async remove(kind: "Secret" | "ConfigMap"): Promise<void> {
    await this.cluster.delete("v1", kind, NAME, this.namespace);
  }

  /** The certificates that proxies mount; none where there is no ConfigMap. */
  async bundle(): Promise<readonly X509Certificate[]> {
    return certificatesIn((await this.get("ConfigMap"))?.data?.["ca.crt"] ?? "");
  }

  [Symbol.dispose](): void {
    this.client.close();
  }
}

export function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

/** Whether one of `trusted` has signed it, by the signature. */
export function isTrusted(
  { certPem }: ServingCertificate,
  trusted: readonly X509Certificate[],
): boolean {
  const leaf = new X509Certificate(certPem);
  return trusted.some(({ subject, publicKey }) =>
    leaf.issuer === subject && leaf.verify(publicKey)
  );
}
