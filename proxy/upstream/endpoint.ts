/**
 * What is known of each endpoint, over all upstreams and snapshots. In: addresses as they come and
 * go. Out: one `Endpoint` an address, with its pool, for as long as anything names it: a new
 * snapshot that names it again finds its connections open. Knows no protocol.
 */
import { Pool, type PooledConnection } from "./pool.ts";
import type { Security } from "./tls.ts";

export class Endpoint<C extends PooledConnection> {
  readonly address: string;
  readonly port: number;
  /** Null for plain text. One port may be asked either way, but not over the same connections. */
  readonly security: Security | null;
  readonly pool: Pool<C>;
  /** How many upstreams name it; the registry's to change. */
  references = 0;

  constructor(address: string, port: number, security: Security | null, pool: Pool<C>) {
    this.address = address;
    this.port = port;
    this.security = security;
    this.pool = pool;
  }
}

export class EndpointRegistry<C extends PooledConnection> {
  readonly #endpoints = new Map<string, Endpoint<C>>();
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

  /** The endpoint at this address; `release` it once for each time it was acquired. */
  acquire(address: string, port: number, security: Security | null = null): Endpoint<C> {
    const key = keyOf(address, port, security);
    let endpoint = this.#endpoints.get(key);
    if (endpoint === undefined) {
      const pool = new Pool<C>(this.#maxIdle, this.#maxAge);
      endpoint = new Endpoint(address, port, security, pool);
      this.#endpoints.set(key, endpoint);
    }
    endpoint.references++;
    return endpoint;
  }

  /** Without a reference left its idle connections close; those in use finish what they have. */
  release(endpoint: Endpoint<C>): void {
    if (--endpoint.references > 0) return;
    this.#endpoints.delete(keyOf(endpoint.address, endpoint.port, endpoint.security));
    endpoint.pool.close();
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
