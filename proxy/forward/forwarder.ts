/**
 * The life of a request: match → pick → acquire → send → respond. In: an exchange of any version.
 * Out: its answer. The only place that joins router, filters and upstreams.
 */
import { formatAddress } from "../../shared/net/address.ts";
import type { CidrList } from "../../shared/net/cidr.ts";
import type { Logger } from "../../shared/log.ts";
import type { BodyCounts } from "./body_counts.ts";
import type { Certificates } from "../certificates/store.ts";
import type { Deadlines } from "../io/deadlines.ts";
import { asProxyError, type ErrorCode, ProxyError } from "../errors.ts";
import { EndpointReports } from "./endpoint_health.ts";
import type { GrpcDeadlines } from "../grpc/deadline.ts";
import { prepareRequest, prepareResponse, requestIdOf } from "../http/forwarded_headers.ts";
import type { Limits } from "../http/limits.ts";
import { type LoopMark, MAX_OWN_MARKS } from "../http/loop_mark.ts";
import { grpcWeb } from "../filters/grpc_web.ts";
import { httpsRedirect } from "../filters/https_redirect.ts";
import { maxForwards } from "../filters/max_forwards.ts";
import {
  type Body,
  type Exchange,
  NO_BODY,
  type ResponseHead,
  type UpstreamExchange,
} from "../http/message.ts";
import { ReplayBody } from "./replay_body.ts";
import { answerTo } from "./local_reply.ts";
import { FREE_REFUSALS, isUnreachable, mayReplay, wasClosedIdle, wasRefused } from "./retry.ts";
import { turnNow } from "../io/turn_clock.ts";
import { NO_ROUTE, type RouteTable } from "../router/table.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Tunnels } from "./tunnel.ts";
import type { Holds } from "../upstream/pending_requests.ts";
import {
  type HttpEndpoint,
  type HttpUpstream,
  UpstreamCalls,
  type UpstreamCallsContext,
} from "./upstream_requests.ts";

/** What a route means here. */
export type Target =
  | { readonly kind: "forward"; readonly upstream: HttpUpstream }
  | { readonly kind: "answer"; readonly code: ErrorCode; readonly reason: string };

export interface ForwarderContext extends UpstreamCallsContext {
  readonly limits: Limits;
  readonly deadlines: Deadlines;
  readonly trustedProxies: CidrList;
  /** What `CDN-Loop` says of this proxy, and of all that share its configuration. */
  readonly loopMark: LoopMark;
  readonly bodies: BodyCounts;
  readonly log: Logger;
  readonly telemetry: Telemetry;
  readonly certificates: Certificates;
  readonly tunnels: Tunnels;
  readonly grpcDeadlines: GrpcDeadlines;
  /** Where requests wait for an upstream to have an endpoint. */
  readonly holds: Holds;
  /** True while memory is too short for another request. */
  readonly isOverloaded: () => boolean;
  /** The port of HTTPS that plain requests are sent to; null sends none. */
  readonly redirectPort: () => number | null;
  /** The routes in force; an exchange asks once and keeps what it got. */
  readonly table: RouteTable<Target>;
}

/** A try under way, or one that has failed; `call` is null where a connection is to be made. */
interface BegunTry {
  readonly endpoint: HttpEndpoint;
  readonly call: UpstreamExchange | null;
  readonly failure: ProxyError | null;
}

export class Forwarder {
  readonly #context: ForwarderContext;
  readonly #calls: UpstreamCalls;
  readonly #reports: EndpointReports;

  constructor(context: ForwarderContext) {
    const { log, telemetry: { metrics } } = context;
    this.#context = context;
    this.#calls = new UpstreamCalls(context, metrics);
    this.#reports = new EndpointReports(log, metrics);
  }

