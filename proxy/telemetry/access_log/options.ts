/**
 * What the access log is like. In: the value of `--access-log-fields`. Out: the fields that a line has, in
 * their order; `docs/access-log.md` is made from `ACCESS_LOG_FIELDS`.
 */
import { nearestName } from "../../../shared/nearest_name.ts";

/** Every field there is, in the order of a line by default. Those that have nothing to say are left out. */
export const ACCESS_LOG_FIELDS = {
  time: "End of the exchange, RFC 3339 in UTC with milliseconds.",
  log: "Always `access`; distinguishes these lines from log messages.",
  requestId: "The `X-Request-Id` sent to the backend and the client.",
  traceId: "With [traces](traces.md): that of the request, also where it is not sampled.",
  client: "The client's address; behind a trusted proxy, the address that the proxy reports.",
  peer: "The address of the trusted proxy, if there is one.",
  method: "As sent by the client.",
  scheme: "`http` or `https`, of the connection.",
  host: "Lower case, without port.",
  path:
    "The canonical path that routes are matched with, without the query; omitted if the request " +
    "line was refused.",
  query: "With its `?`; only with `--access-log-query`.",
  version: "`1.0`, `1.1` or `2`.",
  status: "Of the response; omitted if the client closed before it.",
  bytesIn: "Head and body of the request, without chunk framing; 0 for a head that was rejected " +
    "before its end.",
  bytesOut: "Head and body of the response, as sent.",
  durationMs: "From the first byte of the request to the last byte of the response.",
  upstreamMs:
    "From the choice of the endpoint, including the connect, to the head of its response.",
  route: "[Id of the route](metrics.md#ids-of-routes); omitted if none matched.",
  upstream:
    "Namespace, Service and port; `+https` or the like if an annotation of the Ingress sets the " +
    "protocol.",
  endpoint: "Address and port of the pod of the last attempt.",
  tries: "Number of attempts.",
  error: "The error code, as in `pingress_request_errors_total`.",
  userAgent: "The header `User-Agent`.",
  referer: "The header `Referer` without user and password; its query only with " +
    "`--access-log-query`.",
} as const;

export type AccessLogField = keyof typeof ACCESS_LOG_FIELDS;

export const ALL_FIELDS = Object.keys(ACCESS_LOG_FIELDS) as readonly AccessLogField[];

export const ACCESS_LOG_FORMATS = ["json", "nginx"] as const;

/** What is written; can be posted to a worker. */
export interface AccessLogOptions {
  readonly format: typeof ACCESS_LOG_FORMATS[number];
  /** Of lines in JSON, in their order. */
  readonly fields: readonly AccessLogField[];
  /** Whether queries are written: they carry tokens and names. */
  readonly query: boolean;
  /** The share of requests that have a line, from 0 to 1; those that failed have one always. */
  readonly ratio: number;
}

export const DEFAULT_ACCESS_LOG: AccessLogOptions = {
  format: "json",
  fields: ALL_FIELDS,
  query: false,
  ratio: 1,
};

/** The fields named between commas, in that order; what is wrong with the list as a text. */
export function parseFields(text: string): readonly AccessLogField[] | string {
  const fields: AccessLogField[] = [];
  for (const name of text.split(",").map((part) => part.trim())) {
    if (!isField(name)) {
      const near = nearestName(name, ALL_FIELDS);
      const hint = near === null
        ? `; the fields are ${ALL_FIELDS.join(", ")}`
        : `; did you mean ${near}?`;
      return `${JSON.stringify(name)} is no field of the access log${hint}`;
    }
    if (fields.includes(name)) return `${JSON.stringify(name)} is in it twice`;
    fields.push(name);
  }
  return fields;
}

function isField(name: string): name is AccessLogField {
  return Object.hasOwn(ACCESS_LOG_FIELDS, name);
}
