/**
 * One attempt to get a response from one endpoint: connect → send → receive → respond. In: an
 * exchange, and the endpoint that was picked for it. Out: a response to the client, or why there is
 * none; what the endpoint did, for its health.
 *
 * The first attempt and all others run here. Nothing in it waits by a promise where it need not: with
 * a connection at hand, and a response that has come whole, a request makes none, and no function. Who
 * waits for the head and for the end is an object that is told.
 */
import { asProxyError, ProxyError } from "../errors.ts";
import type { GrpcDeadlines } from "../grpc/deadline.ts";
import { prepareResponse } from "../http/forwarded_headers.ts";
import type { Exchange, ExchangeWaiter, HeadReceiver } from "../http/message.ts";
import type { RetryState } from "./retry.ts";
import { turnNow } from "../io/turn_clock.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { EndpointHealth } from "./endpoint_health.ts";
import type { ReplayBody } from "./replay_body.ts";
import type { Tunnels } from "./tunnel.ts";
import type { RoutePolicy } from "../route/policy.ts";
import type { HttpEndpoint, HttpUpstream } from "../route/route.ts";
import type { HttpCall, UpstreamRequests } from "./upstream_requests.ts";

/** What all attempts share. */
export interface AttemptContext {
  readonly requests: UpstreamRequests;
  readonly health: EndpointHealth;
  readonly grpcDeadlines: GrpcDeadlines;
  readonly telemetry: Telemetry;
  readonly tunnels: Tunnels;
}

/** Hears once how an attempt went. */
export interface AttemptOwner {
  /** `failure` says how; null for well. */
  ended(attempt: Attempt): void;
  /** By a mistake of ours: in a callback nobody would learn of it, and the exchange would have no end. */
  broke(attempt: Attempt, mistake: unknown): void;
}

export class Attempt implements HeadReceiver {
  readonly endpoint: HttpEndpoint;
  /** The request to the endpoint; null before it is sent. */
  call: HttpCall | null = null;
  /** Why the client has no response by it, or only a part of one; null where all is well. */
  failure: ProxyError | null = null;
  /** The body that is sent, where it is kept for another attempt. */
  replay: ReplayBody | null = null;
  /** It has failed by a response, in place of which the request is sent to another endpoint. */
  isDeclined = false;
  readonly exchange: Exchange;
  readonly upstream: HttpUpstream;
  readonly policy: RoutePolicy;
  /** Null where no response is a reason for another attempt. */
  readonly retries: RetryState | null;
  /** Who waits for the exchange, where this is its first attempt. */
  waiter: ExchangeWaiter | null = null;
  readonly #context: AttemptContext;
  /** Of the final response's head; 0 before it. */
  #status = 0;
  #owner: AttemptOwner | null = null;

  /**
   * From now on it counts among the requests of its endpoint, until it ends.
   */
  constructor(
    context: AttemptContext,
    exchange: Exchange,
    upstream: HttpUpstream,
    endpoint: HttpEndpoint,
    policy: RoutePolicy,
    retries: RetryState | null,
  ) {
    const { record } = exchange;
    this.endpoint = endpoint;
    this.#context = context;
    this.exchange = exchange;
    this.upstream = upstream;
    this.policy = policy;
    this.retries = retries;
    record.endpoint = endpoint;
    record.tries++;
    record.triedAt = turnNow();
    record.answeredAt = 0;
    context.telemetry.attemptBegun(exchange);
    endpoint.load.requests++;
  }

  /** What can be sent at once, for `run`; null where a connection is to be opened. */
  take(avoidsIdle: boolean): HttpCall | null {
    return this.#context.requests.take(this.endpoint, this.exchange, avoidsIdle);
  }

