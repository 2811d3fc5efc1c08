/**
 * The running proxy. In: addresses to listen on and snapshots. Out: traffic. Owns the table in force
 * and everything that outlives it: endpoints with their pools, turns, and connections.
 *
 * A new snapshot is compiled beside the old one and takes over by one reference swap; exchanges
 * under way keep the table with which they began.
 */
import { formatAddress } from "../shared/net/address.ts";
import { newLoopMark } from "../shared/loop_mark_generator.ts";
import type { Snapshot } from "../shared/snapshot/types.ts";
import { Admission } from "./listen/admission.ts";
import { BodyCounts } from "./forward/body_counts.ts";
import { createBuffers } from "./io/buffer_pool.ts";
import { ConnectionCounts } from "./listen/connection_counts.ts";
import { Deadlines } from "./io/deadlines.ts";
import { Descriptors, isExhaustion } from "./io/descriptors.ts";
import { ProxyError } from "./errors.ts";
import { CredentialStore } from "./filters/passwords/credential_store.ts";
import { PasswordQueue } from "./filters/passwords/password_queue.ts";
import { Forwarder } from "./forward/forwarder.ts";
import { GrpcDeadlines } from "./grpc/deadline.ts";
import { HandshakeFailures } from "./listen/handshake_failures.ts";
import { Http1ServerConnection } from "./http1/server_connection.ts";
import { Http2ServerConnection } from "./http2/server_connection.ts";
import type { Http2ServerContext } from "./http2/server_context.ts";
import type { CertificateEntry, ServerCertificate } from "./certificates/store.ts";
import { ActiveRoutes } from "./route/active_routes.ts";
import { Listener, type Peer } from "./listen/listener.ts";
import { LoopMark } from "./http/loop_mark.ts";
import type { Client } from "./http/message.ts";
import { TrustedProxies } from "./http/trusted_proxies.ts";
import { memoryInUse, Overload } from "./listen/overload.ts";
import { SelfProbes } from "./listen/self_probes.ts";
import { filteredReply } from "./forward/local_reply.ts";
import { subrequestServices } from "./forward/subrequest.ts";
import type { DownstreamConnection } from "./http/downstream.ts";
import type { DrainOptions, ProxyServerOptions } from "./server_options.ts";
import { type SnapshotDelta, SnapshotDiffer } from "./config/diff.ts";
import { TlsListener } from "./listen/tls_listener.ts";
import type { Metrics } from "./telemetry/metrics.ts";
import { Telemetry } from "./telemetry/telemetry.ts";
import { closeQuietly, type Transport } from "./io/transport.ts";
import { Tunnels } from "./forward/tunnel.ts";
import { EndpointRegistry } from "./upstream/endpoint.ts";
import { PendingRequests } from "./upstream/pending_requests.ts";
import { UpstreamNetworks } from "./upstream/networks.ts";
import type { HttpEndpoints } from "./route/route.ts";

export type { DrainOptions, ProxyServerOptions, ServerSettings } from "./server_options.ts";

interface Address {
  readonly hostname: string;
  readonly port: number;
}

/**
 * How long (ms) a draining connection may be idle: a client whose next request crosses with its end
 * gets no answer. Less where all of the drain is short.
 */
const DRAIN_GRACE = 2_000;

/** How often a drain looks whether all is done, in ms. */
const DRAIN_POLL = 20;

/** A drain looks so many times at most, `DRAIN_POLL` apart, whether more is accepted. */
const QUEUE_LOOKS = 16;

/** After so many looks in a row without a new connection nothing waits to be accepted. */
const QUIET_LOOKS = 2;

/** So many handshakes may be under way while memory is too short for requests. */
const HANDSHAKES_SHORT_OF_MEMORY = 16;

/** At the end of a drain, what is told of it has this long (ms) to go. */
const FAREWELL = 1_000;

