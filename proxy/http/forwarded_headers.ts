/**
 * What a proxy changes in fields (RFC 9110 §7.6, the de-facto X-Forwarded-*). In: a request or a
 * response as it came. Out: marks on the fields that end here, and the fields that are added. What
 * a client says of itself is believed only from trusted proxies: others could forge their address,
 * and pass access lists with it.
 */
import {
  CDN_LOOP,
  DROPPED,
  type Fields,
  fieldsOf,
  FORWARDED,
  FORWARDED_FAMILY,
  PROXY,
  PROXY_AUTHENTICATE,
  PROXY_AUTHORIZATION,
  TRAILER,
  UNDERSCORE,
  X_FORWARDED_FOR,
  X_FORWARDED_HOST,
  X_FORWARDED_PORT,
  X_FORWARDED_PROTO,
  X_REAL_IP,
  X_REQUEST_ID,
} from "./fields.ts";
import { type ForwardedFields, REQUEST_ID_INDEX, TRACED, UNTRACED } from "./forwarded_fields.ts";
import { addressIn, originalClient } from "./forwarded_for.ts";
import { countMarks } from "./loop_mark.ts";
import { type Exchange, type RequestHead, type ResponseHead, UNKNOWN_LENGTH } from "./message.ts";
import { isRequestId, newRequestId, writeRequestId } from "./request_id.ts";
import type { TrustedProxies } from "./trusted_proxies.ts";

/** 1 for ids that a client's request does not carry on as they are. */
const REPLACED = new Uint8Array(256);
for (
  const id of [
    X_FORWARDED_FOR,
    X_FORWARDED_PROTO,
    X_FORWARDED_HOST,
    X_FORWARDED_PORT,
    X_REAL_IP,
    X_REQUEST_ID,
    UNDERSCORE,
    PROXY,
    PROXY_AUTHORIZATION,
  ]
) REPLACED[id] = 1;

/** 1 for ids that only a trusted proxy's request carries on. */
const UNTRUSTED = new Uint8Array(256);
UNTRUSTED[FORWARDED] = UNTRUSTED[FORWARDED_FAMILY] = 1;

/**
 * Prepares a request for the backend: drops what ends here, sets `exchange.added`. Returns how many
 * own marks the request already has; the added one comes on top of them, on a line of its own.
 *
 * @param traced adds a traceparent, for `Tracer` to write; the same for all requests of a connection.
 */
export function prepareRequest(
  exchange: Exchange,
  trustedProxies: Pick<TrustedProxies, "contains" | "takesRealIp">,
  forwarded: ForwardedFields,
  traced = false,
): number {
  const { request, client, record } = exchange;
  const { fields } = request;
  const loopMark = forwarded.mark;
  if (client.trusted) {
    const chain = joined(fields, X_FORWARDED_FOR);
    record.clientAddress = namedClient(exchange, chain, trustedProxies);
    const id = trustedRequestId(fields);
    record.hasPeersId = id !== null;
    exchange.added = trustedFields(exchange, id ?? newRequestId(), chain, loopMark, traced);
    exchange.addedAuthority = "";
    // The next request of the connection may come when it is trusted no more.
    exchange.addedMark = "";
  } else if (exchange.added !== null && isAddedFor(exchange, exchange.added, loopMark)) {
    writeNewId(exchange.added);
  } else {
    exchange.added = forwarded.of(client, request.authority, traced);
    writeNewId(exchange.added);
    exchange.addedAuthority = request.authority;
    exchange.addedMark = loopMark;
  }
  if (!client.trusted) record.clientAddress = client.address;
  // RFC 9110 §10.1.4: to ask for trailers promises that the client gets them.
  if (request.version === 10) request.acceptsTrailers = false;
  // Whether they go on is the upstream's to say; where none can come, they are not announced.
  const withTrailers = request.bodyLength === UNKNOWN_LENGTH;
  const { ids, count } = fields;
  let ownMarks = 0;
  for (let i = 0; i < count; i++) {
    const id = ids[i];
    if (REPLACED[id] === 1 || (UNTRUSTED[id] === 1 && !client.trusted)) ids[i] = DROPPED;
    else if (id === TRAILER && !withTrailers) ids[i] = DROPPED;
    else if (id === CDN_LOOP) ownMarks += countMarks(fields, i, loopMark);
  }
  return ownMarks;
}

