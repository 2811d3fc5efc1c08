/**
 * The life of a request: match → pick → acquire → send → respond. In: an exchange of any version.
 * Out: its answer. The only place that joins router, upstreams and connections.
 */
import { formatAddress } from "../shared/address.ts";
import type { CidrList } from "../shared/cidr.ts";
import type { Logger } from "../shared/log.ts";
import type { Certificates } from "./certificates.ts";
import type { Deadlines } from "./deadlines.ts";
import { isExhaustion } from "./descriptors.ts";
import { asProxyError, type ErrorCode, ProxyError } from "./errors.ts";
import { prepareRequest, prepareResponse, requestIdOf } from "./headers.ts";
import { ClientConnection, type ClientConnectionContext } from "./http1/client_connection.ts";
import type { Limits } from "./limits.ts";
import { httpsRedirect } from "./filters/https_redirect.ts";
import { maxForwards } from "./filters/max_forwards.ts";
import {
  type Body,
  type Exchange,
  NO_BODY,
  type RequestHead,
  type ResponseHead,
} from "./message.ts";
import { answerTo } from "./respond.ts";
import type { RouteTable } from "./router/table.ts";
import type { RouteCounters } from "./telemetry/metrics.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { Tunnels } from "./tunnel.ts";
import type { Transport } from "./transport.ts";
import { connect } from "./upstream/connect.ts";
import type { Failing } from "./upstream/ejection.ts";
import type { Endpoint } from "./upstream/endpoint.ts";
import type { Holds } from "./upstream/hold.ts";
import type { UpstreamNetworks } from "./upstream/networks.ts";
import type { Upstream } from "./upstream/upstream.ts";

/** What a route means here. */
export type Target =
  & (
    | { readonly kind: "forward"; readonly upstream: Upstream<ClientConnection> }
    | { readonly kind: "answer"; readonly code: ErrorCode; readonly reason: string }
  )
  & { readonly route: RouteCounters };

export interface ForwarderContext extends ClientConnectionContext {
  readonly limits: Limits;
  readonly deadlines: Deadlines;
  readonly trustedProxies: CidrList;
  readonly log: Logger;
  readonly telemetry: Telemetry;
  readonly certificates: Certificates;
  /** Where endpoints may be. */
  readonly networks: UpstreamNetworks;
  readonly tunnels: Tunnels;
  /** Where requests wait for an upstream to have an endpoint. */
  readonly holds: Holds;
  /** True while memory is too short for another request. */
  readonly isOverloaded: () => boolean;
  /** The system has no descriptor left. */
  readonly onExhausted: () => void;
  /** The port of HTTPS that plain requests are sent to; null sends none. */
  readonly redirectPort: () => number | null;
  /** The routes in force; an exchange asks once and keeps what it got. */
  readonly table: RouteTable<Target>;
}

/** RFC 9110 §9.2.2: sending these twice has the effect of once. */
const IDEMPOTENT: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
]);

/**
 * Backends are known to send a body where none may be. It closes an idle connection, but on one that
 * is used again at once it would pass for the next answer: so that waits for so long, in ms.
 */
const DOUBT = 10;

export class Forwarder {
  readonly #context: ForwarderContext;

  constructor(context: ForwarderContext) {
    this.#context = context;
  }

