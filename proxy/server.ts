/**
 * The running proxy. In: addresses to listen on and snapshots. Out: traffic. Owns the table in force
 * and everything that outlives it: endpoints with their pools, turns, and connections.
 *
 * A new snapshot is compiled beside the old one and takes over by one reference swap; exchanges
 * under way keep the table with which they began.
 */
import { type Address, formatAddress } from "../shared/net/address.ts";
import { newLoopMark } from "../shared/loop_mark_generator.ts";
import type { Snapshot } from "../shared/snapshot/types.ts";
import { Admission } from "./listen/admission.ts";
import { BodyCounts } from "./forward/body_counts.ts";
import { ClientConnections } from "./listen/client_connections.ts";
import { createBuffers } from "./io/buffer_pool.ts";
import { ConnectionCounts } from "./listen/connection_counts.ts";
import { Deadlines } from "./io/deadlines.ts";
import { ProxyError } from "./errors.ts";
import { CredentialStore } from "./filters/passwords/credential_store.ts";
import { PasswordQueue } from "./filters/passwords/password_queue.ts";
import { Forwarder, type ForwarderContext } from "./forward/forwarder.ts";
import { GatewayHandler } from "./forward/gateway_handler.ts";
import { GrpcDeadlines } from "./grpc/deadline.ts";
import { HandshakeFailures } from "./listen/handshake_failures.ts";
import { Http1ServerConnection } from "./http1/server_connection.ts";
import { Http2ServerConnection } from "./http2/server_connection.ts";
import type { Http2ServerContext } from "./http2/server_context.ts";
import type { CertificateEntry, ServerCertificate } from "./certificates/store.ts";
import { ActiveRoutes } from "./route/active_routes.ts";
import { emptyQueues, finished, idleGrace, retireFirstHalf, waitUntil } from "./listen/drain.ts";
import { Listener } from "./listen/listener.ts";
import { ListenerSockets, type ListenerSocketsOptions } from "./listen/listener_sockets.ts";
import type { SocketStates } from "./listen/socket_states.ts";
import { ForwardedFields } from "./http/forwarded_fields.ts";
import { LoopMark } from "./http/loop_mark.ts";
import { Timeout } from "./io/timeout.ts";
import type { Client } from "./http/message.ts";
import { TrustedProxies } from "./http/trusted_proxies.ts";
import { memoryInUse, Overload } from "./listen/overload.ts";
import { SelfProbes } from "./listen/self_probes.ts";
import { Shedding } from "./listen/shedding.ts";
import { filteredReply } from "./forward/local_reply.ts";
import { subrequestServices } from "./forward/subrequest.ts";
import type { DrainOptions, ProxyServerOptions } from "./server_options.ts";
import { hasUsers, type SnapshotDelta, SnapshotDiffer } from "./config/diff.ts";
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
  /** For connections to sockets of Gateways. */
  readonly #gatewayContext: Http2ServerContext;
  readonly #sockets: ListenerSockets;
  readonly #listeners: (Listener | TlsListener)[] = [];
  readonly #connections = new ClientConnections();
  readonly #admission: Admission;
  readonly #overload: Overload;
  readonly #shedding: Shedding;
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
    this.#shedding = new Shedding({
      admission: this.#admission,
      overload: this.#overload,
      connections: this.#connections,
      listeners: () => this.#allListeners(),
      metrics: this.#metrics,
      closeIdleUpstream: () => this.#endpoints.closeIdle(),
      log,
    });
    const loopMark = new LoopMark(options.loopMark ?? newLoopMark());
    const subrequests = subrequestServices({
      namesHost: (host, listener) => this.#configuration.table.namesHost(host, listener),
      upstream: (id) => this.#configuration.upstream(id),
      routeOf: ({ record }) => this.#metrics.routeOf(record),
      route: (exchange, isAllowed) => forwarder.route(exchange, isAllowed),
      forward: (exchange, upstream) => forwarder.forward(exchange, upstream),
    });
    this.#configuration = new ActiveRoutes(this.#endpoints, log, this.#metrics, {
      limits,
      clock: this.#deadlines,
      sweeps: this.#deadlines,
      balance: options.balance ?? "round-robin",
      grpcWeb: options.grpcWeb ?? false,
      filterMakers: options.filterMakers,
      credentials: new CredentialStore(options.verifyPassword ?? this.#passwords.verify),
      filterServices: {
        ...subrequests,
        timeout: (time: number, passed: () => void) => new Timeout(time, passed),
      },
      loopMark,
      isOpenSocket: (socket) => this.#sockets.isOpen(socket),
    });
    const { bodies = new ConnectionCounts() } = options;
    this.#bodies = new BodyCounts(bodies, limits.bodiesPerAddress);
    const shared = { limits, buffers: createBuffers(), deadlines: this.#deadlines };
    const forwarding: ForwarderContext = {
      ...shared,
      trustedProxies: this.#trusted,
      bodies: this.#bodies,
      forwarded: new ForwardedFields(loopMark),
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
      errorPage: options.errorPage ?? null,
      onExhausted: this.#shedding.exhausted,
    };
    const forwarder = new Forwarder(forwarding);
    this.#context = {
      ...shared,
      h2c: options.h2c ?? true,
      handler: forwarder.handle,
      localReply: (code, exchange) => filteredReply(code, exchange, options.errorPage),
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
    const { sockets } = this.#configuration;
    const gateway = new GatewayHandler({ ...forwarding, sockets }, forwarder);
    this.#gatewayContext = { ...this.#context, handler: gateway.handle };
    this.#sockets = this.#newSockets();
  }

  /** Connections from clients. */
  get connectionCount(): number {
    return this.#connections.size;
  }

  /** TLS handshakes under way. */
  get handshakeCount(): number {
    return this.#shedding.handshakeCount;
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
      ...this.#shedding.listenerOptions,
      onConnection: (transport, peer) =>
        this.#serve(transport, { ...peer, listener: "http", secure: false, certificate: null }),
    });
    this.#listeners.push(listener);
    this.protect(listener.address);
    return listener.address;
  }

  #allListeners(): readonly (Listener | TlsListener)[] {
    const { listeners } = this.#sockets;
    return listeners.length === 0 ? this.#listeners : [...this.#listeners, ...listeners];
  }

  /** Has so many sockets on each port, as far as the system gives them. */
  async setListeners(count: number): Promise<void> {
    try {
      for (const listener of this.#listeners) await listener.widen(count);
      await this.#sockets.widen(count);
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
    let address: Address = { hostname, port };
    const listener = new TlsListener({
      ...this.#tlsOptions,
      certificateFor: (name) =>
        this.#usable(name, () => this.#configuration.certificates.find(name)),
      onConnection: (transport, peer, certificate, protocol) =>
        this.#serve(transport, { ...peer, listener: "https", secure: true, certificate }, protocol),
      onDeaf: (reason) => this.#deaf(address, reason),
    });
    this.#listeners.push(listener);
    address = await listener.listen(hostname, port, this.#options.reusePort ?? false);
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
    if (this.#options.verifyPassword === undefined && hasUsers(delta)) this.#passwords.prepare();
    this.#trusted.replace(delta.trustedProxies, this.#connections);
    this.#configuration.apply(delta);
    this.#sockets.replace(delta.listeners);
  }

  /** Opens sockets of Gateways, from now on; settles when that has been tried. */
  openSockets(): Promise<void> {
    return this.#sockets.begin();
  }

  /** Settles when each socket of what is in force is open or cannot be; null where that is so. */
  get socketsSettled(): Promise<void> | null {
    return this.#sockets.settled;
  }

  get sockets(): SocketStates {
    return this.#sockets.states;
  }

  /** Endpoints that are meant for this zone are asked, from now on; null for no zone. */
  setZone(zone: string | null): void {
    this.#configuration.setZone(zone);
  }

  /**
   * Ends without dropping anything: goes on accepting for `delay`, in whose second half connections
   * of before hear `Connection: close` with their next answer. Then accepts no more, closes idle
   * connections, and lets handshakes and exchanges finish with `Connection: close`. After `timeout` WebSockets are
   * told that this is the end, requests that wait for an endpoint get 503, and what is left is cut.
   */
  async drain({ delay, timeout }: DrainOptions): Promise<void> {
    if (delay > 0) await retireFirstHalf(this.#connections, delay);
    this.#draining = true;
    const accepted = () => this.#served + this.#shedding.acceptedForTls;
    if (delay > 0) await emptyQueues(accepted, () => this.handshakeCount);
    const closing = this.#listeners.map((listener) => listener.close());
    await Promise.all([...closing, this.#sockets.close()]);
    // Having stood still, it would count from long ago.
    this.#deadlines.refresh();
    this.#grace = idleGrace(timeout);
    for (const connection of [...this.#connections]) connection.drain(this.#grace);
    const end = performance.now() + timeout;
    // Clients in their handshakes have as long as idle ones have for their next requests.
    await finished(() => this.handshakeCount, this.#grace, timeout);
    this.#shedding.endHandshakes();
    await this.#gone(end - performance.now());
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

  /** Waits until nobody is connected any more, for at most `timeout` ms. */
  #gone(timeout: number): Promise<void> {
    return waitUntil(() => this.connectionCount === 0, timeout);
  }

  /** Ends at once. */
  close(): void {
    this.#draining = true;
    for (const listener of this.#listeners) listener.close();
    this.#sockets.close();
    this.#shedding.endHandshakes();
    for (const connection of [...this.#connections]) connection.close();
    this.#holds.release();
    this.#overload.close();
    this.#handshakeFailures.close();
    this.#configuration.close();
    this.#passwords.close();
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
    peer: Omit<Client, "trusted" | "isExempt">,
    protocol: string | null = null,
    context = this.#context,
  ): void {
    this.#served++;
    const trusted = this.#trusted.contains(peer.address);
    if (!this.#admission.enter(peer.address, trusted)) return closeQuietly(transport);
    const client: Client = { ...peer, trusted, isExempt: trusted };
    this.#metrics.connectionOpened();
    if (protocol === "h2") this.#speakHttp2(transport, client, context, null);
    else this.#speakHttp1(transport, client, context);
  }

  /** Serves a connection, in another version where its client begins with that. */
  #speakHttp1(transport: Transport, client: Client, context: Http2ServerContext): void {
    const connection = new Http1ServerConnection(transport, client, context);
    this.#connections.add(connection);
    // Its handshake was under way.
    if (this.#grace > 0) connection.drain(this.#grace);
    // One function a connection, and no chain of promises: most are idle, and there may be many.
    connection.serve().then(() => {
      if (connection.preface === null) return this.#ended(connection);
      this.#connections.delete(connection);
      this.#speakHttp2(transport, client, context, connection.preface);
    });
  }

  /** @param first what has been read of it already, from the preface on. */
  #speakHttp2(
    transport: Transport,
    client: Client,
    context: Http2ServerContext,
    first: Uint8Array | null,
  ): void {
    const connection = new Http2ServerConnection(transport, client, context, first);
    this.#connections.add(connection);
    connection.serve().then(() => this.#ended(connection), (error) => {
      this.#ended(connection);
      this.#context.onError(new ProxyError("internal", String(error)), client);
    });
  }

  #ended(connection: Http1ServerConnection | Http2ServerConnection): void {
    const { address, isExempt } = connection.client;
    this.#connections.delete(connection);
    this.#admission.leave(address, isExempt);
    this.#metrics.connectionClosed();
  }

  get #tlsOptions(): ListenerSocketsOptions["tls"] {
    const { limits, http2 = true } = this.#options;
    return {
      protocols: http2 ? ["h2", "http/1.1"] : ["http/1.1"],
      handshakeTimeout: limits.handshakeTimeout,
      handshakes: limits.handshakes,
      ownCalls: this.#ownCalls,
      admit: this.#shedding.admitTls,
      onHandshakeError: (client, reason) => {
        this.#metrics.handshakeFailed();
        this.#handshakeFailures.add(client, reason);
      },
      onExhausted: this.#shedding.exhausted,
    };
  }

  #newSockets(): ListenerSockets {
    const { listenRange = null, drainDelay = 0, drainTimeout = 0, log } = this.#options;
    if (listenRange !== null) this.#networks.protectRange(listenRange);
    const { sockets, certificates } = this.#configuration;
    return new ListenerSockets({
      range: listenRange,
      reusePort: this.#options.reusePort ?? false,
      ...{ drainDelay, drainTimeout, log },
      plain: this.#shedding.listenerOptions,
      tls: this.#tlsOptions,
      certificateFor: (socket, name, hello) =>
        this.#usable(name, () => {
          const ids = sockets.find(socket, name)?.certificates ?? [];
          return certificates.preferred(ids, () => hello.signatureSchemes);
        }),
      onConnection: (transport, peer, { socket, serverName, protocol }) => {
        const certificate = serverName === null
          ? null
          : { covers: (host: string) => sockets.isSame(socket, host, serverName) };
        const client = { ...peer, listener: socket, secure: serverName !== null, certificate };
        this.#serve(transport, client, protocol, this.#gatewayContext);
      },
      connections: this.#connections,
      onChange: () => this.#options.onSockets?.(this.#sockets.states),
    });
  }

  /** Strangers choose the name: what goes wrong with its certificate is theirs alone. */
  #usable(name: string, find: () => CertificateEntry | null): CertificateEntry | null {
    try {
      const entry = find();
      // Made now, where what it throws is caught.
      return entry?.context === undefined ? null : entry;
    } catch (error) {
      this.#options.log.error("Certificate cannot be used", { name, error: String(error) });
      return null;
    }
  }
}
