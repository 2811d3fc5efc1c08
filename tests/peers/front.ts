/**
 * What stands between the clients and the servers of these tests: our proxy, with plain and secure
 * ports. In: backends and how they are spoken to. Out: its ports.
 *
 * With PINGRESS_FRONT=haproxy it is HAProxy instead, which passes what these tests ask for: one that
 * fails with both is a fault of the test.
 */
import { join } from "node:path";
import type { Limits } from "../../proxy/http/limits.ts";
import type { Snapshot, Upstream } from "../../shared/snapshot/types.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { authority, certificateFor, TlsProxy } from "../support/tls_proxy.ts";
import { freePort, listening } from "../support/ports.ts";

/** The name that clients call, beside 127.0.0.1. */
export const NAME = "a.example.com";
/** The name in the certificates of backends. */
export const BACKEND_NAME = "backend.test";
export { authority };

/** How the proxy speaks to the backends: `https` lets ALPN choose. */
export type Protocol = Upstream["protocol"];

export interface Backends {
  readonly protocol: Protocol;
  /** On 127.0.0.1; none answers 503. */
  readonly ports: readonly number[];
}

export interface Front {
  /** HTTP/1.1, and HTTP/2 with prior knowledge. */
  readonly port: number;
  /** TLS; ALPN chooses the version. */
  readonly securePort: number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Of the secure port, also for clients that name no server. */
export const certificate = await certificateFor("front", { names: [NAME, "127.0.0.1"] });

export async function startFront(
  backends: Backends,
  limits: Partial<Limits> = {},
): Promise<Front> {
  if (Deno.env.get("PINGRESS_FRONT") === "haproxy") return await Haproxy.start(backends);
  const proxy = await TlsProxy.start({ limits, certificates: [certificate] });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  proxy.server.apply(snapshotFor(backends), [certificate]);
  return {
    port,
    securePort: proxy.port,
    [Symbol.asyncDispose]: () => Promise.resolve(proxy[Symbol.dispose]()),
  };
}

/** `/` of any host to these backends. */
export function snapshotFor({ protocol, ports }: Backends): Snapshot {
  const snapshot = snapshotOf(ports);
  const secure = protocol === "https" || protocol === "h2";
  const ca = { kind: "pem", pem: authority.certificate } as const;
  return {
    ...snapshot,
    defaultCertificate: certificate.id,
    upstreams: snapshot.upstreams.map((upstream) => ({
      ...upstream,
      protocol,
      ...(secure ? { tls: { serverName: BACKEND_NAME, ca } } : {}),
    })),
  };
}

class Haproxy implements Front {
  readonly port: number;
  readonly securePort: number;
  readonly #process: Deno.ChildProcess;
  readonly #folder: string;

  private constructor(process: Deno.ChildProcess, folder: string, ports: readonly number[]) {
    this.#process = process;
    this.#folder = folder;
    [this.port, this.securePort] = ports;
  }

  static async start(backends: Backends): Promise<Haproxy> {
    const folder = await Deno.makeTempDir({ prefix: "haproxy-" });
    const ports = [freePort(), freePort()];
    const bundle = join(folder, "front.pem");
    const trusted = join(folder, "authority.pem");
    await Deno.writeTextFile(bundle, certificate.chain + "\n" + certificate.key.reveal());
    await Deno.writeTextFile(trusted, authority.certificate);
    const file = join(folder, "haproxy.cfg");
    await Deno.writeTextFile(file, configuration(backends, ports, bundle, trusted));
    const process = new Deno.Command("/usr/sbin/haproxy", {
      args: ["-db", "-q", "-f", file],
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    const front = new Haproxy(process, folder, ports);
    await listening(ports[1], process.status);
    return front;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
    await Deno.remove(this.#folder, { recursive: true });
  }
}

function configuration(
  { protocol, ports }: Backends,
  [port, securePort]: readonly number[],
  bundle: string,
  trusted: string,
): string {
  const tls = `ssl verify required ca-file ${trusted} sni str(${BACKEND_NAME}) ` +
    `verifyhost ${BACKEND_NAME}`;
  const how = {
    http: "",
    https: `${tls} alpn h2,http/1.1`,
    h2c: "proto h2",
    h2: `${tls} alpn h2`,
  }[protocol];
  return `
global
  maxconn 2000
defaults
  mode http
  timeout connect 3s
  timeout client 30s
  timeout server 30s
  timeout http-keep-alive 30s
frontend all
  bind 127.0.0.1:${port}
  bind 127.0.0.1:${securePort} ssl crt ${bundle} alpn h2,http/1.1
  default_backend all
backend all
  balance roundrobin
  http-reuse always
${ports.map((one, i) => `  server s${i} 127.0.0.1:${one} ${how}`).join("\n")}
`;
}
