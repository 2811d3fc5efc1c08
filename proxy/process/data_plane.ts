/**
 * What carries the traffic, seen from the main thread. In: snapshots and addresses. Out: the same
 * promises with one event loop as with many: `LocalPlane` serves in this thread, `WorkerPool` in
 * workers.
 */
import type { Snapshot } from "../../shared/snapshot/types.ts";
import type { SnapshotDelta } from "../config/diff.ts";
import { type Address, describeListenError } from "../../shared/net/address.ts";
import type { ServerCertificate } from "../certificates/store.ts";
import type { SocketStates } from "../listen/listener_sockets.ts";
import { type DrainOptions, ProxyServer, type ProxyServerOptions } from "../server.ts";
import type { TelemetryHub } from "../telemetry/hub.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import type { Listening } from "./worker_protocol.ts";

/** A snapshot, and its certificates as they can be used. */
export interface ServedSnapshot {
  readonly snapshot: Snapshot;
  readonly certificates: readonly ServerCertificate[];
}

export interface DataPlane {
  /**
   * Puts a change in force; before `listen`, it is what listening begins with. Settles when every
   * event loop serves by it, and by nothing older, and has opened its listeners' sockets as far as it
   * can; one that is stuck is not waited for: it serves nobody, and catches up before it does. Never
   * rejects.
   *
   * @param delta From what it was given last.
   * @param whole All after that, with which an event loop begins that starts later.
   */
  apply(delta: SnapshotDelta, whole: ServedSnapshot): Promise<void>;
  /**
   * Endpoints that are meant for this zone are asked, from now on; null for no zone.
   * https://kubernetes.io/docs/concepts/services-networking/topology-aware-routing/
   */
  setZone(zone: string | null): void;
  /** Sockets of listeners that are open in every event loop, and obstacles of any. */
  readonly sockets: SocketStates;
  /** Never dials this address: another listener of this process. Before `listen`. */
  protect(address: Address): void;
  /** Listens; the addresses with the ports that were chosen. Rejects with one line for people. */
  listen(addresses: Listening): Promise<Listening>;
  drain(options: DrainOptions): Promise<void>;
  close(): void;
}

/** One event loop: this one. */
export class LocalPlane implements DataPlane {
  readonly #server: ProxyServer;
  readonly #telemetry: Telemetry;

  /** @param hub what counts. */
  constructor(options: Omit<ProxyServerOptions, "telemetry">, hub: TelemetryHub) {
    const worker = hub.attach((message) => this.#telemetry.receive(message));
    this.#telemetry = new Telemetry(worker.setup, (message) => worker.receive(message));
    this.#telemetry.sampleLoop();
    this.#server = new ProxyServer({ ...options, telemetry: this.#telemetry });
  }

  async apply(delta: SnapshotDelta): Promise<void> {
    this.#server.applyDelta(delta);
    await this.#server.socketsSettled;
  }

  get sockets(): SocketStates {
    return this.#server.sockets;
  }

  setZone(zone: string | null): void {
    this.#server.setZone(zone);
  }

  protect(address: Address): void {
    this.#server.protect(address);
  }

  listen(addresses: Listening): Promise<Listening> {
    return listenAll(this.#server, addresses);
  }

  async drain(options: DrainOptions): Promise<void> {
    await this.#server.drain(options);
    this.#telemetry.close();
  }

  close(): void {
    this.#server.close();
    this.#telemetry.close();
  }
}

/**
 * Listens on all addresses with one server, then on sockets of listeners. Rejects with one line for
 * people where an address cannot be had.
 */
export async function listenAll(
  server: ProxyServer,
  { http, https }: Listening,
): Promise<Listening> {
  const bound: { http: Address[]; https: Address[] } = { http: [], https: [] };
  for (const [scheme, addresses] of [["http", http], ["https", https]] as const) {
    for (const address of addresses) {
      try {
        bound[scheme].push(
          scheme === "http" ? server.listen(address) : await server.listenTls(address),
        );
      } catch (error) {
        throw new Error(describeListenError(error, address, `--listen-${scheme}`));
      }
    }
  }
  await server.openSockets();
  return bound;
}
