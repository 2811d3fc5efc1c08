/**
 * A `ProxyServer` with HTTPS in this process, and clients for it. In: certificates, an upstream, and
 * what differs from the defaults. Out: its ports, what it has logged, and how handshakes and
 * requests end.
 */
import { Buffer } from "node:buffer";
import tls from "node:tls";
import { CertificateAuthority, type CertificateRequest } from "../../dev/certificate_authority.ts";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import { DEFAULT_LIMITS, type Limits } from "../../proxy/http/limits.ts";
import type { SelfProbes } from "../../proxy/listen/self_probes.ts";
import { ProxyServer } from "../../proxy/server.ts";
import type { Telemetry } from "../../proxy/telemetry/telemetry.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import type { LogFields, LogLevel } from "../../shared/log.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { snapshotOf } from "./test_proxy.ts";

/** Signs every certificate of a test file. */
export const authority = await CertificateAuthority.create("Test authority");

/** A certificate for these names, used for them. `id` tells versions apart. */
export async function certificateFor(
  id: string,
  request: CertificateRequest,
): Promise<ServerCertificate> {
  return { id, hosts: request.names, ...await authority.issue(request) };
}

export interface TlsProxyOptions {
  readonly certificates?: readonly ServerCertificate[];
  /** Id of the one for names that no other covers. */
  readonly defaultCertificate?: string;
  /** Ports on 127.0.0.1. */
  readonly endpoints?: readonly number[];
  /** In place of those of `snapshotOf`. */
  readonly parts?: Partial<Pick<Snapshot, "routes" | "hostSettings" | "defaultAction">>;
  readonly limits?: Partial<Limits>;
  readonly sslRedirect?: boolean;
  readonly sslRedirectPort?: number;
  readonly trustedProxies?: CidrList;
  readonly memoryInUse?: () => number;
  readonly ownCalls?: SelfProbes;
  readonly onObstacle?: (name: string, reason: string | null) => void;
  readonly telemetry?: Telemetry;
  /** Whether HTTP/2 is offered; default true. */
  readonly http2?: boolean;
}

export class TlsProxy {
  readonly server: ProxyServer;
  readonly codes: string[] = [];
  /** What was logged. */
  readonly lines: { level: LogLevel; message: string; fields: LogFields }[] = [];
  #port = 0;
  readonly #snapshot: Snapshot;

  private constructor(options: TlsProxyOptions) {
    const log = (level: LogLevel) => (message: string, fields: LogFields = {}) => {
      this.lines.push({ level, message, fields });
      if (typeof fields.code === "string") this.codes.push(fields.code);
    };
    const { memoryInUse, ownCalls, onObstacle, telemetry, http2 } = options;
    this.server = new ProxyServer({
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      trustedProxies: options.trustedProxies ?? CidrList.empty,
      upstreamNetworks: CidrList.empty,
      allowLoopbackUpstreams: true,
      sslRedirect: options.sslRedirect ?? false,
      sslRedirectPort: options.sslRedirectPort ?? 0,
      log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
      ...(memoryInUse === undefined ? {} : { memoryInUse }),
      ...(ownCalls === undefined ? {} : { ownCalls }),
      ...(onObstacle === undefined ? {} : { onObstacle }),
      ...(telemetry === undefined ? {} : { telemetry }),
      ...(http2 === undefined ? {} : { http2 }),
    });
    this.#snapshot = { ...snapshotOf(options.endpoints ?? []), ...options.parts };
    this.apply(options.certificates ?? [], options.defaultCertificate);
  }

  static async start(options: TlsProxyOptions): Promise<TlsProxy> {
    const proxy = new TlsProxy(options);
    const { port } = await proxy.server.listenTls({ hostname: "127.0.0.1", port: 0 });
    proxy.#port = port;
    return proxy;
  }

  /** Of HTTPS. */
  get port(): number {
    return this.#port;
  }

