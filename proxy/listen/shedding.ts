/**
 * What is refused and closed where room, descriptors or memory run short. In: addresses of new
 * connections, and failures of the system to open more. Out: room or none; idle connections and
 * handshakes that make way.
 */
import type { Logger } from "../../shared/log.ts";
import { Descriptors, isExhaustion } from "../io/descriptors.ts";
import type { Admission, ShedReason } from "./admission.ts";
import type { Listener, ListenerOptions } from "./listener.ts";
import type { Overload } from "./overload.ts";
import { TlsListener } from "./tls_listener.ts";

/** So many handshakes may be under way while memory is too short for requests. */
const HANDSHAKES_SHORT_OF_MEMORY = 16;

export interface SheddingOptions {
  readonly admission: Admission;
  readonly overload: Pick<Overload, "isCritical">;
  /** Connections from clients. */
  readonly connections: { readonly size: number };
  /** All that accept. */
  readonly listeners: () => Iterable<Listener | TlsListener>;
  /** For counters. */
  readonly metrics: {
    connectionShed(reason: ShedReason): void;
    acceptFailed(): void;
    descriptorsExhausted(): void;
  };
  /** Closes idle connections to endpoints. */
  readonly closeIdleUpstream: () => void;
  readonly log: Logger;
}

export class Shedding {
  readonly #options: SheddingOptions;
  readonly #descriptors = new Descriptors();

  constructor(options: SheddingOptions) {
    this.#options = options;
  }

  /** For plain ports. */
  get listenerOptions(): Pick<ListenerOptions, "admit" | "onAcceptError"> {
    return {
      admit: this.#admit,
      onAcceptError: (error) => {
        const { metrics, log } = this.#options;
        metrics.acceptFailed();
        if (isExhaustion(error)) this.exhausted();
        else log.warn("Accept failed", { error: String(error) });
      },
    };
  }

  readonly #admit = (address: string): boolean => {
    const { admission, connections, metrics } = this.#options;
    const pending = this.handshakeCount;
    if (!admission.hasRoom(address, pending)) return false;
    const admitted = this.#descriptors.admits(connections.size + pending, performance.now()) ||
      admission.makeRoom(1) > 0;
    if (!admitted) metrics.connectionShed("connection_limit");
    return admitted;
  };

  /** A handshake costs more than the 503 that it leads to: short of memory there are only a few. */
  readonly admitTls = (address: string): boolean => {
    const { overload, metrics } = this.#options;
    const isFree = !overload.isCritical || this.handshakeCount < HANDSHAKES_SHORT_OF_MEMORY;
    if (isFree) return this.#admit(address);
    metrics.connectionShed("overload");
    return false;
  };

  /** No descriptor is left: idle connections go, so that those who are being served still can be. */
  readonly exhausted = (): void => {
    const { admission, connections, closeIdleUpstream, listeners, metrics, log } = this.#options;
    const count = connections.size + this.handshakeCount;
    let excess = this.#descriptors.exhausted(count, performance.now());
    if (excess === null) return;
    metrics.descriptorsExhausted();
    log.warn("Out of file descriptors", {
      connections: count,
      remedy: "raise the limit (ulimit -n), or lower --connection-limit to less than half of it",
    });
    closeIdleUpstream();
    excess -= admission.shed(excess, 0);
    for (const listener of listeners()) {
      if (!(listener instanceof TlsListener)) continue;
      const { handshakeCount } = listener;
      listener.shed(excess);
      excess -= Math.min(excess, handshakeCount);
    }
  };

  /** TLS handshakes under way. */
  get handshakeCount(): number {
    let count = 0;
    for (const listener of this.#options.listeners()) {
      if (listener instanceof TlsListener) count += listener.handshakeCount;
    }
    return count;
  }

  /** Connections to ports of TLS so far; a handshake may be under way yet. */
  get acceptedForTls(): number {
    let count = 0;
    for (const listener of this.#options.listeners()) {
      if (listener instanceof TlsListener) count += listener.acceptedCount;
    }
    return count;
  }

  /** Ends TLS handshakes under way; listeners have been closed before. */
  endHandshakes(): void {
    for (const listener of this.#options.listeners()) {
      if (listener instanceof TlsListener) listener.endHandshakes();
    }
  }
}
