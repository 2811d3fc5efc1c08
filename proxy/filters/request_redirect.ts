/**
 * Redirects to another URL that keep parts of the requested one. In: scheme, host, port and path of the
 * new URL, as far as they differ. Out: a filter that responds with it in place of an upstream.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#httprequestredirectfilter
 */
import { STATUS_CODES } from "node:http";
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { fieldsOf } from "../http/fields.ts";
import { NO_BODY } from "../http/body.ts";
import { type RequestHead, ResponseHead } from "../http/message.ts";
import type { Filter } from "./filter.ts";

export type RequestRedirect = Extract<FilterSpec, { readonly kind: "request-redirect" }>;

/** Ports that a URL of the scheme leaves out. */
const DEFAULT_PORTS = { http: 80, https: 443 } as const;

export function requestRedirect(spec: RequestRedirect): Filter {
  const { status } = spec;
  return {
    request: ({ request }) => {
      const head = new ResponseHead();
      head.status = status;
      head.reason = STATUS_CODES[status] ?? "";
      head.fields = fieldsOf([["Location", redirectedUrl(spec, request)]]);
      head.bodyLength = head.contentLength = 0;
      // Whether the request's body has come already, or is still to be waited for, is chance.
      head.closes = request.bodyLength !== 0;
      return { head, body: NO_BODY };
    },
  };
}

/** A path alone where neither the client, as HTTP/1.0 may, nor the route names a host. */
export function redirectedUrl(
  { scheme, host, port = DEFAULT_PORTS[scheme], path }: RequestRedirect,
  request: Pick<RequestHead, "host" | "path" | "query">,
): string {
  const target = redirectedPath(path, request.path) + request.query;
  const name = host ?? request.host;
  // A second slash would make a host of the first segment.
  if (name === "") return target.replace(/^\/+/, "/");
  return `${scheme}://${name}${port === DEFAULT_PORTS[scheme] ? "" : `:${port}`}${target}`;
}

/** The route's match has seen to it that the path begins with the prefix. */
function redirectedPath(change: RequestRedirect["path"], path: string): string {
  if (change === undefined) return path;
  const { value, prefix } = change;
  if (prefix === undefined) return value;
  const rest = path.slice(withoutSlash(prefix).length);
  return rest === "" ? value : withoutSlash(value) + rest;
}

function withoutSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
