/**
 * What traces are like. In: the value of `--otlp-endpoint`. Out: where spans are sent, and the settings of
 * a worker.
 */
import { isIP } from "node:net";
import { formatAddress } from "../../../shared/net/address.ts";

/** Of a worker; can be posted to it. */
export interface TraceOptions {
  /** The share of requests without a parent that are sampled, from 0 to 1. */
  readonly ratio: number;
  /** Whether queries are in spans: they carry tokens and names. */
  readonly query: boolean;
}

/** Why a span is not at its collector; the label of `pingress_spans_dropped_total`. */
export const SPAN_DROP_REASONS = ["error_limit", "queue_full", "rejected", "unavailable"] as const;
export type SpanDropReason = typeof SPAN_DROP_REASONS[number];

/** Where spans are sent, and as what. */
export interface TraceExport {
  /** The URL of requests, which ends in `/v1/traces` mostly. */
  readonly url: string;
  readonly serviceName: string;
}

/** By the specification of OTLP/HTTP, below what an endpoint names. */
const PATH = "/v1/traces";

/**
 * The URL to which traces are sent; null where the text is no `http` or `https` URL of a host, with a
 * path or without. As `OTEL_EXPORTER_OTLP_ENDPOINT` has it, `/v1/traces` is appended.
 */
export function parseOtlpEndpoint(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === "") return null;
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return null;
  }
  const hostname = hostnameOf(url);
  if (isIP(hostname) === 0 && !/^[a-z0-9._-]{1,253}$/.test(hostname)) return null;
  const path = url.pathname.replace(/\/$/, "");
  return `${url.origin}${path.endsWith(PATH) ? path : path + PATH}`;
}

/** Host and port of a URL, as the permission to dial it names them. */
export function dialledHost(text: string): string {
  const url = new URL(text);
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  return formatAddress({ hostname: hostnameOf(url), port });
}

function hostnameOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}