  /** Serves one exchange to its end. Never rejects. */
  readonly handle = (exchange: Exchange): Promise<void> | void => {
    const { request, client } = exchange;
    const isOverloaded = this.#context.isOverloaded();
    // Who is sent to HTTPS only comes back, with a handshake to do.
    const redirect = isOverloaded ? null : this.#redirect(exchange);
    if (redirect !== null) return this.#respond(exchange, redirect, NO_BODY);
    prepareRequest(exchange, this.#context.trustedProxies);
    exchange.record.prepared = true;
    if (isOverloaded) return this.#answer(exchange, new ProxyError("overloaded"));
    if (client.certificate !== null && this.#isMisdirected(request.host, client.certificate)) {
      return this.#answer(exchange, new ProxyError("misdirected"));
    }
    const target = this.#context.table.match(request.host, request.path);
    if (target === null) return this.#answer(exchange, new ProxyError("no_route"));
    exchange.record.route = target.route;
    if (target.kind === "answer") {
      return this.#answer(exchange, new ProxyError(target.code, target.reason));
    }
    const last = maxForwards(exchange.request);
    if (last !== null) return this.#respond(exchange, last, NO_BODY);
    this.#context.telemetry.exchangeBegun(exchange);
    return this.#forward(exchange, target.upstream);
  };

  /** A host that has another certificate than the one shown must be asked on a connection of its own. */
  #isMisdirected(host: string, shown: { covers(host: string): boolean }): boolean {
    return !shown.covers(host) && this.#context.certificates.covering(host) !== null;
  }