  /**
   * Opens a connection, for `run`. Null where the attempt ends: with a `failure`, or without where
   * its endpoint left meanwhile, so that it counts as no try.
   */
  async open(): Promise<HttpCall | null> {
    const { endpoint } = this;
    let call: HttpCall;
    try {
      call = await this.#context.requests.open(
        endpoint,
        this.exchange,
        this.policy.timeouts.connectTimeout,
      );
    } catch (thrown) {
      this.failure = asProxyError(thrown, "connect_failed");
      this.#countFailure(this.failure);
      endpoint.load.requests--;
      this.#context.telemetry.attemptEnded(this.exchange, 0, this.failure.code);
      return null;
    }
    if (this.upstream.has(endpoint)) return call;
    call.abort(new ProxyError("client_gone"));
    this.exchange.record.tries--;
    endpoint.load.requests--;
    return null;
  }

  /**
   * Sends the request by `call`, and responds with what comes.
   *
   * @param replay the body to send, where it is kept for another attempt; null sends the exchange's.
   */
  run(
    call: HttpCall,
    replay: ReplayBody | null,
    owner: AttemptOwner,
  ): void {
    const { exchange } = this;
    const { request, payload, cancellation } = exchange;
    this.call = call;
    this.replay = replay;
    this.#owner = owner;
    // While a connection was being made, the client may have gone, and the head with it; or its time
    // may have passed.
    if (exchange.isOver || cancellation.reason !== null) {
      return this.#fail(call, cancellation.reason ?? new ProxyError("client_gone"));
    }
    cancellation.register(call.abort);
    exchange.record.sentAt = turnNow();
    try {
      const body = replay === null ? exchange.body : replay.reader();
      call.send(request, exchange.added, request.authority, payload, body, this.policy.timeouts);
    } catch (thrown) {
      return this.received(thrown);
    }
    call.receiveThen(this);
  }

  /** A head has come, or none will. */
  received(error: unknown): void {
    const call = this.call!;
    try {
      if (error !== null) return this.#fail(call, error);
      const { status } = call.response;
      if (this.retries !== null && this.#declines(status)) return this.#decline(call, status);
      this.replay?.forget();
      if (status >= 200) this.#respond(call);
      else {
        const passing = status === 101 ? this.#tunnel(call) : this.#interim(call);
        passing.catch((thrown) => this.#fail(call, thrown)).catch((mistake) => this.#lose(mistake));
      }
    } catch (mistake) {
      this.#lose(mistake);
    }
  }

  #declines(status: number): boolean {
    return this.retries!.declines(status, this.exchange, this.upstream, this);
  }

  #decline(call: HttpCall, status: number): void {
    this.#status = status;
    const { address, port } = this.endpoint;
    this.#answered(status);
    this.isDeclined = true;
    this.#fail(call, new ProxyError("no_endpoint", `${address}:${port} responded with ${status}`));
  }

  /** Responds with the final head that has come, and the body behind it. */
  #respond(call: HttpCall): void {
    let responding: Promise<void> | void;
    try {
      this.#prepare(call);
      responding = this.exchange.respond(call.response, call.body);
    } catch (thrown) {
      return this.#fail(call, thrown);
    }
    if (responding === undefined) this.#responded(call);
    else {
      responding.then(
        () => this.#settle(() => this.#responded(call)),
        (thrown) => this.#settle(() => this.#fail(call, thrown)),
      );
    }
  }

  /** Runs what ends it. In a callback of a promise, nobody else would see what it throws. */
  #settle(end: () => void): void {
    try {
      end();
    } catch (mistake) {
      this.#lose(mistake);
    }
  }

  /** Passes an interim head on, and waits for the next one. */
  async #interim(call: HttpCall): Promise<void> {
    const { exchange } = this;
    await exchange.interim(call.response);
    if (exchange.responded) throw call.failure ?? new ProxyError("client_gone");
    call.receiveThen(this);
  }

  /** The rest of the life of a connection whose both sides have switched protocols. */
  async #tunnel(call: HttpCall): Promise<void> {
    const { exchange } = this;
    const { tunnels, telemetry: { metrics } } = this.#context;
    const isWebSocket = exchange.request.upgrade === "websocket";
    this.#prepare(call);
    const client = await exchange.upgrade(call.response);
    metrics.tunnelOpened();
    const outcome = await tunnels.run(
      client,
      call.duplex(),
      isWebSocket,
      this.policy.timeouts.tunnelIdleTimeout,
    );
    metrics.tunnelClosed();
    // Where the client broke off, all that the tunnel may have seen is that the backend was closed.
    const error = outcome === null ? null : call.failure ?? outcome;
    exchange.cancellation.unregister(call.abort);
    call.abort(error ?? new ProxyError("client_gone"));
    this.#end(error);
  }

  /** The endpoint has responded. */
  #prepare({ response }: HttpCall): void {
    this.#status = response.status;
    this.#answered(response.status);
    prepareResponse(response, this.exchange.request);
  }

  /** Counts the final head. */
  #answered(status: number): void {
    const { record } = this.exchange;
    const { health, telemetry: { metrics } } = this.#context;
    const { upstream } = this;
    health.answered(upstream, this.endpoint, status);
    record.answeredAt = turnNow();
    metrics.upstreamResponded(upstream.counters, status, record.answeredAt - record.sentAt);
  }

  /** An attempt that the client broke off says nothing of its Service. */
  #countFailure({ side }: ProxyError): void {
    if (side !== "upstream") return;
    this.#context.telemetry.metrics.upstreamFailed(this.upstream.counters);
  }

  /** All of the response has been handed on. */
  #responded(call: HttpCall): void {
    const { exchange } = this;
    exchange.cancellation.unregister(call.abort);
    const { upstreamKeepAlive } = this.policy;
    this.#context.requests.release(this.endpoint, call, exchange.request, upstreamKeepAlive);
    this.#end(null);
  }

  #fail(call: HttpCall, thrown: unknown): void {
    const { exchange } = this;
    const error = call.failure ?? asProxyError(thrown, "internal");
    call.abort(error);
    // Whatever is still to come is for the next attempt.
    this.replay?.rewind();
    exchange.cancellation.unregister(call.abort);
    // Servers end a call at its deadline too, grpc-go by RST_STREAM: that is no fault of the endpoint.
    const isLate = error.side === "upstream" && this.#context.grpcDeadlines.hasPassed(exchange);
    const failure = isLate ? new ProxyError("deadline_passed") : error;
    // With a head it has been counted.
    if (exchange.record.answeredAt === 0) this.#countFailure(failure);
    this.#end(failure);
  }

  #end(failure: ProxyError | null): void {
    this.failure = failure;
    this.endpoint.load.requests--;
    const { telemetry } = this.#context;
    if (telemetry.isTracing) {
      telemetry.attemptEnded(this.exchange, this.#status, failure?.code ?? null);
    }
    this.#owner!.ended(this);
  }

  /** By a mistake of ours. */
  #lose(mistake: unknown): void {
    this.endpoint.load.requests--;
    this.#owner!.broke(this, mistake);
  }
}
