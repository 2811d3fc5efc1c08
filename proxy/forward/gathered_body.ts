/**
 * A request body that is read before an endpoint is chosen. In: an exchange whose body is pulled, and a
 * bound. Out: the exchange with the whole body, or with as much as the bound allows and the rest behind
 * it, which is streamed.
 *
 * A backend with few workers is busy with a request only once all of it is there, however slow its
 * client is.
 */
import { asProxyError, ProxyError } from "../errors.ts";
import { FilterChain } from "../filters/filter_chain.ts";
import { FilteredExchange } from "../filters/filtered_exchange.ts";
import type { Fields } from "../http/fields.ts";
import type { Body } from "../http/body.ts";
import type { Exchange } from "../http/message.ts";

interface GatheredBody {
  /** Null where the bound was reached. */
  readonly whole: Uint8Array | null;
  readonly body: Body;
}

/** Whether the client would send its body now, and the backend has any use for the whole of it. */
export function canGather({ request, payload, body }: Exchange): boolean {
  // It waits for a 100 (Continue) of the backend. Tunnels and gRPC send for as long as they last.
  return payload === null && !body.done && !request.expectsContinue && request.upgrade === "" &&
    !request.isGrpc;
}

/**
 * An exchange with its body gathered, or why there is none: an error of its body, or that its client has
 * gone meanwhile. @param limit of what is held, in bytes; one view more may be.
 */
export async function gatheredExchange(
  exchange: Exchange,
  limit: number,
): Promise<Exchange | ProxyError> {
  let gathered: GatheredBody;
  try {
    gathered = await gather(exchange.body, limit);
  } catch (thrown) {
    return asProxyError(thrown, "internal");
  }
  const { reason } = exchange.cancellation;
  if (exchange.isOver || reason !== null) return reason ?? new ProxyError("client_gone");
  const own = exchange instanceof FilteredExchange
    ? exchange
    : new FilteredExchange(exchange, NOTHING);
  own.payload = gathered.whole;
  own.body = gathered.body;
  if (gathered.whole !== null && gathered.body.trailers === null) {
    own.request.bodyLength = own.request.contentLength = gathered.whole.length;
  }
  return own;
}

/** Of an exchange that differs from its connection's in its body alone. */
const NOTHING = new FilterChain([], []);

/** Rejects as the body does. @param limit of what is held, in bytes; one view more may be. */
async function gather(source: Body, limit: number): Promise<GatheredBody> {
  const views: Uint8Array[] = [];
  let size = 0;
  while (size < limit) {
    const view = await source.read();
    if (view === null) return { whole: joined(views, size), body: source };
    views.push(view.slice());
    size += view.length;
    if (source.done && source.trailers === null) {
      // Its end frees the buffer of the last view.
      await source.read();
      return { whole: joined(views, size), body: source };
    }
  }
  return { whole: null, body: new PrefixedBody(views, source) };
}

function joined(views: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const view of views) {
    whole.set(view, at);
    at += view.length;
  }
  return whole;
}

/** What has been read, and then the rest. */
class PrefixedBody implements Body {
  readonly #views: Uint8Array[];
  readonly #source: Body;

  constructor(views: Uint8Array[], source: Body) {
    this.#views = views;
    this.#source = source;
  }

  get done(): boolean {
    return this.#views.length === 0 && this.#source.done;
  }

  get trailers(): Fields | null {
    return this.#source.trailers;
  }

  read(): Uint8Array | null | Promise<Uint8Array | null> {
    return this.#views.shift() ?? this.#source.read();
  }
}
