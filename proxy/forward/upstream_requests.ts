/**
 * Requests to endpoints, whatever they speak. In: an endpoint, and the exchange that asks it. Out: an
 * `UpstreamExchange`: an HTTP/1.1 connection of its own, which goes back to the pool once it is done,
 * or a stream of an HTTP/2 connection that is shared.
 */
import type { Certificates } from "../certificates/store.ts";
import { ProxyError } from "../errors.ts";
import { Http1ClientConnection, type Http1ClientContext } from "../http1/client_connection.ts";
import { Http2ClientConnection } from "../http2/client_connection.ts";
import type { ClientStream } from "../http2/client_stream.ts";
import type { Exchange, RequestHead, ResponseHead } from "../http/message.ts";
import { Timeout } from "../io/timeout.ts";
import { closeQuietly } from "../io/transport.ts";
import type { HttpEndpoint } from "../route/route.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { connect, type Connected, speaksNone } from "../upstream/connect.ts";
import type { Protocol } from "../upstream/endpoint.ts";
import type { UpstreamNetworks } from "../upstream/networks.ts";

/** A request to an endpoint, by what it speaks: `protocol` tells them apart. */
export type HttpCall = Http1ClientConnection | ClientStream;

export interface UpstreamRequestsContext extends Http1ClientContext {
  readonly certificates: Certificates;
  /** Where endpoints may be. */
  readonly networks: UpstreamNetworks;
  /** The system has no descriptor left. */
  readonly onExhausted: () => void;
}

/** What is offered by ALPN, the best first. */
const OFFERS: Readonly<Record<Protocol, readonly string[]>> = {
  http: [],
  https: ["h2", "http/1.1"],
  h2c: [],
  h2: ["h2"],
};
const HTTP1_ONLY: readonly string[] = ["http/1.1"];

/** A wait that nobody ends early. */
const NEVER = new AbortController().signal;

/**
 * Backends are known to send a body where none may be. It closes an idle connection, but on one that
 * is used again at once it would pass for the next answer: so that waits for so long, in ms.
 */
const DOUBT = 10;

export class UpstreamRequests {
  readonly #context: UpstreamRequestsContext;
  readonly #metrics: Metrics;

  constructor(context: UpstreamRequestsContext, metrics: Metrics) {
    this.#context = context;
    this.#metrics = metrics;
  }

