/** One request, as a worker has it when it makes spans. In: a number. Out: an exchange, at its begin and its end. */
import { fieldsOf } from "../../proxy/http/fields.ts";
import { ForwardedFields } from "../../proxy/http/forwarded_fields.ts";
import { prepareRequest } from "../../proxy/http/forwarded_headers.ts";
import { type Exchange, ExchangeRecord, RequestHead } from "../../proxy/http/message.ts";
import { TrustedProxies } from "../../proxy/http/trusted_proxies.ts";
import { CidrList } from "../../shared/net/cidr.ts";

const ENDPOINT = { address: "10.0.0.7", port: 8080, protocol: "http" };

const NOBODY = new TrustedProxies(CidrList.empty);
const FORWARDED = new ForwardedFields({ value: "pingress-0123456789abcdef" });

/** When request 0 ends, in ms since the epoch. */
export const NOW = 1_795_000_000_000;

export function newExchange(): Exchange {
  const request = new RequestHead(
    fieldsOf([["Accept", "*/*"], ["User-Agent", "curl/8.5.0"], ["Cookie", "a=b"]]),
  );
  request.method = "GET";
  request.host = request.authority = "app.example.com";
  request.path = request.received = "/api/v1/items";
  const client = {
    ...{ address: "192.0.2.7", port: 40_000, localPort: 80, listener: "http" },
    ...{ secure: false, certificate: null, trusted: false, isExempt: false },
  };
  // As far as a tracer looks at it.
  return { request, client, record: new ExchangeRecord(), added: null } as unknown as Exchange;
}

/** @param hasTraceparent whether its head has room for one. */
export function begin(exchange: Exchange, number: number, hasTraceparent: boolean): void {
  const { record } = exchange;
  record.begin();
  record.startedAt = number;
  record.method = "GET";
  record.hasHead = true;
  prepareRequest(exchange, NOBODY, FORWARDED, hasTraceparent);
  record.prepared = true;
}

/** It has been matched, and an endpoint has responded. */
export function respond({ record }: Exchange, number: number): void {
  record.route = "app.example.com Prefix /api";
  record.upstream = "default/web:80";
  record.endpoint = ENDPOINT;
  record.tries = 1;
  record.triedAt = number;
  record.status = 200;
  record.duration = 1.5;
}
