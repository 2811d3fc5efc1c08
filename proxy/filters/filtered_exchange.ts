/**
 * An exchange with the filters of its route around it. In: an exchange of any version of HTTP, and a
 * chain. Out: an `Exchange` whose request the filters have changed, and whose responses pass through
 * them, whoever makes these: an upstream, a filter, or the proxy itself.
 *
 * Made for one request, and only where its route has filters. What filters add to a request stays
 * here: the exchange within, which serves the connection's next request, never sees it.
 */
import { asProxyError } from "../errors.ts";
import type { Cancellation } from "../http/cancellation.ts";
import type { Fields } from "../http/fields.ts";
import { BodyWithoutTrailers } from "../http/folded_names.ts";
import { type Body, BytesBody, NO_BODY } from "../http/body.ts";
import {
  type Client,
  type Duplex,
  type Exchange,
  type ExchangeRecord,
  type ExchangeWaiter,
  type Reply,
  type RequestHead,
  ResponseHead,
  UNKNOWN_LENGTH,
} from "../http/message.ts";
import type { FilterChain } from "./filter_chain.ts";
import type { FilterName } from "./filter_name.ts";

export class FilteredExchange implements Exchange {
  readonly request: RequestHead;
  readonly record: ExchangeRecord;
  readonly client: Client;
  readonly cancellation: Cancellation;
  payload: Uint8Array | null;
  body: Body;
  added: Fields | null;
  addedAuthority: string;
  addedMark: string;
  readonly #exchange: Exchange;
  readonly #chain: FilterChain;
  /** The request hook that was called last, by its place in the chain. */
  #called = 0;
  /** A response hook has failed: the reply that says so does without them. */
  #isBroken = false;

  constructor(exchange: Exchange, chain: FilterChain) {
    const { request, record, client, cancellation } = exchange;
    this.request = request;
    this.record = record;
    this.client = client;
    this.cancellation = cancellation;
    this.payload = exchange.payload;
    this.body = exchange.body;
    this.added = exchange.added;
    this.addedAuthority = exchange.addedAuthority;
    this.addedMark = exchange.addedMark;
    this.#exchange = exchange;
    this.#chain = chain;
    record.filters = this;
  }

  get responded(): boolean {
    return this.#exchange.responded;
  }

  get isOver(): boolean {
    return this.#exchange.isOver;
  }

  /**
   * Who waits for the exchange within, for what is served before its connection has got a promise;
   * undefined where a promise has to tell of the end.
   */
  get waiterWithin(): ExchangeWaiter | undefined {
    return this.hasEnd ? undefined : this.#exchange.waiter;
  }

  /** Calls the request hooks; null once the request may go on. Rejects with what a hook throws. */
  begin(): Reply | null | Promise<Reply | null> {
    return this.#beginFrom(0);
  }

  /** The filter that has replied, or thrown, where `begin` has ended so. */
  get repliedBy(): FilterName {
    return this.#chain.requestNames[this.#called];
  }

  #beginFrom(index: number): Reply | null | Promise<Reply | null> {
    const { request } = this.#chain;
    for (let i = index; i < request.length; i++) {
      this.#called = i;
      const verdict = request[i].request(this);
      if (verdict instanceof Promise) {
        return verdict.then((reply) => reply ?? this.#beginFrom(i + 1));
      }
      if (verdict !== null) return verdict;
    }
    this.#beginBody();
    return null;
  }

  #beginBody(): void {
    const { payload, request } = this;
    const { requestBody } = this.#chain;
    if (requestBody.length === 0 || request.bodyLength === 0) return;
    const source = payload === null ? this.body : new BytesBody(payload);
    let body = source;
    for (const filter of requestBody) body = filter.requestBody(this, body);
    if (body === source) return;
    if (body instanceof BodyWithoutTrailers && body.isAround(source)) {
      // The same bytes: a body that came along with the head has no trailers.
      if (payload === null) this.body = body;
      return;
    }
    this.payload = payload === null ? null : drained(body);
    this.body = this.payload === null ? body : NO_BODY;
    request.bodyLength = request.contentLength = this.payload?.length ?? UNKNOWN_LENGTH;
  }

  limitBody(bytes: number): void {
    this.#exchange.limitBody(bytes);
  }

  interim(head: ResponseHead): Promise<void> | void {
    return this.#exchange.interim(head);
  }

  respond(head: ResponseHead, body: Body): Promise<void> | void {
    const reply = this.filter(head, body);
    return this.#exchange.respond(reply.head, reply.body);
  }

  upgrade(head: ResponseHead): Promise<Duplex> {
    return this.#exchange.upgrade(this.filter(head, NO_BODY).head);
  }

  /** The response as the client gets it. Throws a ProxyError, once at most. */
  filter(head: ResponseHead, body: Body): Reply {
    const chain = this.#chain;
    if (this.#isBroken || chain.response.length + chain.body.length === 0) return { head, body };
    const own = copyOf(head);
    try {
      for (const filter of chain.response) filter.response(this, own);
      if (own.bodyLength !== 0) {
        for (const filter of chain.body) body = filter.body(this, own, body);
      }
    } catch (thrown) {
      this.#isBroken = true;
      throw asProxyError(thrown, "internal");
    }
    return { head: own, body };
  }

  /** Whether there is an end hook. */
  get hasEnd(): boolean {
    return this.#chain.end.length > 0;
  }

  /** Calls the end hooks. */
  end(): void {
    for (const filter of this.#chain.end) filter.end(this);
  }
}

/** The head is its connection's, which parses the next one into it. */
function copyOf(head: ResponseHead): ResponseHead {
  // By hand: each response of a route with filters has one, and Object.assign costs ten times as much.
  const copy = new ResponseHead(head.fields);
  copy.extra = head.extra;
  copy.status = head.status;
  copy.reason = head.reason;
  copy.bodyLength = head.bodyLength;
  copy.contentLength = head.contentLength;
  copy.closes = head.closes;
  copy.hidesServer = head.hidesServer;
  return copy;
}

/**
 * The whole of a body that was at hand, so that it can be sent again; null where it breaks off. Then
 * whoever reads on learns why: a body that has failed fails again.
 */
function drained(body: Body): Uint8Array | null {
  const parts: Uint8Array[] = [];
  for (let view = body.read(); view !== null; view = body.read()) {
    if (view instanceof Promise) {
      view.catch(() => {});
      return null;
    }
    parts.push(view.slice());
  }
  return joined(parts);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
