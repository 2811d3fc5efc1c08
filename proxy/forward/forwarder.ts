/**
 * The life of a request: match → filters → attempts (`attempts.ts`) → respond. In: an exchange of any
 * version. Out: its response. The only place that joins router, filters and upstreams.
 */
import type { Logger } from "../../shared/log.ts";
import type { BodyCounts } from "./body_counts.ts";
import type { Certificates } from "../certificates/store.ts";
import type { Deadlines } from "../io/deadlines.ts";
import { asProxyError, ProxyError } from "../errors.ts";
import { Attempts } from "./attempts.ts";
import { EndpointHealth } from "./endpoint_health.ts";
import { reportFailure } from "./failure_report.ts";
import type { GrpcDeadlines } from "../grpc/deadline.ts";
import type { Limits } from "../http/limits.ts";
import { MAX_OWN_MARKS } from "../http/loop_mark.ts";
import type { FilterName } from "../filters/filter_name.ts";
import { FilteredExchange } from "../filters/filtered_exchange.ts";
import { canGather, gatheredExchange } from "./gathered_body.ts";
import { type Body, LATER, NO_BODY } from "../http/body.ts";
import type { Exchange, ExchangeWaiter, Reply, ResponseHead, Serving } from "../http/message.ts";
import { HttpsRedirects, type HttpsRedirectsContext } from "./https_redirects.ts";
import { type ErrorPage, localReply } from "./local_reply.ts";
import { exceeds, observe, type PreparationContext, prepare } from "./preparation.ts";
import type { RouteTable } from "../router/table.ts";
import { unrouted } from "./unrouted.ts";
import type { Tunnels } from "./tunnel.ts";
import type { PendingRequests } from "../upstream/pending_requests.ts";
import { compilePolicy, type RoutePolicy } from "../route/policy.ts";
import { chosen, type CompiledRoute, type HttpUpstream } from "../route/route.ts";
import { UpstreamRequests, type UpstreamRequestsContext } from "./upstream_requests.ts";

export interface ForwarderContext
  extends UpstreamRequestsContext, PreparationContext, HttpsRedirectsContext {
  readonly limits: Limits;
  readonly deadlines: Deadlines;
  readonly bodies: BodyCounts;
  readonly log: Logger;
  readonly certificates: Certificates;
  readonly tunnels: Tunnels;
  readonly grpcDeadlines: GrpcDeadlines;
  /** Where requests wait for an upstream to have an endpoint. */
  readonly holds: PendingRequests;
  /** True while memory is too short for another request. */
  readonly isOverloaded: () => boolean;
  /** Null for plain text. */
  readonly errorPage: ErrorPage | null;
  /** The routes in force; an exchange asks once and keeps what it got. */
  readonly table: RouteTable<CompiledRoute>;
}

export class Forwarder {
  readonly #context: ForwarderContext;
  readonly #attempts: Attempts;
  readonly #httpsRedirects: HttpsRedirects;
  /** Of routes that say nothing. */
  readonly #defaultPolicy: RoutePolicy;

  constructor(context: ForwarderContext) {
    const { grpcDeadlines, holds, limits, log, telemetry, tunnels } = context;
    const { metrics } = telemetry;
    this.#defaultPolicy = compilePolicy(null, limits);
    this.#context = context;
    this.#httpsRedirects = new HttpsRedirects(context);
    const requests = new UpstreamRequests(context, metrics);
    const health = new EndpointHealth(log, metrics);
    const { refuse } = this;
    const attempts = { requests, health, grpcDeadlines, holds, log, telemetry, tunnels, refuse };
    this.#attempts = new Attempts(attempts);
  }

  /** Serves one exchange to its end. Never rejects. */
  readonly handle = (exchange: Exchange): Serving => {
    const { request, client } = exchange;
    const isOverloaded = this.#context.isOverloaded();
    const { table, telemetry } = this.#context;
    const ownMarks = prepare(exchange, this.#context);
    // A redirected client would only come back, with a handshake to do.
    if (isOverloaded) return this.#localReply(exchange, new ProxyError("overloaded"));
    const place = table.find(request.host, request.path, request, client.listener);
    if (!client.secure) {
      const redirecting = this.#redirectToHttps(exchange, place);
      if (redirecting !== null) return redirecting;
    }
    if (
      client.certificate !== null &&
      this.#context.certificates.isMisdirected(request.host, client.certificate)
    ) {
      return this.#localReply(exchange, new ProxyError("misdirected"));
    }
    if (ownMarks >= MAX_OWN_MARKS) {
      return this.#localReply(exchange, new ProxyError("loop_detected"));
    }
    if (place < 0) {
      return this.#localReply(exchange, unrouted(place));
    }
    telemetry.routed(exchange.record, table.counters(place));
    return this.#serveRoute(exchange, chosen(table.target(place)));
  };

  /** Serves a subrequest by the route that takes it. Never rejects. */
  readonly route = (
    exchange: Exchange,
    isAllowed: (route: CompiledRoute) => boolean,
  ): Serving => {
    const { table } = this.#context;
    const { request, client } = exchange;
    const place = table.find(request.host, request.path, request, client.listener);
    // A path that cannot be matched, too.
    if (place < 0) return this.#localReply(exchange, new ProxyError("no_route"));
    const route = chosen(table.target(place));
    return isAllowed(route) ? this.#serveRoute(exchange, route) : this.#localReply(
      exchange,
      new ProxyError("auth_failed", `${request.host} has a route of another namespace`),
    );
  };