  apply(certificates: readonly ServerCertificate[], defaultCertificate?: string): void {
    const snapshot = { ...this.#snapshot, defaultCertificate: defaultCertificate ?? null };
    this.server.apply(snapshot, certificates);
  }

  connect(options: TlsClientOptions = {}): Promise<TlsClient> {
    return TlsClient.connect(this.port, options);
  }

  [Symbol.dispose](): void {
    this.server.close();
  }
}

export interface TlsClientOptions {
  /** "" for none; default `a.test`. */
  readonly name?: string;
  readonly protocols?: readonly string[];
  readonly version?: "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
  readonly session?: Uint8Array;
  /** Of another authority than the tests' own. */
  readonly ca?: string;
}

/** How long an answer or an end is waited for, in ms. */
const PATIENCE = 30_000;

/** A client whose handshake is done. */
export class TlsClient {
  readonly socket: tls.TLSSocket;
  received = "";
  ended = false;
  closed = false;
  #more = Promise.withResolvers<void>();

  private constructor(socket: tls.TLSSocket) {
    this.socket = socket;
    socket.on("data", (part: Buffer) => {
      this.received += part.toString("latin1");
      this.#wake();
    });
    socket.on("end", () => {
      this.ended = true;
      this.#wake();
    });
    socket.on("close", () => {
      this.closed = this.ended = true;
      this.#wake();
    });
  }

  /** Rejects with the error of the handshake, whose `code` says which alert came. */
  static connect(port: number, options: TlsClientOptions = {}): Promise<TlsClient> {
    const { name = "a.test", protocols, version, session, ca = authority.certificate } = options;
    return new Promise((resolve, reject) => {
      const socket = tls.connect({
        host: "127.0.0.1",
        port,
        ca,
        servername: name,
        // What the certificate names is told by `names`.
        checkServerIdentity: () => undefined,
        allowHalfOpen: true,
        ...(protocols === undefined ? {} : { ALPNProtocols: [...protocols] }),
        ...(version === undefined ? {} : { minVersion: version, maxVersion: version }),
        ...(session === undefined ? {} : { session: Buffer.from(session) }),
      } as tls.ConnectionOptions);
      socket.on("error", reject);
      socket.on("close", () => reject(new Error("closed in the handshake")));
      socket.once("secureConnect", () => resolve(new TlsClient(socket)));
    });
  }

  /** Names of the certificate shown: `a.test *.b.test`. */
  get names(): string {
    const { subjectaltname = "" } = this.socket.getPeerCertificate();
    return subjectaltname.split(", ").map((name) => name.replace(/^DNS:/, "")).join(" ");
  }

  /** Sends a request, and reads its answer, whose body must have a length. */
  async ask(head: string, body = ""): Promise<string> {
    this.received = "";
    this.socket.write(`${head}\r\n\r\n${body}`);
    return await this.answer();
  }

  async answer(): Promise<string> {
    // Looked for once: searching all of 32 MiB at each piece takes longer than receiving them.
    let start = -1;
    let length = 0;
    await this.until(() => {
      if (start === -1) {
        const end = this.received.indexOf("\r\n\r\n");
        if (end === -1) return false;
        start = end + 4;
        length = Number(/\r\ncontent-length: (\d+)/i.exec(this.received.slice(0, end))?.[1] ?? 0);
      }
      return this.received.length - start >= length;
    });
    return this.received;
  }

  /** Waits until this holds or the proxy has ended, also by us where nothing comes for too long. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition() && !this.ended) {
      const timer = setTimeout(() => this.socket.destroy(), PATIENCE);
      await this.#more.promise;
      clearTimeout(timer);
    }
  }

  close(): void {
    this.socket.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}

/** The error that a handshake ends with: its code and message. */
export async function handshakeError(connecting: Promise<TlsClient>): Promise<string> {
  try {
    (await connecting).close();
    return "none";
  } catch (error) {
    const { code = "", message } = error as { code?: string; message: string };
    return `${code} ${message}`;
  }
}
