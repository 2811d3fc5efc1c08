/** Spans as the proxy makes them. In: a number of requests. Out: the spans, as they leave a worker. */
import { hasSpan, Tracer } from "../../proxy/telemetry/traces/tracer.ts";
import { begin, newExchange, NOW, respond } from "./request.ts";

/**
 * Serves so many requests.
 *
 * @param ratio of sampled ones; null without traces. @param take gets JSON, with a comma before each span.
 */
export function serveWithTracer(
  requests: number,
  ratio: number | null,
  take: (bytes: Uint8Array) => void,
): void {
  const tracer = ratio === null ? null : new Tracer({ ratio, query: false }, ({ bytes }) => {
    take(bytes);
    tracer?.taken(bytes.length);
  });
  const exchange = newExchange();
  const { record } = exchange;
  for (let i = 0; i < requests; i++) {
    begin(exchange, i, tracer !== null);
    tracer?.begin(exchange);
    respond(exchange, i);
    // As `Telemetry` does.
    if (tracer === null || !hasSpan(record.tracing, record.status, null)) continue;
    tracer.attemptBegins(exchange);
    tracer.attemptEnded(exchange, record.status, null);
    tracer.exchangeEnded(exchange, NOW + i);
  }
  tracer?.flush();
}