  #redirect(exchange: Exchange): ResponseHead | null {
    const { redirectPort, certificates } = this.#context;
    const port = redirectPort();
    if (port === null || exchange.client.secure || certificates.size === 0) return null;
    const hasCertificate = (host: string) => certificates.covering(host) !== null;
    return httpsRedirect(exchange, { port, hasCertificate });
  }

  async #forward(exchange: Exchange, upstream: Upstream<ClientConnection>): Promise<void> {
    let tried: Endpoint<ClientConnection>[] | null = null;
    let failure: ProxyError | null = null;
    let replayed = false;
    let heldSince = 0;
    const { deadlines, holds, telemetry } = this.#context;
    const { record } = exchange;
    record.upstream = upstream.id;
    upstream.requested();
    for (;;) {
      let endpoint = upstream.pick(tried);
      if (endpoint === null && tried === null && upstream.resolving !== null) {
        await upstream.resolving;
        endpoint = upstream.pick(null);
      }
      if (endpoint === null) {
        // Whatever has failed until now may be tried again, or it would have been answered.
        if (holds.concerns(upstream, isUnreachable(failure))) {
          heldSince ||= performance.now();
          const outcome = await holds.wait(upstream, exchange, heldSince);
          if (outcome === "served") {
            tried = failure = null;
            continue;
          }
          if (exchange.isOver) return this.#lose(exchange, new ProxyError("client_gone"));
          if (upstream.isEmpty) failure = null;
        }
        return this.#answer(exchange, failure ?? new ProxyError("no_endpoint", upstream.id));
      }
      if (failure !== null && !upstream.takeRetry()) {
        telemetry.metrics.upstreamRetryDenied();
        return this.#answer(exchange, failure);
      }
      record.endpoint = endpoint;
      record.tries++;
      if (telemetry.isLogging) record.triedAt = performance.now();
      endpoint.load.requests++;
      try {
        let connection = replayed ? null : endpoint.pool.take(deadlines.now);
        try {
          if (connection === null) {
            connection = await this.#connect(exchange, endpoint);
            if (!upstream.has(endpoint)) {
              // It left meanwhile, and what has not been sent to it yet goes elsewhere.
              connection.close();
              record.tries--;
              continue;
            }
          } else telemetry.metrics.upstreamReused();
        } catch (error) {
          failure = asProxyError(error, "connect_failed");
          (tried ??= []).push(endpoint);
          if (failure.code === "client_gone") return this.#lose(exchange, failure);
          this.#blame(upstream, endpoint, failure);
          if (tried.length >= this.#context.limits.tries) {
            const waits = holds.concerns(upstream, isUnreachable(failure));
            if (!waits || upstream.hasOther(tried)) return this.#answer(exchange, failure);
          }
          continue;
        }
        failure = await this.#exchange(exchange, upstream, endpoint, connection);
        if (failure === null) return;
        if (!wasClosedIdle(connection)) this.#blame(upstream, endpoint, failure);
        if (mayReplay(exchange, connection)) {
          if (wasClosedIdle(connection) && !replayed) {
            replayed = true;
            continue;
          }
          // It may have crashed, by this very request perhaps: one more is asked, not all of them.
          (tried ??= []).push(endpoint);
          if (tried.length < this.#context.limits.tries) continue;
        }
      } finally {
        endpoint.load.requests--;
      }
      return this.#answer(exchange, failure);
    }
  }

  /** Sends the request on `connection` and answers. Null when done, or why there is no answer yet. */
  async #exchange(
    exchange: Exchange,
    upstream: Upstream<ClientConnection>,
    endpoint: Endpoint<ClientConnection>,
    connection: ClientConnection,
  ): Promise<ProxyError | null> {
    const { request } = exchange;
    // While a connection was being made, the client may have gone, and the head with it.
    if (exchange.isOver) {
      connection.close();
      this.#lose(exchange, new ProxyError("client_gone"));
      return null;
    }
    exchange.onAbort = connection.abort;
    try {
      connection.send(request, exchange.added, request.authority, exchange.payload, exchange.body);
      let response = await connection.receive();
      while (response.status < 200 && response.status !== 101) {
        await exchange.interim(response);
        response = await connection.receive();
      }
      if (isGatewayError(response.status)) this.#decline(upstream, endpoint, response.status);
      else upstream.succeeded(endpoint);
      if (this.#context.telemetry.isLogging) exchange.record.answeredAt = performance.now();
      prepareResponse(response, request);
      if (response.status === 101) return await this.#tunnel(exchange, connection, response);
      const answering = exchange.respond(response, connection.body);
      if (answering !== undefined) await answering;
    } catch (thrown) {
      const error = connection.failure ?? asProxyError(thrown, "internal");
      connection.abort(error);
      exchange.onAbort = null;
      if (!exchange.responded) return error;
      this.#lose(exchange, error);
      return null;
    }
    exchange.onAbort = null;
    if (!connection.finish()) return null;
    const give = () => endpoint.pool.give(connection, this.#context.deadlines.now);
    if (!hasNoBody(request, connection.response)) give();
    else {
      setTimeout(() => {
        if (!connection.isClosed) give();
      }, DOUBT);
    }
    return null;
  }

  /** The rest of an upgraded connection's life. */
  async #tunnel(
    exchange: Exchange,
    connection: ClientConnection,
    response: ResponseHead,
  ): Promise<null> {
    const { tunnels, telemetry: { metrics } } = this.#context;
    const isWebSocket = exchange.request.upgrade === "websocket";
    const client = await exchange.upgrade(response);
    metrics.tunnelOpened();
    const error = await tunnels.run(client, connection.duplex(), isWebSocket);
    metrics.tunnelClosed();
    exchange.onAbort = null;
    connection.close();
    if (error !== null) this.#lose(exchange, error);
    return null;
  }

  async #connect(
    exchange: Exchange,
    endpoint: Endpoint<ClientConnection>,
  ): Promise<ClientConnection> {
    const aborted = new AbortController();
    exchange.onAbort = () => aborted.abort();
    const { limits, networks, certificates, onExhausted, telemetry: { metrics } } = this.#context;
    let transport: Transport;
    try {
      transport = await connect(endpoint, aborted.signal, {
        timeout: limits.connectTimeout,
        networks,
        onExhausted,
        clientCertificate: (id) => certificates.byId(id)?.pair ?? null,
      });
    } catch (error) {
      if (!aborted.signal.aborted) metrics.upstreamConnectFailed();
      throw error;
    }
    metrics.upstreamConnected();
    const connection = new ClientConnection(transport, this.#context);
    endpoint.pool.adopt(connection);
    return connection;
  }

  /** Holds a failure against its endpoint, unless it was our own that it could not be asked. */
  #blame(
    upstream: Upstream<ClientConnection>,
    endpoint: Endpoint<ClientConnection>,
    { side, code, cause }: ProxyError,
  ): void {
    if (side !== "upstream" || code === "upstream_refused" || isExhaustion(cause)) return;
    this.#leaveOut(upstream, endpoint, upstream.failed(endpoint), "no_answer", code);
  }

  /** An endpoint has answered that it, or one behind it, cannot serve. */
  #decline(
    upstream: Upstream<ClientConnection>,
    endpoint: Endpoint<ClientConnection>,
    status: number,
  ): void {
    this.#leaveOut(upstream, endpoint, upstream.declined(endpoint), "gateway_error", status);
  }

  /** Tells of an endpoint that is left out from now on for `time` ms; 0 where it is not. */
  #leaveOut(
    upstream: Upstream<ClientConnection>,
    endpoint: Endpoint<ClientConnection>,
    time: number,
    reason: Failing,
    last: ErrorCode | number,
  ): void {
    if (time === 0) return;
    const { log, telemetry: { metrics } } = this.#context;
    metrics.upstreamEjected(reason);
    log.warn("Endpoint left out, as it keeps failing", {
      upstream: upstream.id,
      endpoint: formatAddress({ hostname: endpoint.address, port: endpoint.port }),
      ms: time,
      reason,
      last,
    });
  }

  /** Answers an error, unless the client has gone. */
  async #answer(exchange: Exchange, error: ProxyError): Promise<void> {
    this.#report(exchange, error);
    if (exchange.responded || error.status === 0) return;
    const { head, body } = answerTo(error.code, exchange);
    await this.#respond(exchange, head, body);
  }

  /** Sends an answer of our own. */
  async #respond(exchange: Exchange, head: ResponseHead, body: Body): Promise<void> {
    try {
      await exchange.respond(head, body);
    } catch {
      // The client went away before its answer: its connection is closed and has said so.
    }
  }

  /** An exchange that broke off after its answer had begun, or whose client is gone. */
  #lose(exchange: Exchange, error: ProxyError): void {
    this.#report(exchange, error);
  }

  #report(exchange: Exchange, error: ProxyError): void {
    exchange.record.error = error.code;
    // Either may come a thousand times a second; metrics count them, and the change is logged.
    if (error.code === "no_route" || error.code === "overloaded") return;
    const level = error.side === "downstream" ? "debug" : "warn";
    this.#context.log[level]("Request failed", {
      code: error.code,
      detail: error.message,
      host: exchange.request.host,
      path: exchange.request.path,
      requestId: requestIdOf(exchange),
    });
  }
}

