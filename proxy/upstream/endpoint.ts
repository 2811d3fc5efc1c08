/**
 * What is known of each endpoint, over all upstreams and snapshots. In: addresses as they come and
 * go. Out: one `Endpoint` an address, with its pools, for as long as anything names it: a new
 * snapshot that names it again finds its connections open, and how many requests it is still being
 * asked. Speaks no protocol.
 */
import type { Upstream } from "../../shared/snapshot/types.ts";
import { Pool, type PooledConnection } from "./pool.ts";
import { SharedPool } from "./shared_pool.ts";
import type { Security } from "./tls.ts";

/** How much an address is being asked. */
export class Load {
  /** Requests under way: from their choice of this endpoint, tunnels to their end. */
  requests = 0;
}

/** What its connections are to speak. */
export type Protocol = Upstream["protocol"];

/** `C` are connections that carry one request at a time, `U` the uses of those that carry many. */
export class Endpoint<C extends PooledConnection, U = unknown> {
  readonly address: string;
  readonly port: number;
  /** One port may be asked in several ways, but not over the same connections. */
  readonly protocol: Protocol;
  /** Null for plain text. */
  readonly security: Security | null;
  readonly pool: Pool<C>;
  readonly shared: SharedPool<U>;
  /**
   * Whether the last connection could be shared, where the endpoint chooses that; null before the
   * first.
   */
  sharing: boolean | null;
  /** It has taken shared connections, and then asked for others: it is offered none again. */
  refusesSharing = false;
  /** Whoever asks it adds one request, and takes it off when that has ended, however it does. */
  readonly load: Load;
  /** How many upstreams name it; the registry's to change. */
  references = 0;

  constructor(
    { address, port, protocol, security }: Destination,
    pool: Pool<C>,
    shared: SharedPool<U>,
    load: Load,
  ) {
    this.address = address;
    this.port = port;
    this.protocol = protocol;
    this.security = security;
    this.pool = pool;
    this.shared = shared;
    this.sharing = protocol === "https" ? null : protocol !== "http";
    this.load = load;
  }
}

interface Destination {
  readonly address: string;
  readonly port: number;
  readonly protocol: Protocol;
  readonly security: Security | null;
}

export class EndpointRegistry<C extends PooledConnection, U = unknown> {
  readonly #endpoints = new Map<string, Endpoint<C, U>>();
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
  acquire(
    address: string,
    port: number,
    protocol: Protocol = "http",
    security: Security | null = null,
  ): Endpoint<C, U> {
    const destination = { address, port, protocol, security };
    const key = keyOf(destination);
    let endpoint = this.#endpoints.get(key);
    if (endpoint === undefined) {
      const pool = new Pool<C>(this.#maxIdle, this.#maxAge);
      const shared = new SharedPool<U>(this.#maxAge);
      const load = this.#leftLoads.get(key) ?? new Load();
      this.#leftLoads.delete(key);
      endpoint = new Endpoint<C, U>(destination, pool, shared, load);
      this.#endpoints.set(key, endpoint);
    }
    endpoint.references++;
    return endpoint;
  }

  /** Without a reference left its idle connections close; those in use finish what they have. */
  release(endpoint: Endpoint<C, U>): void {
    if (--endpoint.references > 0) return;
    const key = keyOf(endpoint);
    this.#endpoints.delete(key);
    endpoint.pool.close();
    endpoint.shared.close();
    for (const [left, { requests }] of this.#leftLoads) {
      if (requests === 0) this.#leftLoads.delete(left);
    }
    if (endpoint.load.requests > 0) this.#leftLoads.set(key, endpoint.load);
  }

  /** Closes the idle connections of all endpoints; their pools go on. */
  closeIdle(): void {
    for (const { pool, shared } of this.#endpoints.values()) {
      pool.closeIdle();
      shared.closeIdle();
    }
  }

  /** Idle connections over all endpoints. */
  get idleCount(): number {
    let count = 0;
    for (const { pool, shared } of this.#endpoints.values()) {
      count += pool.idleCount + shared.idleCount;
    }
    return count;
  }
}

function keyOf({ address, port, protocol, security }: Destination): string {
  return `${address} ${port} ${protocol} ${security === null ? "" : security.key}`;
}
