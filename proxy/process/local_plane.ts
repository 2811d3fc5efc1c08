/**
 * Traffic in one event loop, that of the supervisor. In: snapshots and addresses. Out: what `DataPlane` promises.
 *
 * Loaded where this thread serves alone: with several workers, what serves is none of the supervisor's, and
 * its code would take memory.
 */
import type { Address } from "../../shared/net/address.ts";
import type { SnapshotDelta } from "../config/diff.ts";
import type { SocketStates } from "../listen/socket_states.ts";
import { type DrainOptions, ProxyServer, type ProxyServerOptions } from "../server.ts";
import type { TelemetryHub } from "../telemetry/hub.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import type { DataPlane } from "./data_plane.ts";
import { listenAll } from "./listening.ts";
import type { Listening } from "./worker_protocol.ts";

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

  apply(delta: SnapshotDelta): Promise<void> {
    // Not in the promise, where nobody would hear what it throws: it would count as in force.
    this.#server.applyDelta(delta);
    return this.#server.socketsSettled ?? Promise.resolve();
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