/** Nothing was sent, as nobody was there; not for want of something here. */
function isUnreachable(failure: ProxyError | null): boolean {
  return failure?.code === "connect_failed" && !isExhaustion(failure.cause);
}

/** What a gateway says that cannot reach, or a server that cannot serve (RFC 9110 §15.6.3-5). */
function isGatewayError(status: number): boolean {
  return status >= 502 && status <= 504;
}

/** RFC 9112 §6.3: whatever such a response says of a body, none follows. */
function hasNoBody({ method }: RequestHead, { status }: ResponseHead): boolean {
  return method === "HEAD" || status === 204 || status === 304;
}

/**
 * A reused connection that died before a byte of its answer was most likely closed by the backend
 * as the request left (RFC 9112 §9.3.1).
 */
function wasClosedIdle(connection: ClientConnection): boolean {
  return connection.reused && endedUnanswered(connection);
}

function endedUnanswered({ answered, failure }: ClientConnection): boolean {
  return !answered && failure?.code === "upstream_closed";
}

/** Of a request that died without a byte of answer what may be sent twice, and still can be, is. */
function mayReplay(exchange: Exchange, connection: ClientConnection): boolean {
  return endedUnanswered(connection) && exchange.body.done &&
    (exchange.payload !== null || exchange.request.bodyLength === 0) &&
    IDEMPOTENT.has(exchange.request.method);
}