  /**
   * What can begin at once, or null, and then `open` is to be asked. `isAgain` where a connection
   * that had been idle has failed the request already.
   */
  take(
    endpoint: HttpEndpoint,
    { request }: Exchange,
    isAgain: boolean,
  ): HttpCall | null {
    const { now } = this.#context.deadlines;
    let call: HttpCall | null = null;
    if (endpoint.sharing === true) {
      const stream = endpoint.shared.take(now);
      if (stream === null) return null;
      if (endpoint.shared.isTight(now)) {
        const { connectTimeout } = this.#context.limits;
        endpoint.shared.prepare(() => this.#openShared(endpoint, connectTimeout), now);
      }
      if (takes(stream, request)) call = stream;
      else {
        stream.abort(new ProxyError("client_gone"));
        if (endpoint.protocol === "https" && !isAgain) call = endpoint.pool.take(now);
      }
    } else if (!isAgain) call = endpoint.pool.take(now);
    if (call !== null) this.#metrics.upstreamReused();
    return call;
  }

  /**
   * What can begin once there is a connection, within `timeout` (ms, 0 for any). Rejects with a
   * ProxyError, also when aborted.
   */
  async open(
    endpoint: HttpEndpoint,
    exchange: Exchange,
    timeout: number,
  ): Promise<HttpCall> {
    if (endpoint.sharing !== false) {
      const stream = await this.#waitForStream(endpoint, exchange, timeout);
      if (stream !== null) {
        if (takes(stream, exchange.request)) {
          if (stream.connectionUse !== "new") this.#metrics.upstreamReused();
          return stream;
        }
        stream.abort(new ProxyError("client_gone"));
        return this.#openTunnel(endpoint, exchange, timeout);
      }
      // It has chosen HTTP/1.1, for one of those who waited.
      const connection = endpoint.pool.take(this.#context.deadlines.now);
      if (connection !== null) return connection;
    }
    return this.#openOwn(endpoint, exchange, offersTo(endpoint), timeout);
  }

  /**
   * Ends one whose response has been handed on as a whole. `keeps` where its connection may serve
   * other requests.
   */
  release(
    endpoint: HttpEndpoint,
    call: HttpCall,
    request: RequestHead,
    keeps: boolean,
  ): void {
    if (call.protocol === "h2") return call.release();
    if (!call.finish()) return;
    if (!keeps) return call.close();
    if (hasNoBody(request, call.response)) this.#giveLater(endpoint, call);
    else endpoint.pool.give(call, this.#context.deadlines.now);
  }

  /** Apart from `release`, which would make a scope for the function of each request. */
  #giveLater(endpoint: HttpEndpoint, call: Http1ClientConnection): void {
    setTimeout(() => {
      if (!call.isClosed) endpoint.pool.give(call, this.#context.deadlines.now);
    }, DOUBT);
  }

  /** A stream of a shared connection; null where the endpoint has turned out to speak HTTP/1.1. */
  async #waitForStream(
    endpoint: HttpEndpoint,
    exchange: Exchange,
    timeout: number,
  ): Promise<ClientStream | null> {
    const waiting = endpoint.shared.wait(() => this.#openShared(endpoint, timeout));
    const stop = (reason: ProxyError) => waiting.cancel(reason);
    exchange.cancellation.register(stop);
    // Opening has a limit of its own; this is for connections that are all full, and stay so.
    const timer = new Timeout(2 * timeout, () => {
      const why = `no stream to ${endpoint.address}:${endpoint.port} was free in time`;
      waiting.cancel(new ProxyError("connect_failed", why));
    });
    try {
      return await waiting.promise;
    } finally {
      timer.cancel();
      exchange.cancellation.unregister(stop);
    }
  }

  /** Opens a connection for many; null where it is one of HTTP/1.1, which is in the pool then. */
  async #openShared(
    endpoint: HttpEndpoint,
    timeout: number,
  ): Promise<Http2ClientConnection | null> {
    const offers = offersTo(endpoint);
    const { transport, protocol } = await this.#dial(endpoint, NEVER, offers, timeout);
    if (endpoint.protocol === "https" && protocol !== "h2") {
      endpoint.sharing = false;
      const connection = this.#adopt(endpoint, transport);
      connection.rest();
      endpoint.pool.give(connection, this.#context.deadlines.now);
      return null;
    }
    return await this.#share(endpoint, transport, timeout);
  }

  /** Waits for a new connection's SETTINGS: before them nobody knows how many requests it takes. */
  async #share(
    endpoint: HttpEndpoint,
    transport: Connected["transport"],
    timeout: number,
  ): Promise<Http2ClientConnection> {
    const where = `${endpoint.address}:${endpoint.port}`;
    endpoint.sharing = true;
    const connection = new Http2ClientConnection(
      transport,
      endpoint.security !== null,
      this.#context,
    );
    if (endpoint.protocol === "https") {
      const refused = () => {
        endpoint.refusesSharing = true;
        endpoint.sharing = false;
      };
      connection.onRefused = refused;
    }
    const timer = new Timeout(timeout, () => {
      const why = `no SETTINGS from ${where} in ${timeout} ms`;
      connection.close(new ProxyError("connect_failed", why));
    });
    try {
      await connection.ready;
      this.#metrics.upstreamConnected();
    } catch (error) {
      this.#metrics.upstreamConnectFailed();
      throw error;
    } finally {
      timer.cancel();
    }
    if (connection.limit > 0) return connection;
    connection.leave();
    const why = `${where} takes no streams (SETTINGS_MAX_CONCURRENT_STREAMS is 0)`;
    throw new ProxyError("connect_failed", why);
  }

  /** To an endpoint that speaks HTTP/2 and opens no tunnels by it. */
  async #openTunnel(
    endpoint: HttpEndpoint,
    exchange: Exchange,
    timeout: number,
  ): Promise<HttpCall> {
    const { protocol, address, port } = endpoint;
    if (protocol === "https") {
      return await this.#openOwn(endpoint, exchange, HTTP1_ONLY, timeout);
    }
    const { upgrade } = exchange.request;
    const remedy = upgrade === "websocket"
      ? "turn RFC 8441 on there, or ask it by HTTP/1.1 (appProtocol kubernetes.io/ws)"
      : "ask it by HTTP/1.1";
    const why = `${address}:${port} takes no ${upgrade} over HTTP/2; ${remedy}`;
    throw new ProxyError("upstream_refused", why);
  }

  /** A connection of HTTP/1.1 for this exchange; a stream where the endpoint has chosen HTTP/2. */
  async #openOwn(
    endpoint: HttpEndpoint,
    exchange: Exchange,
    offers: readonly string[],
    timeout: number,
  ): Promise<HttpCall> {
    const { cancellation } = exchange;
    if (cancellation.reason !== null) throw cancellation.reason;
    const aborted = new AbortController();
    const abort = () => aborted.abort();
    cancellation.register(abort);
    let connected: Connected;
    try {
      connected = await this.#dial(endpoint, aborted.signal, offers, timeout);
    } catch (error) {
      throw cancellation.reason ?? error;
    } finally {
      cancellation.unregister(abort);
    }
    const { transport, protocol } = connected;
    if (protocol !== "h2") return this.#adopt(endpoint, transport);
    // It has changed its mind since the last time.
    const ended = Promise.withResolvers<never>();
    cancellation.register(ended.reject);
    const sharing = this.#share(endpoint, transport, timeout);
    let connection: Http2ClientConnection;
    try {
      connection = await Promise.race([sharing, ended.promise]);
    } catch (error) {
      // Others can use it, once it is there.
      sharing.then((shared) => endpoint.shared.adopt(shared), () => {});
      throw error;
    } finally {
      cancellation.unregister(ended.reject);
    }
    const stream = connection.open();
    endpoint.shared.adopt(connection);
    if (takes(stream, exchange.request)) return stream;
    stream.abort(new ProxyError("client_gone"));
    return this.#openTunnel(endpoint, exchange, timeout);
  }

