/**
 * gRPC-Web for backends that speak gRPC alone (gRPC's doc/PROTOCOL-WEB.md): what a page's script can
 * send and read, which has neither HTTP/2's frames nor trailers. In: an exchange with a request of
 * gRPC-Web, of any version of HTTP. Out: an exchange with one of gRPC, whose answers, our own too,
 * go back as the client reads them.
 */
import { ProxyError } from "../errors.ts";
import type { Cancellation } from "../http/cancellation.ts";
import {
  CONTENT_LENGTH,
  CONTENT_TYPE,
  DROPPED,
  type Fields,
  fieldsOf,
  TRAILER,
} from "../http/fields.ts";
import {
  acceptedWebCoding,
  hasGrpc,
  type WebCoding,
  webCoding,
  withoutWeb,
  withWeb,
} from "../grpc/content_type.ts";
import {
  type Body,
  type Client,
  type Duplex,
  type Exchange,
  type ExchangeRecord,
  NO_BODY,
  type RequestHead,
  ResponseHead,
  UNKNOWN_LENGTH,
} from "../http/message.ts";
import { decodeText, TextBody, WebBody } from "./grpc_web_body.ts";

/** `exchange` as a gRPC backend is to see it; the very same where its request is no gRPC-Web. */
export function grpcWeb(exchange: Exchange): Exchange {
  const { request } = exchange;
  const index = request.fields.find(CONTENT_TYPE);
  if (index === -1 || request.method !== "POST" || request.upgrade !== "") return exchange;
  const contentType = request.fields.value(index);
  const coding = webCoding(contentType);
  if (coding === null) return exchange;
  request.fields.shrink(index, withoutWeb(contentType));
  return new GrpcWebExchange(exchange, coding);
}

class GrpcWebExchange implements Exchange {
  readonly request: RequestHead;
  readonly record: ExchangeRecord;
  readonly client: Client;
  readonly cancellation: Cancellation;
  readonly payload: Uint8Array | null;
  readonly body: Body;
  readonly #exchange: Exchange;
  readonly #coding: WebCoding;

  constructor(exchange: Exchange, coding: WebCoding) {
    const { request, record, client, cancellation } = exchange;
    this.#exchange = exchange;
    this.#coding = acceptedWebCoding(request.fields, coding);
    this.request = request;
    this.record = record;
    this.client = client;
    this.cancellation = cancellation;
    this.payload = exchange.payload;
    this.body = exchange.body;
    if (coding === "text" && request.bodyLength !== 0) {
      this.payload = exchange.payload && decodeText(exchange.payload);
      this.body = textBody(exchange, this.payload);
      const length = this.payload === null ? UNKNOWN_LENGTH : this.payload.length;
      request.bodyLength = length;
      request.contentLength = length;
    }
    request.isGrpc = true;
    request.acceptsTrailers = true;
  }

  get added(): Fields | null {
    return this.#exchange.added;
  }

  set added(added: Fields | null) {
    this.#exchange.added = added;
  }

  get addedAuthority(): string {
    return this.#exchange.addedAuthority;
  }

  set addedAuthority(authority: string) {
    this.#exchange.addedAuthority = authority;
  }

  get addedMark(): string {
    return this.#exchange.addedMark;
  }

  set addedMark(mark: string) {
    this.#exchange.addedMark = mark;
  }

  get responded(): boolean {
    return this.#exchange.responded;
  }

  get isOver(): boolean {
    return this.#exchange.isOver;
  }

  interim(head: ResponseHead): Promise<void> | void {
    return this.#exchange.interim(head);
  }

  respond(head: ResponseHead, body: Body): Promise<void> | void {
    // Of whoever stands between and knows no gRPC: the client reads HTTP's status.
    if (!hasGrpc(head.fields)) return this.#exchange.respond(head, body);
    const coding = this.#coding;
    const answer = new ResponseHead();
    answer.status = head.status;
    answer.reason = head.reason;
    answer.closes = head.closes;
    answer.fields = webFields(head.fields, coding);
    if (head.bodyLength === 0) {
      // Its status stands in the head (Trailers-Only), where clients look too.
      answer.contentLength = 0;
      return this.#exchange.respond(answer, NO_BODY);
    }
    answer.bodyLength = UNKNOWN_LENGTH;
    return this.#exchange.respond(answer, new WebBody(body, coding === "text"));
  }

  upgrade(head: ResponseHead): Promise<Duplex> {
    return this.#exchange.upgrade(head);
  }
}

/** The body of a request in base64, whose `payload` has been decoded where it was at hand. */
function textBody({ payload: text, body }: Exchange, payload: Uint8Array | null): Body {
  if (text === null) return new TextBody(body);
  if (payload !== null) return body;
  return {
    read: () => Promise.reject(new ProxyError("bad_chunk", "no base64")),
    done: false,
    trailers: null,
  };
}

/** The fields of an answer as gRPC-Web has them: its trailers come in the body. */
function webFields(fields: Fields, coding: WebCoding): Fields {
  const pairs: [string, string][] = [];
  for (let i = 0; i < fields.count; i++) {
    const id = fields.ids[i];
    if (id === DROPPED || id === TRAILER || id === CONTENT_LENGTH) continue;
    const value = fields.value(i);
    pairs.push([fields.name(i), id === CONTENT_TYPE ? withWeb(value, coding) : value]);
  }
  return fieldsOf(pairs);
}
