/**
 * What is told of a request that has failed. In: its exchange, and why. Out: the error in its record, and
 * a line of the log.
 */
import { formatAddress } from "../../shared/net/address.ts";
import type { Logger } from "../../shared/log.ts";
import type { ProxyError } from "../errors.ts";
import { requestIdOf } from "../http/forwarded_headers.ts";
import type { Exchange } from "../http/message.ts";

export function reportFailure(exchange: Exchange, error: ProxyError, log: Logger): void {
  exchange.record.error = error.code;
  // Either may come a thousand times a second; metrics count them, and the change is logged.
  if (error.code === "no_route" || error.code === "overloaded") return;
  const level = error.side === "downstream" ? "debug" : "warn";
  const { upstream, endpoint } = exchange.record;
  log[level]("Request failed", {
    code: error.code,
    detail: error.message,
    host: exchange.request.host,
    path: exchange.record.requestedPath ?? exchange.request.path,
    requestId: requestIdOf(exchange),
    ...(endpoint === null ? {} : {
      upstream,
      endpoint: formatAddress({ hostname: endpoint.address, port: endpoint.port }),
    }),
  });
}
