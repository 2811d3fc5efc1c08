/**
 * What is known of each endpoint, over all upstreams and snapshots. In: addresses as they come and
 * go. Out: one `Endpoint` an address, with its pool, for as long as anything names it: a new
 * snapshot that names it again finds its connections open, and how many requests it is still being
 * asked. Knows no protocol.
 */
import { Pool, type PooledConnection } from "./pool.ts";
import type { Security } from "./tls.ts";

/** How much an address is being asked. */
export class Load {
  /** Requests under way: from their choice of this endpoint, tunnels to their end. */
  requests = 0;
}

export class Endpoint<C extends PooledConnection> {
  readonly address: string;
  readonly port: number;
  /** Null for plain text. One port may be asked either way, but not over the same connections. */
  readonly security: Security | null;
  readonly pool: Pool<C>;
  /** Whoever asks it adds one request, and takes it off when that has ended, however it does. */
  readonly load: Load;
  /** How many upstreams name it; the registry's to change. */
  references = 0;

  constructor(address: string, port: number, security: Security | null, pool: Pool<C>, load: Load) {
    this.address = address;
    this.port = port;
    this.security = security;
    this.pool = pool;
    this.load = load;
  }
}

export class EndpointRegistry<C extends PooledConnection> {
  readonly #endpoints = new Map<string, Endpoint<C>>();
  /** Of those that nothing names, but that are still being asked: they may come back. */
  readonly #leftLoads = new Map<string, Load>();
  readonly #maxIdle: number;
  readonly #maxAge: number;

  /** @param maxAge of a pooled connection in ms, 0 for no limit. */
  constructor(maxIdle: number, maxAge: number) {
    this.#maxIdle = maxIdle;
    this.#maxAge = maxAge;
  }

  get size(): number {
    return this.#endpoints.size;
  }

  /** Requests that endpoints are being asked now, those of before included. */
  get requestCount(): number {
    let count = 0;
    for (const { load } of this.#endpoints.values()) count += load.requests;
    for (const { requests } of this.#leftLoads.values()) count += requests;
    return count;
  }

  /** The endpoint at this address; `release` it once for each time it was acquired. */
  acquire(address: string, port: number, security: Security | null = null): Endpoint<C> {
    const key = keyOf(address, port, security);
    let endpoint = this.#endpoints.get(key);
    if (endpoint === undefined) {
      const pool = new Pool<C>(this.#maxIdle, this.#maxAge);
      const load = this.#leftLoads.get(key) ?? new Load();
      this.#leftLoads.delete(key);
      endpoint = new Endpoint(address, port, security, pool, load);
      this.#endpoints.set(key, endpoint);
    }
    endpoint.references++;
    return endpoint;
  }

  /** Without a reference left its idle connections close; those in use finish what they have. */
  release(endpoint: Endpoint<C>): void {
    if (--endpoint.references > 0) return;
    const key = keyOf(endpoint.address, endpoint.port, endpoint.security);
    this.#endpoints.delete(key);
    endpoint.pool.close();
    for (const [left, { requests }] of this.#leftLoads) {
      if (requests === 0) this.#leftLoads.delete(left);
    }
    if (endpoint.load.requests > 0) this.#leftLoads.set(key, endpoint.load);
  }

  /** Closes the idle connections of all endpoints; their pools go on. */
  closeIdle(): void {
    for (const endpoint of this.#endpoints.values()) endpoint.pool.closeIdle();
  }

  /** Idle connections over all endpoints. */
  get idleCount(): number {
    let count = 0;
    for (const endpoint of this.#endpoints.values()) count += endpoint.pool.idleCount;
    return count;
  }
}

function keyOf(address: string, port: number, security: Security | null): string {
  return security === null ? `${address} ${port}` : `${address} ${port} ${security.key}`;
}
