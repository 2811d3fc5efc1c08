/**
 * How many request bodies from each client address are under way, over all workers. In: exchanges
 * whose bodies begin and end. Out: whether one more may be forwarded.
 *
 * A body is counted where it has not come along with its head, from the time that it is to be
 * forwarded until its last byte has come or its exchange is over. Tunnels are none.
 */
import type { ConnectionCounts, ConnectionLimits } from "../listen/connection_counts.ts";
import type { CountedExchange, Exchange } from "../http/message.ts";

export class BodyCounts {
  readonly #counts: ConnectionCounts;
  readonly #limits: ConnectionLimits;

  /**
   * @param counts One for bodies alone.
   * @param perAddress From one address that is no trusted proxy; 0 is no limit.
   */
  constructor(counts: ConnectionCounts, perAddress: number) {
    this.#counts = counts;
    this.#limits = { connections: Infinity, connectionsPerAddress: perAddress };
  }

  /** Bodies under way. */
  get total(): number {
    return this.#counts.total;
  }

  /** Counts a body that is `done` not yet in. False where its client has as many as it may. */
  enter({ client, record, request, payload }: Exchange): boolean {
    if (payload !== null || this.#limits.connectionsPerAddress === 0 || client.trusted) return true;
    // What a request for a tunnel over HTTP/2 sends is the tunnel's (RFC 8441 §5).
    if (request.version === 20 && request.upgrade !== "") return true;
    if (this.#counts.enter(client.address, this.#limits) !== null) return false;
    record.bodyCounts = this;
    return true;
  }

  /** A body that was counted in has come whole, or its exchange is over. Once. */
  leave({ client, record }: CountedExchange): void {
    record.bodyCounts = null;
    this.#counts.leave(client.address, this.#limits);
  }
}
