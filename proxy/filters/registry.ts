/**
 * The kinds of filters. In: what a snapshot says of a route's filters. Out: its chain. A kind is one
 * line in `MAKERS`, and its place in the two orders (`filter_order.ts`).
 */
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import type { RequestHead } from "../http/message.ts";
import { access } from "./access/access.ts";
import type { AccessServices } from "./access/services.ts";
import { blockedClients, type BlockedClientsServices } from "./blocked_clients.ts";
import { deadline, type DeadlineServices } from "./deadline.ts";
import type { Filter } from "./filter.ts";
import type { Kind, OwnKind } from "./filter_name.ts";
import { HTTPS_REDIRECT, REQUEST_ORDER, RESPONSE_ORDER } from "./filter_order.ts";
import { FilterChain, type NamedFilter } from "./filter_chain.ts";
import { grpcWeb, isGrpcWeb } from "./grpc_web.ts";
import { hidesServer, requestHeaders, responseHeaders } from "./header_change.ts";
import { hsts } from "./hsts.ts";
import { maxForwards } from "./max_forwards.ts";
import { nginxForwardedHeaders } from "./nginx_forwarded_headers.ts";
import { receivedPath } from "./received_path.ts";
import { redirect } from "./redirect.ts";
import { requestRedirect } from "./request_redirect.ts";
import { requestHost } from "./request_host.ts";
import { rewrite } from "./rewrite.ts";
import { wwwRedirect } from "./www_redirect.ts";

type SpecOf<K extends Kind> = Extract<FilterSpec, { readonly kind: K }>;

/** What filters need of others, as narrow functions. */
export type FilterServices = AccessServices & BlockedClientsServices & DeadlineServices;

/** Throws for a spec that it cannot make a filter of: its routes are replied to with 500. */
export type FilterMakers = {
  readonly [K in Kind]: (spec: SpecOf<K>, services: FilterServices) => Filter;
};

export const MAKERS: FilterMakers = {
  "access": access,
  "blocked-clients": blockedClients,
  "deadline": deadline,
  "hsts": hsts,
  "nginx-forwarded-headers": () => nginxForwardedHeaders,
  "redirect": redirect,
  "request-redirect": requestRedirect,
  "request-host": requestHost,
  "request-headers": requestHeaders,
  "response-headers": responseHeaders,
  "rewrite": rewrite,
  "www-redirect": wwwRedirect,
};

interface Made extends NamedFilter {
  readonly kind: Kind | OwnKind;
}

const RECEIVED_PATH: Made = { kind: "received-path", filter: receivedPath };
const MAX_FORWARDS: Made = { kind: "max-forwards", filter: maxForwards };
const GRPC_WEB: Made = { kind: "grpc-web", filter: grpcWeb };

/** A filter, and what it was made of. */
interface MadeOf extends Made {
  readonly spec: FilterSpec;
}

/** The chain of a route that has filters; null for one that has none. */
export class RouteFilters {
  readonly #ofSpecs: readonly MadeOf[];
  readonly #decoded: boolean;
  readonly #made: readonly Made[];
  /** With each filter of the proxy's own, made when first needed. */
  readonly #extended = new Map<Made, FilterChain>();
  readonly chain: FilterChain | null;
  /** Of a whole request, in ms; null where no filter sets one. */
  readonly time: number | null;
  /** Of what may reply to a request that is redirected to HTTPS; null where nothing does. */
  readonly beforeHttps: FilterChain | null;
  /** Whether responses have no `Server`, not even that of the proxy. */
  readonly hidesServer: boolean;

  private constructor(ofSpecs: readonly MadeOf[], decoded: boolean) {
    this.#ofSpecs = ofSpecs;
    this.#decoded = decoded;
    const own = decoded ? [RECEIVED_PATH] : [];
    this.#made = [...own, ...ofSpecs];
    const specs = ofSpecs.map(({ spec }) => spec);
    this.hidesServer = specs.some(hidesServer);
    this.time = specs.find((spec) => spec.kind === "deadline")?.time ?? null;
    this.chain = this.#made.length === 0 ? null : chainOf(this.#made);
    const first = ofSpecs.filter(({ spec }) => repliesBeforeHttps(spec));
    this.beforeHttps = first.length === 0
      ? null
      : new FilterChain(sorted([...own, ...first], REQUEST_ORDER), responsesOf(this.#made));
  }

  /**
   * Throws what a maker throws.
   *
   * @param decoded Whether the routes are compared with decoded paths.
   */
  static of(
    specs: readonly FilterSpec[],
    makers: FilterMakers = MAKERS,
    services: FilterServices = {},
    decoded = false,
  ): RouteFilters {
    return new RouteFilters(specs.map((spec) => madeOf(spec, makers, services)), decoded);
  }

  /** With one more, before others of its kind; those of before are not made anew. */
  withFirst(spec: FilterSpec, makers: FilterMakers, services: FilterServices): RouteFilters {
    return new RouteFilters([madeOf(spec, makers, services), ...this.#ofSpecs], this.#decoded);
  }

  /**
   * The chain for a request that is forwarded. Most have no filter of the proxy's own.
   * @param translates whether the upstream has gRPC-Web translated for it.
   */
  chainFor(request: RequestHead, translates: boolean): FilterChain | null {
    if (request.method === "OPTIONS") return this.#with(MAX_FORWARDS);
    if (translates && isGrpcWeb(request)) return this.#with(GRPC_WEB);
    return this.chain;
  }

  #with(own: Made): FilterChain {
    let chain = this.#extended.get(own);
    if (chain === undefined) this.#extended.set(own, chain = chainOf([...this.#made, own]));
    return chain;
  }
}

/** Of routes that have no filters. */
export const NO_FILTERS = RouteFilters.of([]);

/** Another path for a backend is of no use to a request that no backend gets. */
function repliesBeforeHttps(spec: FilterSpec): boolean {
  return REQUEST_ORDER.indexOf(spec.kind) < REQUEST_ORDER.indexOf(HTTPS_REDIRECT) &&
    (spec.kind !== "rewrite" || spec.redirects === true);
}

function madeOf(spec: FilterSpec, makers: FilterMakers, services: FilterServices): MadeOf {
  return { kind: spec.kind, spec, filter: make(makers, spec.kind, spec, services) };
}

function make<K extends Kind>(
  makers: FilterMakers,
  kind: K,
  spec: SpecOf<K>,
  services: FilterServices,
): Filter {
  return makers[kind](spec, services);
}

function chainOf(made: readonly Made[]): FilterChain {
  return new FilterChain(sorted(made, REQUEST_ORDER), responsesOf(made));
}

function responsesOf(made: readonly Made[]): Filter[] {
  return sorted(made, RESPONSE_ORDER).map(({ filter }) => filter);
}

function sorted(made: readonly Made[], order: readonly string[]): Made[] {
  return made.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}
