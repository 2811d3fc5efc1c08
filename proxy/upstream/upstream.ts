/**
 * One upstream of the snapshot in force. In: its endpoints, listed or resolved from a name. Out: the
 * endpoint for the next request. Its turn survives snapshots, so that changes elsewhere do not send
 * every first request to the same endpoint. Knows no protocol.
 */
import type * as snapshot from "../../shared/snapshot.ts";
import { RoundRobin } from "./balancer.ts";
import type { Endpoint, EndpointRegistry } from "./endpoint.ts";
import type { PooledConnection } from "./pool.ts";

/** Addresses that change by themselves: `dns.ts`. */
export interface AddressSource {
  current(): readonly snapshot.Endpoint[];
  /** Settles when an answer has come, or failed. */
  ready(): Promise<readonly snapshot.Endpoint[]>;
  close(): void;
}

export class Upstream<C extends PooledConnection> {
  readonly id: string;
  readonly #registry: EndpointRegistry<C>;
  readonly #balancer: RoundRobin<Endpoint<C>>;
  readonly #source: AddressSource | null;
  #listed: readonly snapshot.Endpoint[] = [];
  #endpoints: readonly Endpoint<C>[] = [];
  #closed = false;

  /** @param previous the same upstream in the snapshot before, whose turn goes on. */
  constructor(
    id: string,
    addresses: readonly snapshot.Endpoint[] | AddressSource,
    registry: EndpointRegistry<C>,
    previous: Upstream<C> | undefined,
  ) {
    this.id = id;
    this.#registry = registry;
    this.#balancer = previous === undefined ? new RoundRobin() : previous.#balancer;
    this.#source = "current" in addresses ? addresses : null;
    // A name is looked up when the first request comes: most of a large configuration sleeps.
    if (!("current" in addresses)) this.#update(addresses);
  }

  /** The next endpoint that is not in `tried`; null where there is none (yet: see `ready`). */
  pick(tried: readonly Endpoint<C>[] | null): Endpoint<C> | null {
    if (this.#source !== null && !this.#closed) this.#update(this.#source.current());
    return this.#balancer.pick(this.#endpoints, tried);
  }

  /** A promise to wait for where addresses are still looked up, else null. */
  get resolving(): Promise<unknown> | null {
    return this.#source !== null && this.#endpoints.length === 0 ? this.#source.ready() : null;
  }

  /**
   * Lets go of its endpoints, after another snapshot has taken over. Exchanges under way may still
   * pick: what they need is there, only no longer kept for others.
   */
  close(): void {
    this.#closed = true;
    for (const endpoint of this.#endpoints) this.#registry.release(endpoint);
  }

  #update(listed: readonly snapshot.Endpoint[]): void {
    if (listed === this.#listed) return;
    const before = this.#endpoints;
    this.#endpoints = listed.map(({ address, port }) => this.#registry.acquire(address, port));
    this.#listed = listed;
    for (const endpoint of before) this.#registry.release(endpoint);
  }
}