export class ProxyServer {
  readonly #options: ProxyServerOptions;
  readonly #deadlines = new Deadlines();
  readonly #endpoints: HttpEndpoints;
  readonly #configuration: ActiveRoutes;
  readonly #networks: UpstreamNetworks;
  readonly #trusted: TrustedProxies;
  readonly #metrics: Metrics;
  readonly #differ = new SnapshotDiffer();
  readonly #context: Http2ServerContext;
  readonly #listeners: (Listener | TlsListener)[] = [];
  readonly #connections = new Set<DownstreamConnection>();
  readonly #descriptors = new Descriptors();
  readonly #admission: Admission;
  readonly #overload: Overload;
  readonly #tunnels: Tunnels;
  readonly #holds: PendingRequests;
  readonly #ownCalls: SelfProbes;
  readonly #bodies: BodyCounts;
  readonly #handshakeFailures: HandshakeFailures;
  /** For one that nobody else verifies passwords for. */
  readonly #passwords = new PasswordQueue();
  #served = 0;
  #draining = false;
  /** How long (ms) draining connections may be idle; 0 before. */
  #grace = 0;
  #httpsPort: number | null = null;

  constructor(options: ProxyServerOptions) {
    const { limits, log } = options;
    this.#trusted = new TrustedProxies(options.trustedProxies);
    this.#options = options;
    this.#ownCalls = options.ownCalls ?? new SelfProbes();
    this.#endpoints = new EndpointRegistry(
      limits.upstreamIdleConnections,
      limits.upstreamConnectionAge,
    );
    this.#networks = new UpstreamNetworks({
      networks: options.upstreamNetworks,
      allowLoopback: options.allowLoopbackUpstreams,
    });
    const telemetry = options.telemetry ?? Telemetry.unheard();
    this.#metrics = telemetry.metrics;
    this.#handshakeFailures = new HandshakeFailures(log);
    this.#tunnels = new Tunnels(this.#deadlines);
    this.#holds = new PendingRequests(limits, this.#metrics);
    this.#admission = new Admission({
      limits,
      counts: options.counts ?? new ConnectionCounts(),
      isExempt: (address) => this.#trusted.contains(address),
      connections: this.#connections,
      onShed: (reason) => this.#metrics.connectionShed(reason),
    });
    this.#overload = new Overload({
      limit: limits.memoryBytes,
      usage: options.memoryInUse ?? memoryInUse,
      relieve: () => this.#admission.shed(Infinity),
      log,
    });
    this.#overload.start();
    const loopMark = new LoopMark(options.loopMark ?? newLoopMark());
    const filterServices = subrequestServices({
      namesHost: (host, listener) => this.#configuration.table.namesHost(host, listener),
      upstream: (id) => this.#configuration.upstream(id),
      routeOf: ({ record }) => this.#metrics.idOf(record.counters),
      route: (exchange, isAllowed) => forwarder.route(exchange, isAllowed),
      forward: (exchange, upstream) => forwarder.forward(exchange, upstream),
    });
    this.#configuration = new ActiveRoutes(this.#endpoints, log, this.#metrics, {
      limits,
      clock: this.#deadlines,
      balance: options.balance ?? "round-robin",
      grpcWeb: options.grpcWeb ?? false,
      filterMakers: options.filterMakers,
      credentials: new CredentialStore(options.verifyPassword ?? this.#passwords.verify),
      filterServices,
      loopMark,
    });
    const { bodies = new ConnectionCounts() } = options;
    this.#bodies = new BodyCounts(bodies, limits.bodiesPerAddress);
    const shared = { limits, buffers: createBuffers(), deadlines: this.#deadlines };
    const forwarder = new Forwarder({
      ...shared,
      trustedProxies: this.#trusted,
      bodies: this.#bodies,
      loopMark,
      log,
      telemetry,
      table: this.#configuration.table,
      certificates: this.#configuration.certificates,
      networks: this.#networks,
      tunnels: this.#tunnels,
      grpcDeadlines: new GrpcDeadlines(this.#deadlines),
      holds: this.#holds,
      isOverloaded: () => this.#overload.isCritical,
      httpsPort: () => this.#httpsPort,
      redirects: options.sslRedirect,
      onExhausted: this.#exhausted,
    });
    this.#context = {
      ...shared,
      h2c: options.h2c ?? true,
      handler: forwarder.handle,
      localReply: filteredReply,
      isDraining: () => this.#draining || this.#overload.isHigh,
      onExchangeEnd: (exchange) => telemetry.exchangeEnded(exchange),
      onEnd: (reason) => this.#metrics.http2Ended(reason),
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
    return this.#connections.size;
  }

  /** Idle connections to endpoints. */
  get idleUpstreamCount(): number {
    return this.#endpoints.idleCount;
  }

  /** Requests that endpoints are being asked now. */
  get upstreamRequestCount(): number {
    return this.#endpoints.requestCount;
  }

  /** Request bodies that count against `bodiesPerAddress`. */
  get bodyCount(): number {
    return this.#bodies.total;
  }

  /** Requests that wait for an upstream to have an endpoint. */
  get heldCount(): number {
    return this.#holds.size;
  }

  /**
   * Listens for HTTP; the address with the port that was chosen for 0. Throws what `Deno.listen`
   * throws.
   */
  listen({ hostname, port }: Address): Address {
    const listener = new Listener({
      hostname,
      port,
      reusePort: this.#options.reusePort ?? false,
      admit: this.#admit,
      onConnection: (transport, peer) => this.#serve(transport, peer, false, null, null),
      onAcceptError: (error) => {
        this.#metrics.acceptFailed();
        if (isExhaustion(error)) this.#exhausted();
        else this.#options.log.warn("Accept failed", { error: String(error) });
      },
    });
    this.#listeners.push(listener);
    this.protect(listener.address);
    return listener.address;
  }

  /** Has so many sockets on each port, as far as the system gives them. */
  async setListeners(count: number): Promise<void> {
    try {
      for (const listener of this.#listeners) await listener.widen(count);
    } catch (error) {
      this.#options.log.warn("Cannot open more listening sockets", { error: String(error) });
    }
  }

  /** No endpoint at this address is dialled: it is this process's own. */
  protect(address: Address): void {
    this.#networks.protect(address);
  }

  /** Listens for HTTPS. Rejects with what the system says. */
  async listenTls({ hostname, port }: Address): Promise<Address> {
    const { limits, reusePort } = this.#options;
    let address: Address = { hostname, port };
    const listener = new TlsListener({
      certificateFor: (name) => this.#certificateFor(name),
      protocols: (this.#options.http2 ?? true) ? ["h2", "http/1.1"] : ["http/1.1"],
      handshakeTimeout: limits.handshakeTimeout,
      handshakes: limits.handshakes,
      ownCalls: this.#ownCalls,
      admit: this.#admitTls,
      onConnection: (transport, peer, shown, protocol) =>
        this.#serve(transport, peer, true, shown, protocol),
      onHandshakeError: (client, reason) => {
        this.#metrics.handshakeFailed();
        this.#handshakeFailures.add(client, reason);
      },
      onDeaf: (reason) => this.#deaf(address, reason),
      onExhausted: this.#exhausted,
    });
    this.#listeners.push(listener);
    address = await listener.listen(hostname, port, reusePort ?? false);
    this.protect(address);
    this.#httpsPort ??= this.#options.sslRedirectPort || address.port;
    return address;
  }

  /**
   * Puts a snapshot in force, with its certificates as `certificates/loader.ts` has read them.
   * Requests and handshakes from now on see it; nothing is dropped.
   */
  apply(snapshot: Snapshot, certificates: readonly ServerCertificate[] = []): void {
    this.applyDelta(this.#differ.diff(snapshot, certificates));
  }

  /** Puts what has changed in force; the others stay as they are. */
  applyDelta(delta: SnapshotDelta): void {
    this.#trusted.replace(delta.trustedProxies, this.#connections);
    this.#configuration.apply(delta);
  }

  /** Endpoints that are meant for this zone are asked, from now on; null for no zone. */
  setZone(zone: string | null): void {
    this.#configuration.setZone(zone);
  }

  /**
   * Ends without dropping anything: goes on accepting for `delay`, in whose second half connections
   * of before hear `Connection: close` with their next answer. Then accepts no more, closes idle
   * connections, and lets exchanges finish with `Connection: close`. After `timeout` WebSockets are
   * told that this is the end, requests that wait for an endpoint get 503, and what is left is cut.
   */
  async drain({ delay, timeout }: DrainOptions): Promise<void> {
    if (delay > 0) await this.#lastCalls(delay);
    this.#draining = true;
    if (delay > 0) await this.#emptyQueues();
    await Promise.all(this.#listeners.map((listener) => listener.close()));
    // Having stood still, it would count from long ago.
    this.#deadlines.refresh();
    this.#grace = Math.max(1, Math.min(DRAIN_GRACE, timeout / 2));
    for (const connection of [...this.#connections]) connection.drain(this.#grace);
    await this.#gone(timeout);
    if (this.connectionCount > 0) {
      const cut = this.connectionCount;
      this.#options.log.warn("Drain timed out with exchanges in progress", {
        cut,
        tunnels: this.#tunnels.size,
      });
      const farewells = this.#tunnels.size + this.#holds.size;
      this.#tunnels.leave();
      this.#holds.release();
      if (farewells > 0) await this.#gone(FAREWELL);
    }
    this.close();
    // What has been cut says so to metrics and log before these end.
    await this.#gone(FAREWELL);
  }

  /**
   * Has most clients leave before anything closes. Only connections of the first half are told: where
   * load balancers have not noticed yet clients come again, and a connection a request would be dear.
   */
  async #lastCalls(delay: number): Promise<void> {
    await sleep(delay / 2);
    for (const connection of [...this.#connections]) connection.retire();
    await sleep(delay / 2);
  }

  /** Waits until nobody is connected any more, for at most `timeout` ms. */
  async #gone(timeout: number): Promise<void> {
    const end = performance.now() + timeout;
    while (this.connectionCount > 0 && performance.now() < end) await sleep(DRAIN_POLL);
  }

  /**
   * Closing a socket resets the connections that wait to be accepted: they are taken in before. Looks
   * are counted, not time: a process that has stood still for longer than all of its patience has not
   * looked at its queues once, and Deno accepts 128 connections between two timers.
   */
  async #emptyQueues(): Promise<void> {
    let quiet = 0;
    for (let looks = 0; looks < QUEUE_LOOKS && quiet < QUIET_LOOKS; looks++) {
      const before = this.#served;
      await sleep(DRAIN_POLL);
      quiet = this.#served === before ? quiet + 1 : 0;
    }
  }

  /** Ends at once. */
  close(): void {
    this.#draining = true;
    for (const listener of this.#listeners) listener.close();
    for (const connection of [...this.#connections]) connection.close();
    this.#holds.release();
    this.#overload.close();
    this.#handshakeFailures.close();
    this.#configuration.close();
    this.#passwords.close();
  }

  #admit = (address: string): boolean => {
    const pending = this.#handshakeCount;
    if (!this.#admission.hasRoom(address, pending)) return false;
    const count = this.connectionCount + pending;
    const admitted = this.#descriptors.admits(count, performance.now()) ||
      this.#admission.makeRoom(1) > 0;
    if (!admitted) this.#metrics.connectionShed("connection_limit");
    return admitted;
  };

  /** A handshake costs more than the 503 that it leads to: short of memory there are only a few. */
  #admitTls = (address: string): boolean => {
    const isFree = !this.#overload.isCritical || this.#handshakeCount < HANDSHAKES_SHORT_OF_MEMORY;
    if (isFree) return this.#admit(address);
    this.#metrics.connectionShed("overload");
    return false;
  };

  /** No descriptor is left: idle connections go, so that those who are being served still can be. */
  #exhausted = (): void => {
    const count = this.connectionCount + this.#handshakeCount;
    let excess = this.#descriptors.exhausted(count, performance.now());
    if (excess === null) return;
    this.#options.log.warn("Out of file descriptors", {
      connections: count,
      remedy: "raise the limit (ulimit -n), or lower --connection-limit to less than half of it",
    });
    this.#endpoints.closeIdle();
    excess -= this.#admission.shed(excess, 0);
    for (const listener of this.#listeners) {
      if (!(listener instanceof TlsListener)) continue;
      const { handshakeCount } = listener;
      listener.shed(excess);
      excess -= Math.min(excess, handshakeCount);
    }
  };

  get #handshakeCount(): number {
    let count = 0;
    for (const listener of this.#listeners) {
      if (listener instanceof TlsListener) count += listener.handshakeCount;
    }
    return count;
  }

  #deaf(address: Address, reason: string | null): void {
    const { log, onObstacle } = this.#options;
    const listener = `listener ${formatAddress(address)}`;
    onObstacle?.(listener, reason);
    if (reason === null) log.info("Listening again", { https: formatAddress(address) });
    else {log.error("Listener stopped accepting, reopening it", {
        https: formatAddress(address),
        reason,
      });}
  }

  /** @param protocol that client and listener have agreed on by ALPN; null where they have not. */
  #serve(
    transport: Transport,
    peer: Peer,
    secure: boolean,
    certificate: Client["certificate"],
    protocol: string | null,
  ): void {
    this.#served++;
    const trusted = this.#trusted.contains(peer.address);
    if (!this.#admission.enter(peer.address, trusted)) return closeQuietly(transport);
    const client: Client = {
      ...peer,
      listener: secure ? "https" : "http",
      secure,
      certificate,
      ...{ trusted, isExempt: trusted },
    };
    this.#metrics.connectionOpened();
    if (protocol === "h2") this.#speakHttp2(transport, client, null);
    else this.#speakHttp1(transport, client);
  }

  /** Serves a connection, in another version where its client begins with that. */
  #speakHttp1(transport: Transport, client: Client): void {
    const connection = new Http1ServerConnection(transport, client, this.#context);
    this.#connections.add(connection);
    // Its handshake was under way.
    if (this.#grace > 0) connection.drain(this.#grace);
    // One function a connection, and no chain of promises: most are idle, and there may be many.
    connection.serve().then(() => {
      this.#connections.delete(connection);
      if (connection.preface === null) this.#left(client);
      else this.#speakHttp2(transport, client, connection.preface);
    });
  }

  /** @param first what has been read of it already, from the preface on. */
  #speakHttp2(transport: Transport, client: Client, first: Uint8Array | null): void {
    const connection = new Http2ServerConnection(transport, client, this.#context, first);
    this.#connections.add(connection);
    connection.serve().finally(() => {
      this.#connections.delete(connection);
      this.#left(client);
    }).catch((error) => {
      this.#context.onError(new ProxyError("internal", String(error)), client);
    });
  }

  #left({ address, isExempt }: Client): void {
    this.#admission.leave(address, isExempt);
    this.#metrics.connectionClosed();
  }

  /** Strangers choose the name: what goes wrong with its certificate is theirs alone. */
  #certificateFor(name: string): CertificateEntry | null {
    try {
      const entry = this.#configuration.certificates.find(name);
      // Made now, where what it throws is caught.
      return entry?.context === undefined ? null : entry;
    } catch (error) {
      this.#options.log.error("Certificate cannot be used", { name, error: String(error) });
      return null;
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