  /** Serves a subrequest by an upstream, with the settings of routes that say nothing. */
  readonly forward = (exchange: Exchange, upstream: HttpUpstream): Promise<void> =>
    this.#attempts.forward(exchange, upstream, this.#defaultPolicy).catch((thrown) =>
      this.#localReply(exchange, asProxyError(thrown, "internal"))
    );

  /** Serves an exchange by the route that takes it. Never rejects. */
  serveRoute(exchange: Exchange, route: CompiledRoute): Serving {
    return this.#serveRoute(exchange, chosen(route));
  }

  /** Responds to an exchange with an error. Never rejects. */
  readonly refuse = (exchange: Exchange, error: ProxyError) => this.#localReply(exchange, error);

  /** Serves an exchange by a route that is no split. */
  #serveRoute(exchange: Exchange, route: CompiledRoute): Serving {
    const { request } = exchange;
    const { action } = route;
    const filters = action.kind === "forward"
      ? route.filters.chainFor(request, action.upstream.grpcWeb)
      : route.filters.chain;
    const { bodyLimit } = route.policy;
    observe(exchange, route.policy, this.#context.telemetry);
    const isTooLarge = bodyLimit !== 0 && request.bodyLength !== 0 && exceeds(exchange, bodyLimit);
    if (filters !== null && !filters.changesRequestAlone) {
      return this.#serveFiltered(new FilteredExchange(exchange, filters), route, isTooLarge);
    }
    if (isTooLarge) return this.#localReply(exchange, new ProxyError("body_too_large"));
    if (filters !== null) {
      this.#context.telemetry.filtersBegin(exchange);
      const failure = filters.change(exchange);
      if (failure !== null) return this.#filterFailed(exchange, failure.filter, failure.thrown);
    }
    return this.#serve(exchange, route, exchange.waiter);
  }

  /**
   * Serves an exchange as its route says, once its filters have let it pass.
   *
   * @param waiter is told of the end where this returns `LATER`; without one, there is a promise.
   */
  #serve(exchange: Exchange, route: CompiledRoute, waiter?: undefined): Promise<void>;
  #serve(
    exchange: Exchange,
    route: CompiledRoute,
    waiter: ExchangeWaiter | undefined,
  ): Promise<void> | typeof LATER;
  #serve(
    exchange: Exchange,
    { action, policy }: CompiledRoute,
    waiter?: ExchangeWaiter,
  ): Promise<void> | typeof LATER {
    if (action.kind === "reply") {
      return this.#localReply(exchange, new ProxyError(action.code, action.reason));
    }
    if (action.kind === "split") {
      return this.#localReply(exchange, new ProxyError("route_broken", "a split of splits"));
    }
    if (!exchange.body.done && !this.#context.bodies.enter(exchange)) {
      return this.#localReply(exchange, new ProxyError("too_many_bodies"));
    }
    this.#context.telemetry.exchangeBegun(exchange);
    if (policy.requestBuffer !== 0 && canGather(exchange)) {
      return this.#forwardGathered(exchange, action.upstream, policy);
    }
    if (exchange.request.isGrpc) return this.#forwardGrpc(exchange, action.upstream, policy);
    if (waiter === undefined) return this.#attempts.forward(exchange, action.upstream, policy);
    this.#attempts.forwardFor(waiter, exchange, action.upstream, policy);
    return LATER;
  }

  /** Forwards once the body is there, or as much of it as the policy says. */
  async #forwardGathered(
    exchange: Exchange,
    upstream: HttpUpstream,
    policy: RoutePolicy,
  ): Promise<void> {
    const gathered = await gatheredExchange(exchange, policy.requestBuffer);
    return gathered instanceof ProxyError
      ? this.#localReply(exchange, gathered)
      : this.#attempts.forward(gathered, upstream, policy);
  }

  /** What a filter throws ends the request: one that decides must not be passed by its failure. */
  #serveFiltered(
    exchange: FilteredExchange,
    route: CompiledRoute,
    isTooLarge: boolean,
  ): Serving {
    const serving = this.#beginFiltered(exchange, route, isTooLarge);
    if (serving === LATER) return LATER;
    const served = serving.catch((thrown) =>
      this.#localReply(exchange, asProxyError(thrown, "internal"))
    );
    return exchange.hasEnd ? served.finally(() => exchange.end()) : served;
  }

  /** Without a promise of its own where no filter has to wait: most requests do not. May reject. */
  #beginFiltered(
    exchange: FilteredExchange,
    route: CompiledRoute,
    isTooLarge: boolean,
  ): Promise<void> | typeof LATER {
    if (isTooLarge) return this.#localReply(exchange, new ProxyError("body_too_large"));
    this.#context.telemetry.filtersBegin(exchange);
    let reply: Reply | null | Promise<Reply | null>;
    try {
      reply = exchange.begin();
    } catch (thrown) {
      return this.#filterFailed(exchange, exchange.repliedBy, thrown);
    }
    if (reply instanceof Promise) {
      return reply.then(
        (late) => this.#serveLate(exchange, route, late),
        (thrown) => this.#filterFailed(exchange, exchange.repliedBy, thrown),
      );
    }
    try {
      return reply === null
        ? this.#serve(exchange, route, exchange.waiterWithin)
        : this.#serveBegun(exchange, route, reply);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  /** A filter has ended the request with an error, be it its verdict. */
  #filterFailed(exchange: Exchange, filter: FilterName, thrown: unknown): Promise<void> {
    const error = asProxyError(thrown, "internal");
    this.#context.telemetry.filterReplied(exchange, filter, error.status);
    return this.#localReply(exchange, error);
  }

  /** After filters that had to wait, while the request may have ended. */
  #serveLate(
    exchange: FilteredExchange,
    route: CompiledRoute,
    reply: Reply | null,
  ): Promise<void> {
    const { reason } = exchange.cancellation;
    return exchange.isOver || reason !== null
      ? this.#localReply(exchange, reason ?? new ProxyError("client_gone"))
      : this.#serveBegun(exchange, route, reply);
  }

  /** @param reply of a filter; null where the request goes on. */
  #serveBegun(
    exchange: FilteredExchange,
    route: CompiledRoute,
    reply: Reply | null,
  ): Promise<void> {
    if (reply === null) return this.#serve(exchange, route);
    this.#context.telemetry.filterReplied(exchange, exchange.repliedBy, reply.head.status);
    return this.#respond(exchange, reply.head, reply.body);
  }

  /**
   * Redirects a plain request to HTTPS if the settings of its route and host say so; else null. No
   * backend gets it then, but redirects of the route itself come first, as in nginx.
   */
  #redirectToHttps(exchange: Exchange, place: number): Promise<void> | null {
    const route = place < 0 ? null : this.#context.table.target(place);
    const head = this.#httpsRedirects.of(exchange, route);
    if (head === null) return null;
    const { table, telemetry } = this.#context;
    if (route !== null) telemetry.routed(exchange.record, table.counters(place));
    if (head instanceof ProxyError) return this.#localReply(exchange, head);
    if (route !== null) observe(exchange, route.policy, telemetry);
    const filters = route === null ? null : route.filters.beforeHttps;
    if (filters === null) {
      telemetry.filterReplied(exchange, "https-redirect", head.status);
      return this.#respond(exchange, head, NO_BODY);
    }
    return this.#redirectFiltered(new FilteredExchange(exchange, filters), head);
  }

  /** Responds with a redirect of the route's own filters, if there is one, or to HTTPS. */
  async #redirectFiltered(
    exchange: FilteredExchange,
    toHttps: ResponseHead,
  ): Promise<void> {
    const { telemetry } = this.#context;
    try {
      telemetry.filtersBegin(exchange);
      let reply: Reply | null;
      try {
        reply = await exchange.begin();
      } catch (thrown) {
        return await this.#filterFailed(exchange, exchange.repliedBy, thrown);
      }
      const head = reply?.head ?? toHttps;
      const name = reply === null ? "https-redirect" : exchange.repliedBy;
      telemetry.filterReplied(exchange, name, head.status);
      await this.#respond(exchange, head, reply?.body ?? NO_BODY);
    } catch (thrown) {
      await this.#localReply(exchange, asProxyError(thrown, "internal"));
    } finally {
      exchange.end();
    }
  }

  /** Forwards within the time that the client gives, if it does. */
  #forwardGrpc(
    exchange: Exchange,
    upstream: HttpUpstream,
    policy: RoutePolicy,
  ): Promise<void> {
    const { grpcDeadlines } = this.#context;
    const watching = grpcDeadlines.watch(exchange);
    if (watching === "malformed") {
      return this.#localReply(exchange, new ProxyError("bad_request", "a malformed grpc-timeout"));
    }
    const forwarding = this.#attempts.forward(exchange, upstream, policy);
    if (watching === "none") return forwarding;
    return forwarding.finally(() => grpcDeadlines.forget(exchange));
  }

  /** Sends the local reply to an error, unless the client has gone. */
  async #localReply(exchange: Exchange, error: ProxyError): Promise<void> {
    reportFailure(exchange, error, this.#context.log);
    if (exchange.responded || error.status === 0) return;
    const reply = localReply(error.code, exchange, error.challenge, this.#context.errorPage);
    await this.#respond(exchange, reply.head, reply.body);
  }

  /** Sends a response of our own. */
  async #respond(exchange: Exchange, head: ResponseHead, body: Body): Promise<void> {
    try {
      await exchange.respond(head, body);
    } catch {
      // The client went away before its response: its connection is closed and has said so.
    }
  }
}
