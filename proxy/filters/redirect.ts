/**
 * Redirects of a route. In: a status and a location. Out: a filter that responds with both in place of
 * an upstream. The schema has refused locations that would end their line, or lead to another host
 * although they look like a path.
 */
import { STATUS_CODES } from "node:http";
import { decodedPath } from "../../shared/path/decoded_path.ts";
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { fieldsOf } from "../http/fields.ts";
import { NO_BODY } from "../http/body.ts";
import { type Exchange, ResponseHead } from "../http/message.ts";
import type { Filter } from "./filter.ts";

type Redirect = Extract<FilterSpec, { readonly kind: "redirect" }>;

export function redirect(spec: Redirect): Filter {
  const { status, path, decoded } = spec;
  return {
    request: (x) => {
      const { path: requested } = x.request;
      const compared = decoded === true ? decodedPath(requested) : requested;
      if (path !== undefined && compared !== path) return null;
      const head = new ResponseHead();
      head.status = status;
      head.reason = STATUS_CODES[status] ?? "";
      head.fields = fieldsOf([["Location", locationOf(spec, origin(x), x.request.query)]]);
      head.bodyLength = head.contentLength = 0;
      // Whether the request's body has come already, or is still to be waited for, is chance.
      head.closes = x.request.bodyLength !== 0;
      return { head, body: NO_BODY };
    },
  };
}

/**
 * Location of the response.
 *
 * @param origin of the URL that the client has requested.
 * @param query with its `?`, or "".
 */
export function locationOf(
  { location, keepsQuery, isRelative }: Redirect,
  origin: string,
  query: string,
): string {
  const needsOrigin = location.startsWith("/") && isRelative !== true;
  // nginx has no arguments after a question mark alone.
  const kept = keepsQuery === true && query !== "?" ? query : "";
  return (needsOrigin ? origin : "") + location + kept;
}

/** Of the URL that the client has requested; "" where it named no host, as HTTP/1.0 may. */
function origin({ client, request: { authority } }: Exchange): string {
  return authority === "" ? "" : `${client.secure ? "https" : "http"}://${authority}`;
}
