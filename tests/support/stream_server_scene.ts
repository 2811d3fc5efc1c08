/**
 * The controller's stream without an API server. In: options of the server. Out: a server on a free
 * port that takes a token for a pod's name, and proxies that connect to it.
 */
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { ControllerMetrics } from "../../controller/metrics.ts";
import { type StreamOptions, StreamServer } from "../../controller/stream/server.ts";
import type {
  ServingCertificate,
  ServingCertificates,
} from "../../controller/stream/ca/certificate_authority.ts";
import type { Verdict } from "../../controller/stream/token_reviews.ts";
import { silentLogger } from "../../shared/log.ts";
import { Redacted } from "../../shared/redacted.ts";
import type { Snapshot, SnapshotVersion } from "../../shared/snapshot/types.ts";
import { StreamClient } from "./stream_client.ts";

/** Who signs what servers present. */
export const authority = await CertificateAuthority.create("stream tests");

/** What a server presents; a test replaces it. */
export class Certificates implements ServingCertificates {
  current: ServingCertificate | null = null;
  readonly #listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async present(...names: string[]): Promise<void> {
    const { chain, key } = await authority.issue({ names });
    this.#replace(chain, key as Redacted);
  }

  async break(): Promise<void> {
    const { chain } = await authority.issue({ names: ["localhost"] });
    this.#replace(chain, new Redacted("no key"));
  }

  #replace(certPem: string, keyPem: Redacted): void {
    this.current = { certPem, keyPem, authority: "", validTo: Infinity };
    for (const listener of this.#listeners) listener();
  }
}

/** The token is the name of the pod; `bad` and `foreign` are not let in. */
export function judge(token: string): Verdict {
  if (token === "bad") return { kind: "bad", status: 401, reason: "no" };
  if (token === "foreign") return { kind: "bad", status: 403, reason: "not you" };
  if (token === "outage") return { kind: "unknown", reason: "nobody can tell" };
  const [pod, life] = token.split("/");
  return {
    kind: "good",
    identity: { pod, podUid: `uid-${pod}`, node: "node-1" },
    expiresAt: performance.now() + Number(life ?? 3_600_000),
  };
}

/** A server, what it has heard of proxies, and a way to it. */
export interface StreamServerScene extends AsyncDisposable {
  readonly server: StreamServer;
  readonly certificates: Certificates;
  readonly metrics: ControllerMetrics;
  readonly claims: SnapshotVersion[];
  connect(
    token?: string,
    options?: Partial<ConstructorParameters<typeof StreamClient>[0]>,
  ): StreamClient;
}

/** Starts one with a certificate for localhost. */
export async function startStream(
  options: Partial<StreamOptions> = {},
): Promise<StreamServerScene> {
  const certificates = new Certificates();
  await certificates.present("localhost");
  const metrics = new ControllerMetrics();
  const claims: SnapshotVersion[] = [];
  const server = new StreamServer({
    address: { hostname: "127.0.0.1", port: 0 },
    certificates,
    reviews: {
      review: (token) => Promise.resolve(judge(token.reveal())),
      stop: () => {},
      forget: () => {},
    },
    zoneOf: (node) => Promise.resolve(node === "node-1" ? "zone-a" : null),
    name: "controller-0",
    metrics,
    log: silentLogger,
    onClaim: (version) => claims.push(version),
    onNews: () => {},
    ...options,
  });
  await server.start();
  const clients: StreamClient[] = [];
  return {
    server,
    certificates,
    metrics,
    claims,
    connect(token = "proxy-1", more = {}) {
      const { port } = server.address;
      const client = new StreamClient({ port, token, caPem: authority.certificate, ...more });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close();
      await Promise.all(clients.map((client) => client.ended()));
      await server.stop();
    },
  };
}

/** As of a revision of Ingresses, with a route for each host. */
export function snapshot(revision: number, hosts: readonly string[] = ["a.example.com"]): Snapshot {
  const origin = { kind: "Ingress", namespace: "default", name: "web", field: "" };
  return {
    format: 2,
    version: { epoch: "e", seen: { Ingress: String(revision) } },
    routes: hosts.toSorted().map((host) => ({
      id: `${host} Prefix /`,
      host,
      match: { path: { type: "Prefix", value: "/" } },
      action: { kind: "forward", backends: [{ upstream: "default/web:80" }] },
      origin,
    })),
    defaultAction: null,
    upstreams: [{
      id: "default/web:80",
      protocol: "http",
      addresses: { kind: "endpoints", endpoints: [{ address: "10.0.0.1", port: 80 }] },
    }],
    certificates: [],
    defaultCertificate: null,
  };
}

/** Those that a line carries. */
export function hostsOf(line: { readonly [field: string]: unknown }): string[] {
  return (line.hosts as { host: string }[]).map(({ host }) => host);
}
