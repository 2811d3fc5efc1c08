/**
 * Parsers of what backends send over HTTP/1.1, and of what DNS says of them. In: nothing. Out: rows
 * of the table.
 */
import { Denied } from "../../controller/translate/backends/denied.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import { NetworkSet } from "../../shared/net/network_set.ts";
import { reservedAddress } from "../../shared/net/reserved_address.ts";
import { asciiBytes } from "../../proxy/http/fields.ts";
import { HeadParser } from "../../proxy/http1/head_parser.ts";
import { readResponseFields, readStatusLine } from "../../proxy/http1/response_head.ts";
import {
  interimBytes,
  responseFraming,
  responseHeadSize,
  switchingBytes,
  writeResponseHead,
} from "../../proxy/http1/response_writer.ts";
import { prepareResponse } from "../../proxy/http/forwarded_headers.ts";
import { plainAddress } from "../../shared/net/address.ts";
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { RequestHead, ResponseHead } from "../../proxy/http/message.ts";
import { TrustedProxies } from "../../proxy/http/trusted_proxies.ts";
import { DeniedAddresses } from "../../proxy/upstream/denied_addresses.ts";
import { UpstreamNetworks } from "../../proxy/upstream/networks.ts";
import { meantFor } from "../../proxy/upstream/zone.ts";
import { listParser, type Parser, textParser } from "./parser.ts";
import type { Frame } from "./pumps.ts";

const START = "HTTP/1.1 200 OK\r\n";
const END = "\r\n\r\n";

/** Addresses of one answer: a quarter of 64 KiB, at 16 bytes each. */
const DNS_ANSWERS = 1024;

const FRAMES: readonly Frame[] = [
  ["HTTP/1.1 200 a", `a${END}`],
  [START, `: x${END}`],
  ...["Connection", "Transfer-Encoding", "Content-Length", "Content-Type", "Set-Cookie"]
    .map((name): Frame => [`${START}${name}: a`, `a${END}`]),
  [`HTTP/1.1 426 Upgrade Required\r\nUpgrade: `, END],
];

const networks = new UpstreamNetworks({
  networks: CidrList.parse("10.0.0.0/8,fd00::/8") as CidrList,
  allowLoopback: false,
});

function addressesParser(name: string, address: (i: number) => string): Parser {
  return listParser({
    name,
    functions: [
      "proxy/upstream/networks.ts UpstreamNetworks.refusal",
      "shared/net/cidr.ts CidrList.contains",
      "shared/net/network_set.ts NetworkSet.contains",
      "shared/net/network_set.ts new NetworkSet",
      "shared/net/parsed_address.ts parsedAddress",
      "shared/net/reserved_address.ts reservedAddress",
      "shared/net/reserved_address.ts addressForms",
      "proxy/http/trusted_proxies.ts TrustedProxies.contains",
      "proxy/http/trusted_proxies.ts TrustedProxies.replace",
      "proxy/http/trusted_proxies.ts TrustedProxies.takesRealIp",
      "proxy/upstream/denied_addresses.ts DeniedAddresses.has",
      "proxy/upstream/denied_addresses.ts DeniedAddresses.replace",
      "controller/translate/backends/denied.ts Denied.refusal",
      "controller/translate/backends/denied.ts new Denied",
      "shared/net/address.ts plainAddress",
      "proxy/upstream/zone.ts meantFor",
    ],
    count: DNS_ANSWERS,
    read: {
      addresses: (count) => {
        const list = Array.from({ length: count }, (_, i) => address(i));
        const hints = list.map((_, i) => ({ hints: [`zone-${i % 3}`] }));
        return () => {
          meantFor("zone-1", hints);
          const denied = new DeniedAddresses();
          denied.replace([...list, "10.96.0.0/16"]);
          const set = new NetworkSet(list);
          const trusted = new TrustedProxies(CidrList.empty);
          trusted.replace(list, []);
          const endpoints = new Denied(new Map(list.map((one) => [one, "node"])), new Set(), []);
          for (const one of list) {
            denied.has(one);
            set.contains(one);
            trusted.contains(one);
            trusted.takesRealIp(one);
            endpoints.refusal(one, 80, false);
            networks.refusal(one, 80);
            reservedAddress(one);
            plainAddress(one);
          }
        };
      },
    },
  });
}

export const BACKEND_PARSERS: readonly Parser[] = [
  textParser({
    name: "the head of a response of HTTP/1.1",
    functions: [
      "proxy/http1/response_head.ts readStatusLine",
      "proxy/http1/response_head.ts readResponseFields",
      "proxy/http1/response_writer.ts interimBytes",
      "proxy/http1/response_writer.ts switchingBytes",
    ],
    bytes: DEFAULT_LIMITS.responseHeadBytes,
    frames: FRAMES,
    pumps: ["Connection: a\r\n", "Connection: a, b\r\n", "Upgrade: h2c\r\n"],
    read: (text) => {
      const bytes = asciiBytes(text);
      const head = new ResponseHead();
      const { responseHeadBytes, responseFields } = DEFAULT_LIMITS;
      const parser = new HeadParser(head.fields, responseHeadBytes, responseFields);
      return () => readResponse(bytes, head, parser);
    },
  }),
  addressesParser("addresses of IPv4", (i) => `10.0.${i >> 8}.${i & 255}`),
  addressesParser("addresses of IPv6", (i) => `fd00::${i.toString(16)}:1`),
  addressesParser("addresses of IPv4 in IPv6", (i) => `::ffff:10.0.${i >> 8}.${i & 255}`),
];

const REQUEST = new RequestHead();

function readResponse(bytes: Uint8Array, head: ResponseHead, parser: HeadParser): void {
  parser.begin(bytes, 0, true);
  if (parser.parse(bytes.length) !== "start_line") return;
  const version = readStatusLine(bytes, parser.startLineStart, parser.startLineEnd, head);
  if (version === 0 || parser.parse(bytes.length) !== "complete") return;
  if (readResponseFields(head, version, "GET", { keepAlive: true, untilClose: false })) return;
  prepareResponse(head, REQUEST);
  const out = new Uint8Array(responseHeadSize(head) + bytes.length);
  writeResponseHead(out, REQUEST, head, responseFraming(REQUEST, head), true);
  interimBytes(head);
  switchingBytes(head, "websocket");
}
