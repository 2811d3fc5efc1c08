/**
 * What a request meets: actions that forward, and the redirect of a path. In: ids of upstreams, or a match.
 * Out: the action; the upstreams of an action, and the Service or the host of an upstream; a filter.
 */
import { decodedRoutePath } from "../path/decoded_path.ts";
import type { Action, FilterSpec, ForwardAction, PathMatch, Route } from "./types.ts";

/** All requests go to one upstream. */
export function forwardTo(upstream: string): ForwardAction {
  return { kind: "forward", backends: [{ upstream }] };
}

/** What a request meets, be it of a route or of the default action. */
export type Place =
  & Pick<Route, "action" | "filterSet" | "policy">
  & Partial<Pick<Route, "match">>;

/**
 * A default action as a route: it is none, so that the settings of its Ingress stand at its backends,
 * which all have the same.
 */
export function defaultPlace(action: Action): Place {
  if (action.kind !== "forward") return { action };
  const [{ filterSet, policy } = {}] = action.backends;
  const backends = action.backends.map(({ filterSet: _, policy: __, ...backend }) => backend);
  return {
    action: { ...action, backends },
    ...(filterSet === undefined ? {} : { filterSet }),
    ...(policy === undefined ? {} : { policy }),
  };
}

const NONE: readonly string[] = [];

/** Ids of the upstreams that requests may go to, in the order of the backends. */
export function upstreamsOf(action: Action | null): readonly string[] {
  return action?.kind === "forward"
    ? action.backends.flatMap(({ upstream, fault }) => fault === undefined ? upstream : [])
    : NONE;
}

export interface BackendName {
  /** "" for what is no Service. */
  readonly namespace: string;
  readonly name: string;
}

const SERVICE = /^([^/]+)\/([^/:]+)(?::|$)/;
/** `//login.example.com:443+https+auth`: external authentication outside of the cluster. */
const HOST = /^\/\/([^/]+):\d/;

/** The Service that an upstream is a port of; null for an id of another form, as in a file. */
export function serviceOf(upstream: string): BackendName | null {
  const [, namespace, name] = SERVICE.exec(upstream) ?? [];
  return namespace === undefined ? null : { namespace, name };
}

/** The Service of an upstream, or the host outside of the cluster; of any other form, its id is the name. */
export function backendNameOf(upstream: string): BackendName {
  return serviceOf(upstream) ?? { namespace: "", name: HOST.exec(upstream)?.[1] ?? upstream };
}

/**
 * nginx's own redirect from `/path` to `/path/`, which comes before all others of the route; null for none.
 *
 * https://nginx.org/en/docs/http/ngx_http_core_module.html#location
 */
export function slashRedirect({ type, value, slash }: PathMatch): FilterSpec | null {
  if (slash === undefined || type !== "Prefix" || value === "/") return null;
  return {
    kind: "redirect",
    status: 301,
    location: `${value}/`,
    path: decodedRoutePath(value),
    decoded: true,
    keepsQuery: true,
    ...(slash === "relative" ? { isRelative: true } : {}),
  };
}
