/**
 * Which plain requests are redirected to HTTPS. In: a request, and the route that takes it. Out: the
 * redirect, by the settings of the route and of the host, and by what certificates there are.
 *
 * A backend that merges slashes or decodes `%2F` takes `//p` for `/p`: where the route of `//p` is served in
 * plain text and that of `/p` is redirected, `//p` is redirected, too.
 */
import type { Certificates } from "../certificates/store.ts";
import { ProxyError } from "../errors.ts";
import { cameOverHttps, redirectTo } from "../filters/https_redirect.ts";
import { httpsLocation, isAcmeChallenge } from "../http/https_location.ts";
import type { Exchange, ResponseHead } from "../http/message.ts";
import type { CompiledRoute } from "../route/route.ts";
import { decodedRequest } from "../router/decoded_request.ts";
import { type RouteTable, TOO_MUCH_WORK } from "../router/table.ts";
import { unrouted } from "./unrouted.ts";

export interface HttpsRedirectsContext {
  readonly certificates: Certificates;
  /** The port of HTTPS that clients know; null where there is none. */
  readonly httpsPort: () => number | null;
  /** Whether plain HTTP is redirected to HTTPS where no route says otherwise. */
  readonly redirects: boolean;
  /** Settings of hosts are in it too. */
  readonly table: RouteTable<CompiledRoute>;
}

/** Where TLS ends before this proxy, which has none of its own. */
const HTTPS_PORT = 443;

export class HttpsRedirects {
  readonly #context: HttpsRedirectsContext;

  constructor(context: HttpsRedirectsContext) {
    this.#context = context;
  }

  /** Null where the request is not redirected; an error where there is no URL to redirect it to. */
  of(exchange: Exchange, route: CompiledRoute | null): ResponseHead | ProxyError | null {
    const { request, client } = exchange;
    const redirect = this.#by(exchange, route, request.path);
    if (redirect !== null || route === null) return redirect;
    const decoded = decodedRequest(request.path, request);
    if (decoded === null) return null;
    const { table } = this.#context;
    const place = table.find(request.host, decoded.path, decoded.request, client.listener);
    // Whether it is one that HTTPS protects is not known.
    if (place === TOO_MUCH_WORK) return unrouted(place);
    return place < 0 ? null : this.#by(exchange, table.target(place), decoded.path);
  }

  /** @param path That leads to the route. */
  #by(
    exchange: Exchange,
    route: CompiledRoute | null,
    path: string,
  ): ResponseHead | ProxyError | null {
    const { certificates, httpsPort } = this.#context;
    const policy = route === null ? null : route.policy.httpsRedirect;
    // So of all requests where nothing is about TLS.
    if (policy === null && certificates.size === 0) return null;
    const { request } = exchange;
    if (!this.#isRedirected(request.host, path, route) || cameOverHttps(exchange)) return null;
    // HTTP/1.0 needs no Host, and there is no URL without one.
    if (request.host === "") return new ProxyError("bad_request", "no host for HTTPS");
    const head = redirectTo(httpsLocation(request, httpsPort() ?? HTTPS_PORT, policy));
    head.hidesServer = route !== null && route.filters.hidesServer;
    return head;
  }

  /** As the route says, if it does; else as the host's settings do, if there is a certificate. */
  #isRedirected(host: string, path: string, route: CompiledRoute | null): boolean {
    const { certificates, httpsPort, redirects, table } = this.#context;
    const ofRoute = route?.httpsRedirect ?? null;
    const when = ofRoute === null ? route?.policy.httpsRedirect?.when ?? null : null;
    if (ofRoute === false || when === "never") return false;
    if (when === "always") return true;
    if (httpsPort() === null || isAcmeChallenge(path)) return false;
    if (when === "tls") return true;
    // A certificate that does not name the host would only be refused.
    if (certificates.covering(host)?.redirects(host) !== true) return false;
    return when === "certificate" || (redirects && (ofRoute ?? table.redirectsToHttps(host)));
  }
}
