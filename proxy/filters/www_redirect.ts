/**
 * The redirect to the same URL with `www.` before the host, or without it. In: which of both. Out: a
 * filter that responds with it in place of an upstream.
 *
 * As ingress-nginx's, it leaves out a slash at the end of the URL. The port is that of the request.
 */
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { ProxyError } from "../errors.ts";
import { NO_BODY } from "../http/body.ts";
import type { Exchange, RequestHead } from "../http/message.ts";
import type { Filter } from "./filter.ts";
import { cameOverHttps, redirectTo } from "./https_redirect.ts";

type WwwRedirect = Extract<FilterSpec, { readonly kind: "www-redirect" }>;

const WWW = "www.";

export function wwwRedirect({ to }: WwwRedirect): Filter {
  return {
    request: (x) => {
      const head = redirectTo(schemeOf(x) + otherName(x.request, to) + targetOf(x.request));
      // Whether the request's body has come already, or is still to be waited for, is chance.
      head.closes = x.request.bodyLength !== 0;
      return { head, body: NO_BODY };
    },
  };
}

function schemeOf(x: Exchange): string {
  return cameOverHttps(x) ? "https://" : "http://";
}

/** With the port that the client has named, if it has. */
function otherName({ host, authority }: RequestHead, to: WwwRedirect["to"]): string {
  const port = /:\d{1,5}$/.exec(authority)?.[0] ?? "";
  if (to === "www") return WWW + host + port;
  if (!host.startsWith(WWW)) throw new ProxyError("route_broken", `${host} has no ${WWW}`);
  return host.slice(WWW.length) + port;
}

function targetOf({ path, query }: RequestHead): string {
  const target = path + query;
  return target.endsWith("/") ? target.slice(0, -1) : target;
}
