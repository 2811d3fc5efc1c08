/**
 * Ports of this machine in place of those of Gateways. In: snapshots, one after the other. Out: the same, with
 * a port that is free here as the socket of each Gateway's port. A Gateway keeps its ports while this
 * process runs, so that what somebody has typed into a browser stays right.
 */
import { type ListenRange, portsOf } from "../../shared/net/port_range.ts";
import { BUILT_IN_LISTENERS, gatewayOf } from "../../shared/snapshot/listener_id.ts";
import type { Listener, Snapshot } from "../../shared/snapshot/types.ts";
import { canListen } from "../listeners/port_offset.ts";

export class LocalPorts {
  readonly #range: ListenRange;
  readonly #isFree: (port: number) => boolean;
  /** By Gateway and the port that clients know. Those of Gateways that are gone are kept for them. */
  readonly #ports = new Map<string, number>();
  /** That have been open. */
  readonly #opened = new Set<number>();
  /** That another program has taken before they could be opened. */
  readonly #refused = new Set<number>();

  /** @param isFree Whether nothing listens on a port of the range's address. */
  constructor(
    range: ListenRange,
    isFree = (port: number) => canListen({ hostname: range.hostname, port }),
  ) {
    this.#range = range;
    this.#isFree = isFree;
  }

  /** A port that the translation has chosen is taken if it is free. */
  assign(snapshot: Snapshot): Snapshot {
    const { listeners } = snapshot;
    if (listeners === undefined) return snapshot;
    const wanted = new Set(listeners.filter(isOfGateway).map(keyOf));
    return {
      ...snapshot,
      listeners: listeners.map((listener) =>
        isOfGateway(listener)
          ? { ...listener, socket: String(this.#portOf(listener, wanted)) }
          : listener
      ),
    };
  }

  /**
   * Those that have never been open are not assigned again.
   *
   * @param refused Sockets that cannot be opened.
   * @return whether others are assigned for any of them.
   */
  learn(open: readonly string[], refused: readonly string[]): boolean {
    for (const socket of open) this.#opened.add(Number(socket));
    const lost = new Set(refused.map(Number).filter((port) => !this.#opened.has(port)));
    for (const [key, port] of this.#ports) {
      if (!lost.has(port)) continue;
      this.#ports.delete(key);
      this.#refused.add(port);
    }
    return lost.size > 0;
  }

  #portOf(listener: Listener, wanted: ReadonlySet<string>): number {
    const key = keyOf(listener);
    const known = this.#ports.get(key);
    if (known !== undefined) return known;
    const chosen = Number(listener.socket);
    const port = this.#freePort(chosen) ?? this.#takeBack(wanted) ?? chosen;
    this.#ports.set(key, port);
    return port;
  }

  /** The first one from `first` on; null for none. */
  #freePort(first: number): number | null {
    const taken = new Set(this.#ports.values());
    const all = portsOf(this.#range);
    const start = Math.max(0, all.indexOf(first));
    const inOrder = [...all.slice(start), ...all.slice(0, start)];
    return inOrder.find((port) =>
      !taken.has(port) && !this.#refused.has(port) && this.#isFree(port)
    ) ?? null;
  }

  /** That of a Gateway that is gone; null for none. */
  #takeBack(wanted: ReadonlySet<string>): number | null {
    for (const [key, port] of this.#ports) {
      if (wanted.has(key)) continue;
      this.#ports.delete(key);
      return port;
    }
    return null;
  }
}

function isOfGateway({ socket }: Listener): boolean {
  return !BUILT_IN_LISTENERS.has(socket);
}

function keyOf({ id, port }: Listener): string {
  return `${gatewayOf(id)} ${port}`;
}
