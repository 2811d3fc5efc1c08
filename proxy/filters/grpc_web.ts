/**
 * gRPC-Web for backends that speak gRPC alone (gRPC's doc/PROTOCOL-WEB.md): what a page's script can
 * send and read, which has neither HTTP/2's frames nor trailers. In: an exchange with a request of
 * gRPC-Web, of any version of HTTP. Out: an exchange with one of gRPC, whose responses, local replies
 * too, go back as the client reads them.
 */
import {
  acceptedWebCoding,
  hasGrpc,
  type WebCoding,
  webCoding,
  withoutWeb,
  withWeb,
} from "../grpc/content_type.ts";
import {
  CONTENT_LENGTH,
  CONTENT_TYPE,
  DROPPED,
  type Fields,
  fieldsOf,
  TRAILER,
} from "../http/fields.ts";
import { type Exchange, type RequestHead, UNKNOWN_LENGTH } from "../http/message.ts";
import type { Filter } from "./filter.ts";
import { TextBody, WebBody } from "./grpc_web_body.ts";

/** What is known of a request of gRPC-Web. */
interface Call {
  /** Of the request's body. */
  readonly sent: WebCoding;
  /** Of the response's. */
  readonly accepted: WebCoding;
  /** The response is one of gRPC; whoever stands between and knows none sends HTTP's status. */
  isGrpc: boolean;
}

const calls = new WeakMap<Exchange, Call>();

/** Whether a request is one of gRPC-Web: the filter is for no other. */
export function isGrpcWeb(request: RequestHead): boolean {
  if (request.method !== "POST" || request.upgrade !== "") return false;
  const index = request.fields.find(CONTENT_TYPE);
  return index !== -1 && webCoding(request.fields.value(index)) !== null;
}

export const grpcWeb: Filter = {
  request: (x) => {
    const { request } = x;
    const index = request.fields.find(CONTENT_TYPE);
    const contentType = index === -1 ? "" : request.fields.value(index);
    const sent = webCoding(contentType);
    // A filter before this one has changed it.
    if (sent === null) return null;
    request.fields.shrink(index, withoutWeb(contentType));
    calls.set(x, { sent, accepted: acceptedWebCoding(request.fields, sent), isGrpc: false });
    request.isGrpc = true;
    request.acceptsTrailers = true;
    return null;
  },
  requestBody: (x, body) => calls.get(x)?.sent === "text" ? new TextBody(body) : body,
  response: (x, head) => {
    const call = calls.get(x);
    if (call === undefined) return;
    call.isGrpc = hasGrpc(head.fields);
    if (!call.isGrpc) return;
    head.fields = webFields(head.fields, call.accepted);
    // Without a body, its status stands in the head (Trailers-Only), where clients look too.
    head.contentLength = head.bodyLength === 0 ? 0 : -1;
    if (head.bodyLength !== 0) head.bodyLength = UNKNOWN_LENGTH;
  },
  body: (x, _, body) => {
    const call = calls.get(x);
    return call?.isGrpc ? new WebBody(body, call.accepted === "text") : body;
  },
};

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
