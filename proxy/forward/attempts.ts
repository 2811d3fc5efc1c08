/**
 * The attempts of one exchange: pick → attempt → retry on another endpoint. In: an exchange that its
 * route forwards, and the upstream. Out: the response of an endpoint, or the local reply that says why
 * there is none.
 */
import type { Logger } from "../../shared/log.ts";
import { ProxyError } from "../errors.ts";
import { type Exchange, type ExchangeWaiter, tell } from "../http/message.ts";
import type { RoutePolicy } from "../route/policy.ts";
import type { HttpUpstream } from "../route/route.ts";
import type { PendingRequests } from "../upstream/pending_requests.ts";
import { Attempt, type AttemptContext, type AttemptOwner } from "./attempt.ts";
import { reportFailure } from "./failure_report.ts";
import { isBlameless, isUnreachable, replayBody, RetryState } from "./retry.ts";
import type { HttpCall } from "./upstream_requests.ts";

export interface AttemptsContext extends AttemptContext {
  readonly log: Logger;
  /** Where requests wait for an upstream to have an endpoint. */
  readonly holds: PendingRequests;
  /** Sends the local reply to an error. Never rejects. */
  readonly refuse: (exchange: Exchange, error: ProxyError) => Promise<void>;
}

export class Attempts {
  readonly #context: AttemptsContext;

  constructor(context: AttemptsContext) {
    this.#context = context;
  }

  /** As `forwardFor`, by a promise. */
  forward(exchange: Exchange, upstream: HttpUpstream, policy: RoutePolicy): Promise<void> {
    return new Promise((served, broke) =>
      this.forwardFor({ served, broke }, exchange, upstream, policy)
    );
  }

  /**
   * Forwards by a connection that is there, as nearly every exchange can be, without a promise; what
   * is otherwise, or fails, `#goOn` takes over.
   */
  forwardFor(
    waiter: ExchangeWaiter,
    exchange: Exchange,
    upstream: HttpUpstream,
    policy: RoutePolicy,
  ): void {
    exchange.record.upstream = upstream.id;
    upstream.requested();
    const endpoint = upstream.pick(null);
    const retries = policy.retry === null ? null : new RetryState(policy);
    if (endpoint === null) {
      return tell(waiter, this.#goOn(exchange, upstream, policy, retries, null));
    }
    const attempt = new Attempt(this.#context, exchange, upstream, endpoint, policy, retries);
    attempt.waiter = waiter;
    const call = attempt.take(false);
    if (call === null) this.#openFor(attempt);
    else attempt.run(call, replayBody(exchange, endpoint, policy), this.#firstAttempts);
  }

  /**
   * Opens a connection for a first attempt. No async function: its frame would be held as long as the
   * response lasts, and a stream of events may last for hours.
   */
  #openFor(attempt: Attempt): void {
    const { endpoint, exchange, upstream, policy, retries } = attempt;
    const waiter = attempt.waiter!;
    const opened = (call: HttpCall | null) => {
      if (call !== null) {
        return attempt.run(call, replayBody(exchange, endpoint, policy), this.#firstAttempts);
      }
      const failed = attempt.failure === null ? null : attempt;
      tell(waiter, this.#goOn(exchange, upstream, policy, retries, failed));
    };
    attempt.open().then(opened).catch((mistake) => waiter.broke(mistake));
  }

  /** Hears of first attempts. */
  readonly #firstAttempts: AttemptOwner = {
    ended: (attempt) => {
      const { exchange, upstream, policy, retries, waiter } = attempt;
      if (attempt.failure === null) waiter!.served();
      else tell(waiter!, this.#goOn(exchange, upstream, policy, retries, attempt));
    },
    broke: ({ waiter }, mistake) => waiter!.broke(mistake),
  };

  /**
   * Goes on from an attempt that has failed; from the very beginning where there is none.
   *
   * @param known null where the route has no policy for retries: nothing is known yet.
   */
  async #goOn(
    exchange: Exchange,
    upstream: HttpUpstream,
    policy: RoutePolicy,
    known: RetryState | null,
    first: Attempt | null,
  ): Promise<void> {
    const { health, log, refuse } = this.#context;
    const { cancellation } = exchange;
    const retries = known ?? new RetryState(policy);
    let replay = first === null ? null : first.replay;
    for (let begun = first;; begun = null) {
      const attempt = begun ?? await this.#next(exchange, upstream, policy, retries);
      if (attempt instanceof ProxyError) return refuse(exchange, attempt);
      const { endpoint } = attempt;
      if (begun === null) {
        const call = attempt.take(retries.avoidsIdle) ?? await attempt.open();
        if (call !== null) {
          replay ??= replayBody(exchange, endpoint, policy);
          await new Promise<void>((ended, broke) =>
            attempt.run(call, replay, {
              ended: () => ended(),
              broke: (_, mistake) => broke(mistake),
            })
          );
          if (attempt.failure === null) return;
        }
      }
      const { call, failure } = attempt;
      if (failure === null) continue;
      if (exchange.responded) return reportFailure(exchange, failure, log);
      // A backend that aborts a slow upload is healthy: slow clients must not eject it.
      const isBlamed = call === null || !(isBlameless(call) || call.awaitedClient);
      if (isBlamed && !attempt.isDeclined) {
        health.failed(upstream, endpoint, failure);
      }
      const { reason } = cancellation;
      if (exchange.isOver || reason !== null) {
        return refuse(exchange, reason ?? new ProxyError("client_gone"));
      }
      if (retries.allows(exchange, { endpoint, call, failure, replay })) continue;
      // Before the client is told that none can be connected to, others may come.
      const waits = call === null && this.#waits(upstream, failure) &&
        !upstream.hasOther(retries.tried ?? []);
      if (!waits) return refuse(exchange, failure);
    }
  }

  /** Begins an attempt, once there is an endpoint; or the error to respond with. */
  async #next(
    exchange: Exchange,
    upstream: HttpUpstream,
    policy: RoutePolicy,
    retries: RetryState,
  ): Promise<Attempt | ProxyError> {
    const { holds, telemetry } = this.#context;
    for (;;) {
      let endpoint = upstream.pick(retries.tried);
      if (endpoint === null && retries.tried === null && upstream.resolving !== null) {
        await upstream.resolving;
        endpoint = upstream.pick(null);
      }
      const { failure } = retries;
      if (endpoint !== null) {
        if (failure === null || !retries.needsBudget || upstream.takeRetry()) {
          retries.begin();
          const forStatus = policy.retry === null ? null : retries;
          return new Attempt(this.#context, exchange, upstream, endpoint, policy, forStatus);
        }
        telemetry.metrics.upstreamRetryDenied();
        return failure;
      }
      // Whatever has failed until now may be tried again, or the client would have its local reply.
      if (!this.#waits(upstream, failure)) {
        return failure ?? new ProxyError("no_endpoint", upstream.id);
      }
      retries.heldSince ||= performance.now();
      if (await holds.wait(upstream, exchange, retries.heldSince) === "served") {
        retries.reset();
        continue;
      }
      const { reason } = exchange.cancellation;
      if (exchange.isOver || reason !== null) return reason ?? new ProxyError("client_gone");
      return (upstream.isEmpty ? null : failure) ?? new ProxyError("no_endpoint", upstream.id);
    }
  }

  /** Whether a request waits now for the upstream to have (other) endpoints (`--hold-timeout`). */
  #waits(upstream: HttpUpstream, failure: ProxyError | null): boolean {
    return this.#context.holds.concerns(upstream, isUnreachable(failure));
  }
}
