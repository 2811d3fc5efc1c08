/**
 * The running proxy. In: addresses to listen on and snapshots. Out: traffic. Owns the table in force
 * and everything that outlives it: endpoints with their pools, turns, and connections.
 *
 * A new snapshot is compiled beside the old one and takes over by one reference swap; exchanges
 * under way keep the table with which they began.
 */
import type { CidrList } from "../shared/cidr.ts";
import type { Logger } from "../shared/log.ts";
import type { Action, Endpoint, Snapshot } from "../shared/snapshot.ts";
import { createBuffers } from "./buffer_pool.ts";
import { Deadlines } from "./deadlines.ts";
import type { ProxyError } from "./errors.ts";
import { Forwarder, type Target } from "./forward.ts";
import type { ClientConnection } from "./http1/client_connection.ts";
import type { ServerConnection } from "./http1/server_connection.ts";
import type { Limits } from "./limits.ts";
import { Listener, type ListenerContext } from "./listener.ts";
import type { Client } from "./message.ts";
import { answerTo } from "./respond.ts";
import { compileTable, type RouteTable } from "./router/table.ts";
import { DnsEndpoints } from "./upstream/dns.ts";
import { EndpointRegistry } from "./upstream/endpoint.ts";
import { type AddressSource, Upstream } from "./upstream/upstream.ts";

export interface ProxyServerOptions {
  readonly limits: Limits;
  readonly trustedProxies: CidrList;
  readonly log: Logger;
}

export interface DrainOptions {
  /** Goes on accepting for this long (ms), until load balancers have noticed. */
  readonly delay: number;
  /** Then exchanges under way get this long (ms) to finish. */
  readonly timeout: number;
}

/** How often a drain looks whether all is done, in ms. */
const DRAIN_POLL = 20;

export class ProxyServer {
  readonly #options: ProxyServerOptions;
  readonly #deadlines = new Deadlines();
  readonly #endpoints: EndpointRegistry<ClientConnection>;
  readonly #context: ListenerContext;
  readonly #listeners: Listener[] = [];
  #table: RouteTable<Target>;
  #upstreams = new Map<string, Upstream<ClientConnection>>();
  #names = new Map<string, AddressSource>();
  #draining = false;

  constructor(options: ProxyServerOptions) {
    const { limits, log, trustedProxies } = options;
    this.#options = options;
    this.#endpoints = new EndpointRegistry(
      limits.upstreamIdleConnections,
      limits.upstreamConnectionAge,
    );
    this.#table = compileTable<Target>(NOTHING, () => MISSING);
    const shared = { limits, buffers: createBuffers(), deadlines: this.#deadlines, trustedProxies };
    const forwarder = new Forwarder({ ...shared, log, table: () => this.#table });
    this.#context = {
      ...shared,
      handler: forwarder.handle,
      answer: answerTo,
      isDraining: () => this.#draining,
      admit: () => this.connectionCount < limits.connections,
      onError: (error: ProxyError, client: Client) => {
        log.debug("Connection failed", {
          code: error.code,
          detail: error.message,
          client: client.address,
        });
      },
    };
  }

  /** Connections from clients. */
  get connectionCount(): number {
    let count = 0;
    for (const listener of this.#listeners) count += listener.connections.size;
    return count;
  }

  /** Idle connections to endpoints. */
  get idleUpstreamCount(): number {
    return this.#endpoints.idleCount;
  }

  /**
   * Listens for HTTP; the address with the port that was chosen for 0. Throws what `Deno.listen`
   * throws.
   */
  listen(address: { hostname: string; port: number }): { hostname: string; port: number } {
    const listener = new Listener(address.hostname, address.port, this.#context);
    this.#listeners.push(listener);
    return listener.address;
  }

  /** Puts a snapshot in force. Requests from now on see it; none is dropped. */
  apply(snapshot: Snapshot): void {
    const names = new Map<string, AddressSource>();
    const upstreams = new Map<string, Upstream<ClientConnection>>();
    for (const { id, addresses } of snapshot.upstreams) {
      let listed: readonly Endpoint[] | AddressSource;
      if (addresses.kind === "dns") {
        const key = `${addresses.name} ${addresses.port}`;
        listed = names.get(key) ?? this.#names.get(key) ??
          new DnsEndpoints(addresses.name, addresses.port);
        names.set(key, listed);
      } else {
        listed = addresses.endpoints;
      }
      upstreams.set(id, new Upstream(id, listed, this.#endpoints, this.#upstreams.get(id)));
    }
    const table = compileTable<Target>(snapshot, (action) => bind(action, upstreams));
    const before = this.#upstreams;
    const namesBefore = this.#names;
    this.#table = table;
    this.#upstreams = upstreams;
    this.#names = names;
    for (const upstream of before.values()) upstream.close();
    for (const [key, source] of namesBefore) if (!names.has(key)) source.close();
  }

  /**
   * Ends without dropping anything: after `delay` accepts no more, closes idle connections, lets
   * exchanges finish with `Connection: close`, and cuts what is left after `timeout`.
   */
  async drain({ delay, timeout }: DrainOptions): Promise<void> {
    if (delay > 0) await new Promise((resume) => setTimeout(resume, delay));
    this.#draining = true;
    for (const listener of this.#listeners) listener.close();
    for (const connection of this.#connections()) connection.drain();
    const end = performance.now() + timeout;
    while (this.connectionCount > 0 && performance.now() < end) {
      await new Promise((resume) => setTimeout(resume, DRAIN_POLL));
    }
    if (this.connectionCount > 0) {
      this.#options.log.warn("Drain ended before all exchanges", { cut: this.connectionCount });
    }
    this.close();
  }

  /** Ends at once. */
  close(): void {
    this.#draining = true;
    for (const listener of this.#listeners) listener.close();
    for (const connection of this.#connections()) connection.close();
    for (const upstream of this.#upstreams.values()) upstream.close();
    for (const source of this.#names.values()) source.close();
    this.#upstreams.clear();
    this.#names.clear();
  }

  #connections(): ServerConnection[] {
    return this.#listeners.flatMap((listener) => [...listener.connections]);
  }
}

const MISSING: Target = { kind: "answer", code: "no_route", reason: "" };

/** In force before the first snapshot: nothing has a route. */
const NOTHING: Snapshot = {
  format: 1,
  version: { epoch: "", seen: {} },
  routes: [],
  defaultAction: null,
  upstreams: [],
  certificates: [],
  defaultCertificate: null,
};

function bind(action: Action, upstreams: ReadonlyMap<string, Upstream<ClientConnection>>): Target {
  if (action.kind === "answer") {
    const code = action.status === 404
      ? "no_route"
      : action.status === 503
      ? "no_endpoint"
      : "route_broken";
    return { kind: "answer", code, reason: action.reason };
  }
  const upstream = upstreams.get(action.upstream);
  return upstream === undefined
    ? { kind: "answer", code: "route_broken", reason: `no upstream ${action.upstream}` }
    : { kind: "forward", upstream };
}
