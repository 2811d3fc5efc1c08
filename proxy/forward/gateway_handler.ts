/**
 * Requests that have come to a socket of a Gateway. In: an exchange whose client's `listener` is that
 * socket. Out: its response, by the routes of the listener that takes its Host: no other listener's, and
 * never redirected to HTTPS but by a filter of its route.
 *
 * Requests to the built-in listeners do not pass here: `forwarder.ts` serves them, and its path stays as
 * short as it is.
 */
import { ProxyError } from "../errors.ts";
import { MAX_OWN_MARKS } from "../http/loop_mark.ts";
import type { Exchange, Serving } from "../http/message.ts";
import type { CompiledRoute } from "../route/route.ts";
import type { SocketListeners } from "../router/socket_listeners.ts";
import { NO_ROUTE } from "../router/table.ts";
import { unrouted } from "./unrouted.ts";
import type { ForwarderContext } from "./forwarder.ts";
import { prepare } from "./preparation.ts";

export interface GatewayHandlerContext extends
  Pick<
    ForwarderContext,
    "trustedProxies" | "forwarded" | "telemetry" | "isOverloaded" | "table"
  > {
  readonly sockets: SocketListeners;
}

/** Ends an exchange. Neither rejects. */
export interface ExchangeServer {
  serveRoute(exchange: Exchange, route: CompiledRoute): Serving;
  refuse(exchange: Exchange, error: ProxyError): Promise<void>;
}

export class GatewayHandler {
  readonly #context: GatewayHandlerContext;
  readonly #server: ExchangeServer;

  constructor(context: GatewayHandlerContext, server: ExchangeServer) {
    this.#context = context;
    this.#server = server;
  }

  /** Serves one exchange to its end. Never rejects. */
  readonly handle = (exchange: Exchange): Serving => {
    const { request, client, record } = exchange;
    const { host, path } = request;
    const { sockets, table, telemetry } = this.#context;
    const isOverloaded = this.#context.isOverloaded();
    const ownMarks = prepare(exchange, this.#context);
    if (isOverloaded) return this.#server.refuse(exchange, new ProxyError("overloaded"));
    const listener = sockets.find(client.listener, host);
    // A host that no listener takes would get the same response over any other connection.
    if (listener !== null && client.certificate !== null && !client.certificate.covers(host)) {
      return this.#server.refuse(exchange, new ProxyError("misdirected"));
    }
    if (ownMarks >= MAX_OWN_MARKS) {
      return this.#server.refuse(exchange, new ProxyError("loop_detected"));
    }
    const place = listener === null ? NO_ROUTE : table.find(host, path, request, listener.id);
    if (place < 0) {
      return this.#server.refuse(exchange, unrouted(place));
    }
    telemetry.routed(record, table.counters(place));
    return this.#server.serveRoute(exchange, table.target(place));
  };
}
