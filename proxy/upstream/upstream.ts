/**
 * One upstream in force. In: its endpoints, listed or resolved from a name, as they change. Out: the
 * endpoint for the next request. Its turn survives changes, so that they do not send every first
 * request to the same endpoint. Knows no protocol.
 */
import type * as snapshot from "../../shared/snapshot.ts";
import { RoundRobin } from "./balancer.ts";
import type { Endpoint, EndpointRegistry } from "./endpoint.ts";
import type { PooledConnection } from "./pool.ts";
import type { Security } from "./tls.ts";

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
  readonly #balancer = new RoundRobin<Endpoint<C>>();
  #source: AddressSource | null = null;
  /** Endpoints of before `#source` serve while its first answer is waited for. */
  #awaits: "nothing" | "a request" | "an answer" = "nothing";
  #listed: readonly snapshot.Endpoint[] = [];
  #endpoints: readonly Endpoint<C>[] = [];
  #security: Security | null = null;
  #closed = false;

  constructor(id: string, registry: EndpointRegistry<C>) {
    this.id = id;
    this.#registry = registry;
  }

  /** Connections are secured like this from now on; null for plain text. */
  secure(security: Security | null): void {
    if (security?.key === this.#security?.key) return;
    this.#security = security;
    // Those that are listed already are other endpoints from now on.
    this.#update([...this.#listed]);
  }

  /** These are its endpoints from now on. */
  list(endpoints: readonly snapshot.Endpoint[]): void {
    this.#source?.close();
    this.#source = null;
    this.#update(endpoints);
  }

  /**
   * Its endpoints are what `source` finds from now on; those of before serve until then. A name is
   * looked up when the first request comes: most of a large configuration sleeps.
   */
  resolve(source: AddressSource): void {
    this.#source?.close();
    this.#source = source;
    this.#awaits = this.#endpoints.length === 0 ? "nothing" : "a request";
  }

  /** The next endpoint that is not in `tried`; null where there is none (yet: see `resolving`). */
  pick(tried: readonly Endpoint<C>[] | null): Endpoint<C> | null {
    if (this.#source !== null && !this.#closed) this.#follow(this.#source);
    return this.#balancer.pick(this.#endpoints, tried);
  }

  /** A promise to wait for where addresses are still looked up, else null. */
  get resolving(): Promise<unknown> | null {
    return this.#source !== null && this.#endpoints.length === 0 ? this.#source.ready() : null;
  }

  /**
   * Lets go of its endpoints. Exchanges under way may still pick: what they need is there, only no
   * longer kept for others.
   */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#source?.close();
    for (const endpoint of this.#endpoints) this.#registry.release(endpoint);
  }

  #follow(source: AddressSource): void {
    const current = source.current();
    if (current.length > 0) this.#awaits = "nothing";
    if (this.#awaits === "nothing") return this.#update(current);
    if (this.#awaits === "an answer") return;
    this.#awaits = "an answer";
    source.ready().then(() => {
      if (this.#source === source) this.#awaits = "nothing";
    });
  }

  #update(listed: readonly snapshot.Endpoint[]): void {
    if (listed === this.#listed) return;
    const before = this.#endpoints;
    this.#endpoints = listed.map(({ address, port }) =>
      this.#registry.acquire(address, port, this.#security)
    );
    this.#listed = listed;
    for (const endpoint of before) this.#registry.release(endpoint);
  }
}
