/**
 * The configurations that follow each other in the reload tests. In: the ports of three backends,
 * called blue, green and red, and of one that speaks HTTP/2. Out: one snapshot after another, and
 * what a client must see of each.
 */
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import type {
  Certificate,
  Origin,
  Route,
  Snapshot,
  Upstream,
} from "../../shared/snapshot/types.ts";
import { MountedVolume } from "../support/mounted_volume.ts";
import { certificateFor } from "../support/tls_proxy.ts";

/** Its certificate stands in the snapshot. */
export const HOST = "a.test";
/** Its certificate stands in files of a Secret's volume. */
export const HOST_WITH_FILES = "b.test";
/** Of `HOST`, to a backend that speaks HTTP/2 and never changes. */
export const RPC_PATH = "/test.Echo";
/** There in every other change of routes. */
const PASSING_HOST = "new.test";

const NAMES = ["blue", "green", "red"];
const ORIGIN: Origin = { kind: "Ingress", namespace: "test", name: "web", field: "spec" };

/** What a configuration changes; `nothing` but the version. */
export type Change = "routes" | "endpoints" | "certificate" | "files" | "nothing";
const CHANGES = ["routes", "endpoints", "certificate", "files"] as const;

export class ReloadPlan {
  readonly #ports: readonly number[];
  readonly #rpcPort: number;
  readonly #routes: readonly Route[];
  readonly #certificates: ReadonlyMap<string, readonly ServerCertificate[]>;
  readonly #volume: MountedVolume;
  #version = 0;
  #changes = 0;
  /** Steps of each kind of change so far. */
  readonly #steps = { routes: 0, endpoints: 0, certificate: 0, files: 0 };

  private constructor(
    ports: readonly number[],
    rpcPort: number,
    routes: readonly Route[],
    certificates: ReadonlyMap<string, readonly ServerCertificate[]>,
  ) {
    this.#ports = ports;
    this.#rpcPort = rpcPort;
    this.#routes = routes;
    this.#certificates = certificates;
    this.#volume = new MountedVolume(Deno.makeTempDirSync());
    this.#writeFiles();
  }

  /** @param count further routes that never change. */
  static async create(
    ports: readonly number[],
    rpcPort: number,
    count: number,
  ): Promise<ReloadPlan> {
    const certificates = new Map<string, readonly ServerCertificate[]>();
    for (const host of [HOST, HOST_WITH_FILES]) {
      const versions = ["v1", "v2"].map((version) =>
        certificateFor(version, { names: [host, `${version}.${host}`] })
      );
      certificates.set(host, await Promise.all(versions));
    }
    const routes = Array.from({ length: count }, (_, i) => toRoute(`h${i}.test`, "/", "turn"));
    return new ReloadPlan(ports, rpcPort, routes, certificates);
  }

  /** Of the Secret's volume. */
  get certificateFolder(): string {
    return this.#volume.folder;
  }

  /** As `/metrics` shows it. */
  get version(): number {
    return this.#version;
  }

  /** Names that a certificate may show, whichever is in force. */
  get certificateNames(): readonly string[] {
    return [...this.#certificates.keys()]
      .flatMap((host) => [`${host} v1.${host}`, `${host} v2.${host}`]);
  }

  /** Goes on to the next configuration; `files` leaves the snapshot as it is. */
  advance(changes: boolean): Change {
    const change = changes ? CHANGES[this.#changes++ % CHANGES.length] : "nothing";
    if (change !== "files") this.#version++;
    if (change !== "nothing") this.#steps[change]++;
    if (change === "files") this.#writeFiles();
    return change;
  }

  get snapshot(): Snapshot {
    const routes = [
      toRoute(HOST, RPC_PATH, "rpc"),
      toRoute(HOST, "/turn", "turn"),
      toRoute(HOST, "/", "web"),
      toRoute(HOST_WITH_FILES, "/", "web"),
      ...this.#hasPassingHost ? [toRoute(PASSING_HOST, "/", "turn")] : [],
      ...this.#routes,
    ];
    const { endpoints } = this.#steps;
    const web = [0, 1].map((offset) => this.#ports[(endpoints + offset) % this.#ports.length]);
    return {
      format: 2,
      version: { epoch: "test", seen: { Ingress: String(this.#version) } },
      routes,
      defaultAction: null,
      upstreams: [
        { ...toUpstream("rpc", [this.#rpcPort]), protocol: "h2c" },
        toUpstream("turn", [this.#ports[NAMES.indexOf(this.#turn)]]),
        toUpstream("web", web),
      ],
      certificates: [inline(this.#current(HOST)), this.#inFiles()],
      defaultCertificate: null,
    };
  }

  /** What a new client asks for to see whether the configuration is in force. */
  get probes(): readonly (readonly [host: string, path: string])[] {
    return [[HOST, "/turn"], [PASSING_HOST, "/"], [HOST, "/"]];
  }

  /** Whether this is the answer that the configuration gives. */
  expects(host: string, path: string, status: number, body: string): boolean {
    if (host === PASSING_HOST && !this.#hasPassingHost) return status === 404;
    const absent = NAMES[(this.#steps.endpoints + 2) % NAMES.length];
    const isWeb = host === HOST && path === "/";
    return status === 200 && (isWeb ? body !== absent : body === this.#turn);
  }

  /** Names of the certificate that a new client gets. */
  namesOf(host: string): string {
    return this.#current(host).hosts.join(" ");
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#volume.folder, { recursive: true });
  }

  get #turn(): string {
    return NAMES[this.#steps.routes % 2];
  }

  get #hasPassingHost(): boolean {
    return this.#steps.routes % 2 === 1;
  }

  #current(host: string): ServerCertificate {
    const step = host === HOST ? this.#steps.certificate : this.#steps.files;
    return this.#certificates.get(host)![step % 2];
  }

  #writeFiles(): void {
    const { chain, key } = this.#current(HOST_WITH_FILES);
    this.#volume.publish({ "tls.crt": chain, "tls.key": key.reveal() });
  }

  #inFiles(): Certificate {
    const path = `${this.#volume.folder}/tls.crt`;
    return {
      id: path,
      hosts: [HOST_WITH_FILES],
      chain: { kind: "file", path },
      key: { kind: "file", path: `${this.#volume.folder}/tls.key` },
      origin: ORIGIN,
    };
  }
}

function toRoute(host: string, value: string, upstream: string): Route {
  const action = { kind: "forward", backends: [{ upstream }] } as const;
  return {
    id: `${host} Prefix ${value}`,
    host,
    match: { path: { type: "Prefix", value } },
    action,
    origin: ORIGIN,
  };
}

function toUpstream(id: string, ports: readonly number[]): Upstream {
  const endpoints = ports.map((port) => ({ address: "127.0.0.1", port }));
  return { id, protocol: "http", addresses: { kind: "endpoints", endpoints } };
}

function inline({ chain, key }: ServerCertificate): Certificate {
  return {
    id: "test/inline",
    hosts: [HOST],
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: key },
    origin: ORIGIN,
  };
}