/** A new id in the place of the last one. */
function writeNewId(added: Fields): void {
  writeRequestId(added.bytes, added.valueStart(REQUEST_ID_INDEX));
}

/**
 * Whether the fields of the connection's last request are this one's too, but for its id. Of
 * another authority they are once that is written into them: a proxy before this one sends requests
 * for many hosts over one connection.
 */
function isAddedFor(exchange: Exchange, added: Fields, loopMark: string): boolean {
  const { request: { authority }, addedAuthority, addedMark } = exchange;
  // Another one has been published since.
  if (addedMark !== loopMark) return false;
  if (authority === addedAuthority) return true;
  // X-Forwarded-Host is the last one, where there is one.
  if (authority === "" || addedAuthority === "" || !added.replaceLast(authority)) return false;
  exchange.addedAuthority = authority;
  return true;
}

/** Prepares a backend's response for the client. */
export function prepareResponse(response: ResponseHead, request: RequestHead): void {
  const { ids, count } = response.fields;
  // Only behind a chunked body come trailers, and HTTP/1.0 knows none.
  const withTrailers = (request.acceptsTrailers || request.isGrpc) && request.version !== 10 &&
    response.contentLength === -1;
  for (let i = 0; i < count; i++) {
    const id = ids[i];
    if (
      id === PROXY_AUTHENTICATE || id === PROXY_AUTHORIZATION || (id === TRAILER && !withTrailers)
    ) ids[i] = DROPPED;
  }
}

/** The id of a request that `prepareRequest` has seen, or a new one. */
export function requestIdOf(exchange: Exchange | null): string {
  if (exchange === null) return newRequestId();
  const { added, client, request } = exchange;
  if (added !== null) return added.value(REQUEST_ID_INDEX);
  return (client.trusted ? trustedRequestId(request.fields) : null) ?? newRequestId();
}

/** The id that a trusted proxy gives, if it is one. */
function trustedRequestId(fields: Fields): string | null {
  const id = last(fields, X_REQUEST_ID);
  return id !== null && isRequestId(id) ? id : null;
}

/** The client that a trusted proxy names; the proxy where it names none. */
function namedClient(
  { request: { fields }, client }: Exchange,
  chain: readonly string[],
  trustedProxies: Pick<TrustedProxies, "contains" | "takesRealIp">,
): string {
  if (chain.length > 0) return originalClient(chain, client.address, trustedProxies);
  const named = trustedProxies.takesRealIp(client.address) ? last(fields, X_REAL_IP) : null;
  return addressIn(named ?? "") ?? client.address;
}

/** From a trusted proxy: its word where it gave one, our own view where it did not. */
function trustedFields(
  { request, client, record }: Exchange,
  id: string,
  chain: readonly string[],
  loopMark: string,
  traced: boolean,
): Fields {
  const { fields } = request;
  return fieldsOf([
    ["X-Request-Id", id],
    ...(traced ? TRACED : UNTRACED),
    ["X-Forwarded-For", [...chain, client.address].join(", ")],
    ["X-Real-IP", record.clientAddress],
    ["X-Forwarded-Proto", last(fields, X_FORWARDED_PROTO) ?? (client.secure ? "https" : "http")],
    ["X-Forwarded-Port", last(fields, X_FORWARDED_PORT) ?? String(client.localPort)],
    ["CDN-Loop", loopMark],
    ...forwardedHost(last(fields, X_FORWARDED_HOST) ?? request.authority),
  ]);
}

function forwardedHost(authority: string): [string, string][] {
  return authority === "" ? [] : [["X-Forwarded-Host", authority]];
}

/** All elements of a list field, over all its lines. */
function joined(fields: Fields, id: number): string[] {
  const elements: string[] = [];
  for (let i = fields.find(id); i !== -1; i = fields.find(id, i + 1)) {
    for (const element of fields.value(i).split(",")) {
      const trimmed = element.trim();
      if (trimmed !== "") elements.push(trimmed);
    }
  }
  return elements;
}

/** The value of the last such field that is not empty: the one that the nearest proxy wrote. */
function last(fields: Fields, id: number): string | null {
  let value: string | null = null;
  for (let i = fields.find(id); i !== -1; i = fields.find(id, i + 1)) {
    value = fields.value(i) || value;
  }
  return value;
}