  /** Serves one exchange to its end. Never rejects. */
  readonly handle = (exchange: Exchange): Promise<void> | void => {
    const { request, client } = exchange;
    const isOverloaded = this.#context.isOverloaded();
    // Who is sent to HTTPS only comes back, with a handshake to do.
    const redirect = isOverloaded ? null : this.#redirect(exchange);
    if (redirect !== null) return this.#respond(exchange, redirect, NO_BODY);
    const { trustedProxies, loopMark } = this.#context;
    const ownMarks = prepareRequest(exchange, trustedProxies, loopMark.value);
    exchange.record.prepared = true;
    if (isOverloaded) return this.#answer(exchange, new ProxyError("overloaded"));
    if (client.certificate !== null && this.#isMisdirected(request.host, client.certificate)) {
      return this.#answer(exchange, new ProxyError("misdirected"));
    }
    if (ownMarks >= MAX_OWN_MARKS) return this.#answer(exchange, new ProxyError("loop_detected"));
    const { table, telemetry } = this.#context;
    const place = table.find(request.host, request.path);
    if (place === NO_ROUTE) return this.#answer(exchange, new ProxyError("no_route"));
    telemetry.routed(exchange.record, table.counters(place));
    const target = table.target(place);
    if (target.kind === "answer") {
      return this.#answer(exchange, new ProxyError(target.code, target.reason));
    }
    const last = maxForwards(exchange.request);
    if (last !== null) return this.#respond(exchange, last, NO_BODY);
    if (!exchange.body.done && !this.#context.bodies.enter(exchange)) {
      return this.#answer(exchange, new ProxyError("too_many_bodies"));
    }
    telemetry.exchangeBegun(exchange);
    const { upstream } = target;
    const asked = upstream.grpcWeb ? grpcWeb(exchange) : exchange;
    return asked.request.isGrpc
      ? this.#forwardGrpc(asked, upstream)
      : this.#forward(asked, upstream);
  };

