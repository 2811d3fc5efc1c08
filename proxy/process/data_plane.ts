/**
 * What carries the traffic, seen from the main thread. In: snapshots and addresses. Out: the same
 * promises with one event loop as with many: `LocalPlane` serves in this thread, `WorkerPool` in
 * workers.
 */
import type { Snapshot } from "../../shared/snapshot/types.ts";
import type { SnapshotDelta } from "../config/diff.ts";
import type { Address } from "../../shared/net/address.ts";
import type { ServerCertificate } from "../certificates/store.ts";
import type { SocketStates } from "../listen/socket_states.ts";
import type { DrainOptions } from "../server.ts";
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
   * rejects. Throws where the change cannot be applied in this thread.
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