  #adopt(endpoint: HttpEndpoint, transport: Connected["transport"]): Http1ClientConnection {
    const connection = new Http1ClientConnection(transport, this.#context);
    endpoint.pool.adopt(connection);
    return connection;
  }

  async #dial(
    endpoint: HttpEndpoint,
    abort: AbortSignal,
    protocols: readonly string[],
    timeout: number,
  ): Promise<Connected> {
    const { networks, certificates, onExhausted } = this.#context;
    let connected: Connected;
    try {
      connected = await connect(endpoint, abort, {
        timeout,
        networks,
        onExhausted,
        clientCertificate: (id) => certificates.byId(id)?.pair ?? null,
        protocols,
      });
    } catch (error) {
      if (!abort.aborted) this.#metrics.upstreamConnectFailed();
      throw error;
    }
    // Whether HTTP/2 is spoken, only its SETTINGS show.
    if (connected.protocol === "h2" || endpoint.protocol === "h2c") return connected;
    if (endpoint.protocol !== "h2") {
      this.#metrics.upstreamConnected();
      return connected;
    }
    this.#metrics.upstreamConnectFailed();
    closeQuietly(connected.transport);
    throw speaksNone(endpoint, protocols, `chose ${connected.protocol ?? "nothing"}`);
  }
}

/** What is offered to an endpoint by ALPN. */
function offersTo({ protocol, refusesSharing }: HttpEndpoint): readonly string[] {
  return refusesSharing ? HTTP1_ONLY : OFFERS[protocol];
}

/** Whether what `request` asks for can be had by a stream: of tunnels those for WebSockets alone. */
function takes(stream: ClientStream, { upgrade }: RequestHead): boolean {
  return upgrade === "" || (upgrade === "websocket" && stream.takesTunnels);
}

/** RFC 9112 §6.3: whatever such a response says of a body, none follows. */
function hasNoBody({ method }: RequestHead, { status }: ResponseHead): boolean {
  return method === "HEAD" || status === 204 || status === 304;
}