  /** A host that has another certificate than the one shown must be asked on a connection of its own. */
  #isMisdirected(host: string, shown: { covers(host: string): boolean }): boolean {
    return !shown.covers(host) && this.#context.certificates.covering(host) !== null;
  }

  #redirect(exchange: Exchange): ResponseHead | null {
    const { redirectPort, certificates } = this.#context;
    const port = redirectPort();
    if (port === null || exchange.client.secure || certificates.size === 0) return null;
    const isRedirected = (host: string) => certificates.covering(host)?.redirects(host) ?? false;
    return httpsRedirect(exchange, { port, isRedirected });
  }

  /** Forwards within the time that the client gives, if it does. */
  #forwardGrpc(exchange: Exchange, upstream: HttpUpstream): Promise<void> {
    const { grpcDeadlines } = this.#context;
    const watching = grpcDeadlines.watch(exchange);
    if (watching === "malformed") {
      return this.#answer(exchange, new ProxyError("bad_request", "a malformed grpc-timeout"));
    }
    const forwarding = this.#forward(exchange, upstream);
    if (watching === "none") return forwarding;
    return forwarding.finally(() => grpcDeadlines.forget(exchange));
  }

  /**
   * Forwards by a connection that is there, as nearly every exchange can be, without a promise until
   * its answer has come; what is otherwise, or fails, `#forwardOn` takes over.
   */
  #forward(exchange: Exchange, upstream: HttpUpstream): Promise<void> {
    const { record, payload, body } = exchange;
    record.upstream = upstream.id;
    upstream.requested();
    const endpoint = upstream.pick(null);
    if (endpoint === null) return this.#forwardOn(exchange, upstream, null);
    this.#begin(exchange, endpoint);
    const call = this.#calls.take(endpoint, exchange, false);
    if (call === null || (endpoint.sharing === true && payload === null && !body.done)) {
      return this.#forwardOn(exchange, upstream, { endpoint, call, failure: null });
    }
    return new Promise((ended, failed) =>
      this.#try(exchange, upstream, endpoint, call, ended, failed)
    );
  }

  /** The endpoint is asked from now on: its `load` counts one more. */
  #begin({ record }: Exchange, endpoint: HttpEndpoint): void {
    record.endpoint = endpoint;
    record.tries++;
    if (this.#context.telemetry.isLogging) record.triedAt = turnNow();
    endpoint.load.requests++;
  }

  /**
   * The first try, which mostly is the last. `failed` gets what a mistake of ours throws: in a
   * callback nobody else would learn of it, and the exchange would have no end.
   */
  #try(
    exchange: Exchange,
    upstream: HttpUpstream,
    endpoint: HttpEndpoint,
    call: UpstreamExchange,
    ended: () => void,
    failed: (mistake: unknown) => void,
  ): void {
    const settle = (failure: ProxyError | null) => {
      if (failure === null) {
        endpoint.load.requests--;
        ended();
      } else this.#forwardOn(exchange, upstream, { endpoint, call, failure }).then(ended, failed);
    };
    const lost = (mistake: unknown) => {
      endpoint.load.requests--;
      failed(mistake);
    };
    const answered = () => {
      this.#release(exchange, endpoint, call);
      settle(null);
    };
    const broke = (thrown: unknown) => settle(this.#broken(exchange, call, thrown));
    const respond = () => {
      if (call.response.status < 200) {
        this.#respondLater(exchange, upstream, endpoint, call).then(settle).catch(lost);
        return;
      }
      let answering: Promise<void> | void;
      try {
        answering = this.#respondBy(exchange, upstream, endpoint, call);
      } catch (thrown) {
        return broke(thrown);
      }
      if (answering === undefined) answered();
      else answering.then(answered, broke).catch(lost);
    };
    const received = (error: unknown) => {
      try {
        if (error === null) respond();
        else broke(error);
      } catch (mistake) {
        lost(mistake);
      }
    };
    exchange.cancellation.register(call.abort);
    const { request, payload, body } = exchange;
    try {
      call.send(request, exchange.added, request.authority, payload, body);
    } catch (thrown) {
      return received(thrown);
    }
    call.receiveThen(received);
  }

  /** Goes on from a try that has begun, or has failed with `failure`; from the very beginning at null. */
  async #forwardOn(
    exchange: Exchange,
    upstream: HttpUpstream,
    begun: BegunTry | null,
  ): Promise<void> {
    let tried: HttpEndpoint[] | null = null;
    let failure: ProxyError | null = null;
    let replayed = false;
    // The last try never was the backend's: it adds nothing to its load.
    let isUnseen = false;
    // Endpoints in `tried` that refused the connection, and count as no try.
    let refusals = 0;
    let heldSince = 0;
    let replay: ReplayBody | null = null;
    const { holds, telemetry, limits } = this.#context;
    const { record, payload, body } = exchange;
    for (;;) {
      let endpoint = begun === null ? upstream.pick(tried) : begun.endpoint;
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
            refusals = 0;
            continue;
          }
          const { reason } = exchange.cancellation;
          if (exchange.isOver || reason !== null) {
            return this.#answer(exchange, reason ?? new ProxyError("client_gone"));
          }
          if (upstream.isEmpty) failure = null;
        }
        return this.#answer(exchange, failure ?? new ProxyError("no_endpoint", upstream.id));
      }
      if (failure !== null && !isUnseen && !upstream.takeRetry()) {
        telemetry.metrics.upstreamRetryDenied();
        return this.#answer(exchange, failure);
      }
      if (begun === null) this.#begin(exchange, endpoint);
      try {
        let call = begun === null ? this.#calls.take(endpoint, exchange, replayed) : begun.call;
        if (call === null) {
          begun = null;
          try {
            call = await this.#calls.open(endpoint, exchange);
          } catch (error) {
            failure = asProxyError(error, "connect_failed");
            // Pods that are replaced may be gone before their removal is known, several at a time.
            isUnseen = limits.tries > 1 && refusals < FREE_REFUSALS && wasRefused(failure);
            if (isUnseen) refusals++;
            (tried ??= []).push(endpoint);
            if (exchange.cancellation.reason !== null) return this.#answer(exchange, failure);
            this.#reports.failed(upstream, endpoint, failure);
            if (tried.length - refusals >= limits.tries) {
              const waits = holds.concerns(upstream, isUnreachable(failure));
              if (!waits || upstream.hasOther(tried)) return this.#answer(exchange, failure);
            }
            continue;
          }
          if (!upstream.has(endpoint)) {
            // It left meanwhile, and what has not been sent to it yet goes elsewhere.
            call.abort(new ProxyError("client_gone"));
            record.tries--;
            continue;
          }
        }
        if (begun?.failure) failure = begun.failure;
        else {
          // A backend of HTTP/2 may say that it has not begun with the request.
          if (replay !== null) replay.rewind();
          else if (endpoint.sharing === true && payload === null && !body.done) {
            replay = new ReplayBody(body);
          }
          failure = await this.#exchange(exchange, upstream, endpoint, call, replay);
        }
        begun = null;
        if (failure === null) return;
        const isFree = wasClosedIdle(call) || call.unprocessed;
        isUnseen = call.unprocessed && !call.refused && !replayed;
        if (!isFree) this.#reports.failed(upstream, endpoint, failure);
        if (mayReplay(exchange, call, replay)) {
          if (isFree && !replayed) {
            replayed = true;
            continue;
          }
          // It may have crashed, by this very request perhaps: one more is asked, not all of them.
          (tried ??= []).push(endpoint);
          if (tried.length - refusals < limits.tries) continue;
        }
      } finally {
        endpoint.load.requests--;
      }
      return this.#answer(exchange, failure);
    }
  }

  /** Sends the request by `call` and answers. Null when done, or why there is no answer yet. */
  async #exchange(
    exchange: Exchange,
    upstream: HttpUpstream,
    endpoint: HttpEndpoint,
    call: UpstreamExchange,
    replay: ReplayBody | null,
  ): Promise<ProxyError | null> {
    const { request, payload } = exchange;
    // While a connection was being made, the client may have gone, and the head with it; or its time
    // may have passed.
    const { reason } = exchange.cancellation;
    if (exchange.isOver || reason !== null) {
      const error = reason ?? new ProxyError("client_gone");
      call.abort(error);
      return error;
    }
    exchange.cancellation.register(call.abort);
    try {
      call.send(request, exchange.added, request.authority, payload, replay ?? exchange.body);
      await call.receive();
    } catch (thrown) {
      return this.#broken(exchange, call, thrown);
    }
    replay?.forget();
    return await this.#respondLater(exchange, upstream, endpoint, call);
  }

  /** Answers from the first head on that `call` has received; as `#exchange` does. */
  async #respondLater(
    exchange: Exchange,
    upstream: HttpUpstream,
    endpoint: HttpEndpoint,
    call: UpstreamExchange,
  ): Promise<ProxyError | null> {
    let { response } = call;
    try {
      while (response.status < 200 && response.status !== 101) {
        await exchange.interim(response);
        if (exchange.responded) throw call.failure ?? new ProxyError("client_gone");
        response = await call.receive();
      }
      if (response.status === 101) {
        this.#prepare(exchange, upstream, endpoint, response);
        return await this.#tunnel(exchange, call, response);
      }
      const answering = this.#respondBy(exchange, upstream, endpoint, call);
      if (answering !== undefined) await answering;
    } catch (thrown) {
      return this.#broken(exchange, call, thrown);
    }
    this.#release(exchange, endpoint, call);
    return null;
  }

  /** Answers with the final head that `call` has received, and the body behind it. */
  #respondBy(
    exchange: Exchange,
    upstream: HttpUpstream,
    endpoint: HttpEndpoint,
    call: UpstreamExchange,
  ): Promise<void> | void {
    const { response } = call;
    this.#prepare(exchange, upstream, endpoint, response);
    return exchange.respond(response, call.body);
  }

  #prepare(
    { request, record }: Exchange,
    upstream: HttpUpstream,
    endpoint: HttpEndpoint,
    response: ResponseHead,
  ): void {
    this.#reports.answered(upstream, endpoint, response.status);
    if (this.#context.telemetry.isLogging) record.answeredAt = turnNow();
    prepareResponse(response, request);
  }

  /** All of the answer has been handed on. */
  #release(exchange: Exchange, endpoint: HttpEndpoint, call: UpstreamExchange): void {
    exchange.cancellation.unregister(call.abort);
    this.#calls.release(endpoint, call, exchange.request);
  }

  /** Ends a call that broke. Why, where another answer can be given; null where it is too late. */
  #broken(exchange: Exchange, call: UpstreamExchange, thrown: unknown): ProxyError | null {
    let error = call.failure ?? asProxyError(thrown, "internal");
    call.abort(error);
    exchange.cancellation.unregister(call.abort);
    // Servers end a call at its deadline too, grpc-go by RST_STREAM: that is no fault of the endpoint.
    if (error.side === "upstream" && this.#context.grpcDeadlines.hasPassed(exchange)) {
      error = new ProxyError("deadline_passed");
    }
    if (!exchange.responded) return error;
    this.#lose(exchange, error);
    return null;
  }

  /** The rest of an upgraded connection's life. */
  async #tunnel(
    exchange: Exchange,
    call: UpstreamExchange,
    response: ResponseHead,
  ): Promise<null> {
    const { tunnels, telemetry: { metrics } } = this.#context;
    const isWebSocket = exchange.request.upgrade === "websocket";
    const client = await exchange.upgrade(response);
    metrics.tunnelOpened();
    const outcome = await tunnels.run(client, call.duplex(), isWebSocket);
    // Where the client broke off, all that the tunnel may have seen is that the backend was closed.
    const error = outcome === null ? null : call.failure ?? outcome;
    metrics.tunnelClosed();
    exchange.cancellation.unregister(call.abort);
    call.abort(error ?? new ProxyError("client_gone"));
    if (error !== null) this.#lose(exchange, error);
    return null;
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
    const { upstream, endpoint } = exchange.record;
    this.#context.log[level]("Request failed", {
      code: error.code,
      detail: error.message,
      host: exchange.request.host,
      path: exchange.request.path,
      requestId: requestIdOf(exchange),
      ...(endpoint === null ? {} : {
        upstream,
        endpoint: formatAddress({ hostname: endpoint.address, port: endpoint.port }),
      }),
    });
  }
}
