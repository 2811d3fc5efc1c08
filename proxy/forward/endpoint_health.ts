/**
 * How endpoints do. In: how requests to them went. Out: it is held against them, and told where one
 * is left out for it.
 */
import { formatAddress } from "../../shared/net/address.ts";
import type { Logger } from "../../shared/log.ts";
import { isExhaustion } from "../io/descriptors.ts";
import type { ErrorCode, ProxyError } from "../errors.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Failing } from "../upstream/outlier_detection.ts";
import type { HttpEndpoint, HttpUpstream } from "../route/route.ts";

export class EndpointHealth {
  readonly #log: Logger;
  readonly #metrics: Metrics;

  constructor(log: Logger, metrics: Metrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  /** An endpoint has answered. */
  answered(upstream: HttpUpstream, endpoint: HttpEndpoint, status: number): void {
    if (!isGatewayError(status)) upstream.succeeded(endpoint);
    else this.#leaveOut(upstream, endpoint, upstream.declined(endpoint), "gateway_error", status);
  }

  /** An endpoint has not answered: its failure, unless it was our own that it could not be asked. */
  failed(
    upstream: HttpUpstream,
    endpoint: HttpEndpoint,
    { side, code, cause }: ProxyError,
  ): void {
    if (side !== "upstream" || code === "upstream_refused" || isExhaustion(cause)) return;
    this.#leaveOut(upstream, endpoint, upstream.failed(endpoint), "no_answer", code);
  }

  /** Tells of an endpoint that is left out from now on for `time` ms; 0 where it is not. */
  #leaveOut(
    upstream: HttpUpstream,
    endpoint: HttpEndpoint,
    time: number,
    reason: Failing,
    last: ErrorCode | number,
  ): void {
    if (time === 0) return;
    this.#metrics.upstreamEjected(reason);
    this.#log.warn("Endpoint ejected", {
      upstream: upstream.id,
      endpoint: formatAddress({ hostname: endpoint.address, port: endpoint.port }),
      ms: time,
      reason,
      last,
    });
  }
}

/** What a gateway says that cannot reach, or a server that cannot serve (RFC 9110 §15.6.3-5). */
function isGatewayError(status: number): boolean {
  return status >= 502 && status <= 504;
}
